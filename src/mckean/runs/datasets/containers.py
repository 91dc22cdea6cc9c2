"""A user's file opened as named arrays: .npz and .safetensors, neither of which runs code when read."""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mckean.errors import Refused

_SAFETENSORS_TYPES = frozenset({"F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"})


@dataclass(frozen=True, eq=False)
class Container:
    """The arrays of a file by name; `classes` are the class names where the file holds any."""

    path: Path
    arrays: Mapping[str, NDArray[Any]]
    classes: tuple[str, ...] | None


def open_container(path: Path) -> Container:
    """The arrays of an .npz or .safetensors file, chosen by the suffix.

    Raises `Refused` for a missing file, another suffix, damaged contents, or pickled objects.
    """
    readers = {".npz": _read_npz, ".safetensors": _read_safetensors}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise Refused(f"A data file must be .npz or .safetensors; found {path.name!r}: save it with numpy.savez.")
    if not path.exists():
        raise Refused(f"The data file must exist; found nothing at {path}: check data.name.")
    if not path.is_file():
        raise Refused(f"The data must be in one file; {path} is a folder.")
    try:
        return reader(path)
    except OSError as error:
        raise Refused(f"{path.name} must be readable; {error.strerror or error}.") from error
    except MemoryError as error:
        raise Refused(f"{path.name} must fit into memory; it does not: save fewer prompts in it.") from error


def _damaged(path: Path, reason: object) -> Refused:
    return Refused(f"{path.name} must be an undamaged {path.suffix[1:]} file; {reason}: save it again.")


def _check_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> None:
    """Refuse pickles and lying headers before NumPy allocates what the header asks for."""
    name = info.filename.removesuffix(".npy")
    if not info.filename.endswith(".npy"):
        raise Refused(f"{path.name} must hold arrays only; {info.filename!r} is none: save it with numpy.savez.")
    with archive.open(info) as stream:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            raise _damaged(path, f"array {name!r} has a header of version {version}, not 1 or 2")
        header = stream.tell()
    if dtype.hasobject:
        raise Refused(
            f"{path.name} must hold plain numbers; array {name!r} is of pickled Python objects, which are "
            f"never loaded: pad ragged prompts to one (n, N, d) array with weight 0."
        )
    if math.prod(shape) * dtype.itemsize + header != info.file_size:
        raise _damaged(path, f"array {name!r} of shape {shape} does not have as many bytes as its shape says")


def _read_npz(path: Path) -> Container:
    if not zipfile.is_zipfile(path):
        raise Refused(
            f"{path.name} must be an .npz archive, as its name says; it holds something else: save it with numpy.savez."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len({info.filename for info in members}) != len(members):
                raise _damaged(path, "it holds one name twice")
            for info in members:
                _check_member(archive, info, path)
        with np.load(path, allow_pickle=False) as loaded:
            arrays = {name: np.asarray(loaded[name]) for name in loaded.files}
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError) as error:
        if isinstance(error, Refused):
            raise
        raise _damaged(path, error) from error
    names = arrays.pop("classes", None)
    return Container(path, arrays, None if names is None else _names_from_array(names, path))


def _names_from_array(names: NDArray[Any], path: Path) -> tuple[str, ...]:
    if names.ndim != 1 or names.dtype.kind != "U":
        raise Refused(
            f"classes in {path.name} must be a one-dimensional array of strings; found {names.dtype} of "
            f"shape {names.shape}: write classes=numpy.array(['first', 'second'])."
        )
    return tuple(str(name) for name in names)


def _read_safetensors(path: Path) -> Container:
    from safetensors import SafetensorError, safe_open

    if path.stat().st_size == 0:  # it cannot be memory-mapped, and the library's message would not say so
        raise _damaged(path, "it is empty")
    try:
        with safe_open(str(path), framework="numpy") as stream:
            metadata = dict(stream.metadata() or {})
            arrays: dict[str, NDArray[Any]] = {}
            for name in stream.keys():  # noqa: SIM118 (not a mapping: it has no iterator)
                kind = stream.get_slice(name).get_dtype()
                if kind not in _SAFETENSORS_TYPES:
                    raise Refused(
                        f"Array {name!r} in {path.name} must be of type F16, F32, F64 or an integer type; "
                        f"found {kind}: store it as F32."
                    )
                arrays[name] = np.array(stream.get_tensor(name))
    except SafetensorError as error:
        raise _damaged(path, error) from error
    return Container(path, arrays, _names_from_metadata(metadata, path))


def _names_from_metadata(metadata: Mapping[str, str], path: Path) -> tuple[str, ...] | None:
    text = metadata.get("classes")
    if text is None:
        return None
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Refused(f"The metadata `classes` of {path.name} must be a JSON list of strings; found {text[:40]!r}.")
    return tuple(names)
