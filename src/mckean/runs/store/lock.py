"""One process a run: an advisory lock that the system lets go when its holder ends, however it ends."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from mckean.errors import Refused
from mckean.runs.store.storage import storage

_TAKEN = (errno.EACCES, errno.EAGAIN)


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock; raises Refused where another process has it."""
    with storage(f'The lock "{path}" could not be taken'):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        with storage(f'The lock "{path}" could not be taken'):
            if not _try(handle):
                holder = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
                raise Refused(
                    f'A run belongs to one process at a time; "{path.parent}" is being computed by process '
                    f"{holder}: wait for it, or stop it with SIGTERM."
                )
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def is_held(path: Path) -> bool:
    """Whether a process is computing this run now."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _try(handle)
    finally:
        os.close(handle)


def _try(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise
    return True
