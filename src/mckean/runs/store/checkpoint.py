"""Checkpoints: the whole state of a run at a training step, in one file with its own checksum.

A file is an .npz archive: the leaves of the state by the order of its tree, and `meta`, a JSON text with the
step, the hash of the configuration, each leaf's path and kind, and the SHA-256 of it all. The last two files
are kept, so that a file that turns out damaged has a predecessor.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mckean.errors import Refused, StorageFailure
from mckean.runs.store.storage import storage, write_whole

SCHEMA_VERSION = 1
KEPT = 2
_NAME = re.compile(r"step-[0-9]{10}\.npz")


class Damaged(Exception):
    """A checkpoint file that is not what was written."""


@dataclass(frozen=True)
class Leaf:
    """One array of the state: its path in the tree, its bits, and the generator's name where it is a random
    key.
    """

    path: str
    data: np.ndarray
    key_impl: str | None = None


@dataclass(frozen=True)
class Checkpoint:
    """`pending` are the risks of the steps since the last line of the metrics, where a run was stopped between two."""

    step: int
    config_hash: str
    leaves: tuple[Leaf, ...]
    pending: tuple[float, ...] = ()


def save(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint and drop those before its predecessor; raises StorageFailure and leaves the older
    ones.
    """
    path = folder / f"step-{checkpoint.step:010d}.npz"
    write_whole(path, encode(checkpoint))
    for old in files(folder)[:-KEPT]:
        with contextlib.suppress(OSError):
            old.unlink()
    return path


def newest(folder: Path, config_hash: str, warn: Callable[[str], None]) -> Checkpoint:
    """The newest checkpoint that is whole; each damaged one on the way is said.

    Raises StorageFailure where none is whole, Refused where the configuration is not the checkpoint's.
    """
    found = files(folder)
    for path in reversed(found):
        try:
            checkpoint = decode(path.read_bytes())
        except (OSError, Damaged) as error:
            warn(f"The checkpoint {path.name} is damaged ({error}); taking the one before it.")
            continue
        if checkpoint.config_hash != config_hash:
            raise Refused(
                f"A run goes on under its own configuration; {folder.parent / 'config.toml'} was changed after "
                "the checkpoint was written: undo the change, or start a new run from that file."
            )
        return checkpoint
    state = "all are damaged" if found else "there is none"
    raise StorageFailure(f'No checkpoint in "{folder}" can be read: {state}. Start the run anew from its config.toml.')


def files(folder: Path) -> list[Path]:
    """The checkpoint files, oldest first."""
    with storage(f'"{folder}" cannot be read'):
        return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))


def steps(folder: Path) -> list[int]:
    """The training steps of the checkpoint files, in order."""
    return [int(path.stem.removeprefix("step-")) for path in files(folder)]


def encode(checkpoint: Checkpoint) -> bytes:
    """The bytes of a checkpoint file."""
    meta: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "step": checkpoint.step,
        "config_hash": checkpoint.config_hash,
        "leaves": [{"path": leaf.path, "key_impl": leaf.key_impl} for leaf in checkpoint.leaves],
        "pending": list(checkpoint.pending),
    }
    arrays = {f"leaf{i}": leaf.data for i, leaf in enumerate(checkpoint.leaves)}
    meta["sha256"] = _digest(meta, list(arrays.values()))
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)
    return buffer.getvalue()


def decode(content: bytes) -> Checkpoint:
    """The checkpoint of a file's bytes; raises Damaged."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            meta = json.loads(bytes(archive["meta"]))
            arrays = [archive[f"leaf{i}"] for i in range(len(meta["leaves"]))]
        found = meta.pop("sha256")
        expected = _digest(meta, arrays)
    except (ValueError, KeyError, TypeError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise Damaged(str(error) or type(error).__name__) from None
    if found != expected:
        raise Damaged("its checksum does not fit its content")
    if meta["schema_version"] != SCHEMA_VERSION:
        raise Damaged(f"it has schema_version {meta['schema_version']}, not {SCHEMA_VERSION}")
    leaves = (Leaf(leaf["path"], data, leaf["key_impl"]) for leaf, data in zip(meta["leaves"], arrays, strict=True))
    return Checkpoint(meta["step"], meta["config_hash"], tuple(leaves), tuple(meta.get("pending", ())))


def _digest(meta: dict[str, Any], arrays: list[np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps(meta, sort_keys=True).encode())
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
