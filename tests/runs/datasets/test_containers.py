"""Files that are not what their name says: missing, damaged, hostile, or of another kind."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from mckean.errors import Refused
from mckean.runs.datasets import files, load
from mckean.runs.datasets.containers import open_container

Arrays = dict[str, np.ndarray]
Save = Callable[[Arrays], Path]


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    return stream.getvalue()


def npz(path: Path, members: list[tuple[str, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def tensors(path: Path, header: dict[str, Any], size: int) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(size))
    return path


def test_missing_files_folders_and_suffixes(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="must exist; found nothing at"):
        open_container(tmp_path / "none.npz")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(Refused, match="is a folder"):
        open_container(tmp_path / "folder.npz")
    with pytest.raises(Refused, match=r"must be \.npz or \.safetensors; found 'data.csv'"):
        open_container(tmp_path / "data.csv")


def test_unreadable_files(
    tmp_path: Path, arrays: Arrays, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(arrays)

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(zipfile, "is_zipfile", refuse)
    with pytest.raises(Refused, match=r"mine\.npz must be readable; Permission denied"):
        open_container(path)


@pytest.mark.parametrize("content", [b"", b"text", npy(np.zeros(3)), b"PK\x03\x04"])
def test_no_archive_at_all(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    path.write_bytes(content)
    with pytest.raises(Refused, match=r"must be an \.npz archive"):
        open_container(path)


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    ragged = np.empty(2, dtype=object)
    ragged[:] = [np.zeros((2, 1)), np.zeros((3, 1))]
    np.savez(path, points=ragged)
    with pytest.raises(Refused, match="'points' is of pickled Python objects"):
        open_container(path)


def test_members_that_are_no_arrays(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"'readme.txt' is none"):
        open_container(npz(tmp_path / "a.npz", [("readme.txt", b"hello")]))
    with pytest.raises(Refused, match="undamaged npz file"):
        open_container(npz(tmp_path / "b.npz", [("points.npy", b"hello, this is no array")]))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_name_twice(tmp_path: Path) -> None:
    members = [("points.npy", npy(np.zeros(2))), ("points.npy", npy(np.ones(2)))]
    with pytest.raises(Refused, match="one name twice"):
        open_container(npz(tmp_path / "a.npz", members))


def test_headers_that_lie_about_the_size(tmp_path: Path) -> None:
    lie = npy(np.zeros(2)).replace(b"(2,), }     ", b"(2000000000,), }"[:16].ljust(12))
    assert b"2000000000" in lie
    with pytest.raises(Refused, match="damaged npz file"):
        open_container(npz(tmp_path / "a.npz", [("points.npy", lie)]))
    with pytest.raises(Refused, match="as many bytes as its shape says"):
        open_container(npz(tmp_path / "b.npz", [("points.npy", npy(np.zeros(4))[:-8])]))


def test_a_flipped_or_missing_byte(arrays: Arrays, save: Save) -> None:
    path = save(arrays)
    whole = path.read_bytes()
    middle = whole.index(arrays["points"].tobytes()[:16])
    path.write_bytes(whole[:middle] + b"\x00\x01" + whole[middle + 2 :])
    with pytest.raises(Refused, match="undamaged npz file; Bad CRC"):
        open_container(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Refused, match=r"must be an \.npz archive"):
        open_container(path)


def test_compressed_files_are_read(tmp_path: Path, arrays: Arrays, save: Save) -> None:
    path = tmp_path / "packed.npz"
    np.savez_compressed(path, **arrays)  # pyright: ignore[reportArgumentType]
    assert files.load(path).content_hash() == files.load(save(arrays)).content_hash()


def test_safetensors_hold_the_same(tmp_path: Path, arrays: Arrays, save: Save) -> None:
    path = tmp_path / "mine.safetensors"
    save_file(arrays, str(path), metadata={"classes": '["cat", "dog"]'})
    data = load(path)
    assert data.classes == ("cat", "dog")
    arrays["classes"] = np.array(["cat", "dog"])
    assert data.content_hash() == files.load(save(arrays)).content_hash()


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("cat,dog", "JSON list of strings; found 'cat,dog'"),
        ("[1, 2]", "JSON list of strings"),
        ('{"a": 1}', "JSON list of strings"),
        ('["cat"]', "2 classes of targets; found 1"),
    ],
)
def test_bad_class_names_in_metadata(metadata: str, message: str, tmp_path: Path, arrays: Arrays) -> None:
    path = tmp_path / "mine.safetensors"
    save_file(arrays, str(path), metadata={"classes": metadata})
    with pytest.raises(Refused, match=message):
        files.load(path)


def test_class_names_as_a_tensor(tmp_path: Path, arrays: Arrays) -> None:
    path = tmp_path / "mine.safetensors"
    save_file({**arrays, "classes": np.zeros(2)}, str(path))
    with pytest.raises(Refused, match="must be in its metadata"):
        files.load(path)


@pytest.mark.parametrize("content", [b"", b"text", b"\xff" * 40, struct.pack("<Q", 100) + b"{}"])
def test_damaged_safetensors(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "mine.safetensors"
    path.write_bytes(content)
    with pytest.raises(Refused, match="undamaged safetensors file"):
        open_container(path)


@pytest.mark.parametrize(("kind", "size"), [("BF16", 4), ("F8_E4M3", 2)])
def test_types_that_numpy_does_not_have(kind: str, size: int, tmp_path: Path) -> None:
    header = {"points": {"dtype": kind, "shape": [2], "data_offsets": [0, size]}}
    with pytest.raises(Refused, match=f"found {kind}: store it as F32"):
        open_container(tensors(tmp_path / "mine.safetensors", header, size))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("digit", "found 'digit': did you mean 'digits'"),
        ("vowel", "did you mean 'vowels'"),
        ("mnist", "the packaged ones are digits, vowels"),
        ("", "found ''"),
        ("no/such/folder.npz", "found nothing at no/such/folder.npz"),
        ("config.toml", r"must be \.npz or \.safetensors"),
    ],
)
def test_names_that_are_neither(name: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        load(name)
