"""A run folder is made once and never overwritten."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from mckean.errors import Refused, StorageFailure
from mckean.runs.store import folder, lock


def test_the_name_has_date_example_and_four_hex_digits(tmp_path: Path) -> None:
    made = folder.create("seed = 0\n", "my run", parent=tmp_path / "runs")
    prefix, _, tail = made.path.name.rpartition("-")
    assert prefix == f"{date.today().isoformat()}-my-run"
    assert len(tail) == 4
    assert int(tail, 16) >= 0
    assert made.config.read_text() == "seed = 0\n"
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [made.path.name]


def test_out_is_exactly_the_folder(tmp_path: Path) -> None:
    assert folder.create("", "x", parent=tmp_path, out=tmp_path / "a" / "b").path == tmp_path / "a" / "b"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert folder.create("", "x", parent=tmp_path, out=empty).config.exists()


def test_a_folder_that_holds_something_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(Refused, match="holds files"):
        folder.create("", "x", parent=tmp_path, out=tmp_path)
    with pytest.raises(Refused, match="is a file"):
        folder.create("", "x", parent=tmp_path, out=tmp_path / "kept")
    assert (tmp_path / "kept").read_text() == "mine"


def test_a_name_taken_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "run"

    def taken(path: Path) -> None:
        path.mkdir()
        (path / "kept").write_text("mine")

    monkeypatch.setattr(folder, "check_free", taken)
    monkeypatch.setattr(Path, "is_dir", lambda _path: False)
    with pytest.raises(StorageFailure):
        folder.create("", "x", parent=tmp_path, out=out)
    assert (out / "kept").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_place_that_cannot_be_written_is_a_storage_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailure, match='file" is not a folder'):
        folder.create("", "x", parent=tmp_path / "file")


def test_a_run_is_found_by_path_name_and_part(tmp_path: Path) -> None:
    for name in ("2026-01-01-digits-aaaa", "2026-01-01-digits-bbbb"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}")
    one = tmp_path / "2026-01-01-digits-aaaa"
    assert folder.find(str(one)).path == one
    assert folder.find(one.name, parent=tmp_path).path == one
    assert folder.find("aaaa", parent=tmp_path).path == one
    with pytest.raises(Refused, match="only it has"):
        folder.find("digits", parent=tmp_path)
    with pytest.raises(Refused, match="There is no run"):
        folder.find("cccc", parent=tmp_path)
    with pytest.raises(Refused, match=r"holds a manifest\.json"):
        folder.find(str(tmp_path))


def test_one_process_a_run(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    assert not lock.is_held(path)
    with lock.held(path):
        assert lock.is_held(path)
        with pytest.raises(Refused, match="one process at a time"), lock.held(path):
            pass
    assert not lock.is_held(path)
    with lock.held(path):
        pass
