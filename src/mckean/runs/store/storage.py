"""Writing a file whole or not at all.

The bytes go to a temporary file in the same folder, are flushed to the disk, and take the name by a rename,
which the folder then records: whoever opens the name finds the old content or the new, also after a kill or
a power cut.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from mckean.errors import StorageFailure


def write_whole(path: Path, content: bytes) -> None:
    """Replace `path` by `content`; raises StorageFailure, and then `path` is what it was before."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storage(f'"{path}" could not be written'):
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of names; file systems that cannot are left to their own order."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def storage(what: str) -> Iterator[None]:
    """Turn an OSError inside into a StorageFailure of one sentence."""
    try:
        yield
    except StorageFailure:
        raise
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise StorageFailure(f"{what}: {_sentence_part(reason)}.") from error


def _sentence_part(reason: str) -> str:
    """The system's reason, which begins with a capital, inside a sentence."""
    return reason[:1].lower() + reason[1:]
