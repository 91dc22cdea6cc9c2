"""metrics.jsonl holds whole lines, and a resumed run writes none twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from mckean.errors import StorageFailure
from mckean.runs.execution.chunks import due, next_boundary
from mckean.runs.store import metrics


def add(path: Path, step: int) -> None:
    record = metrics.line(step=step, s=step / 10, risk=0.5, temperature=0.0, evaluation=None, rate=3.0, wall_s=1.0)
    metrics.append(path, record)


def test_lines_after_the_checkpoint_and_torn_ones_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for step in (0, 10, 20, 30):
        add(path, step)
    with path.open("a") as file:
        file.write('{"step": 40, "s"')
    assert [record["step"] for record in metrics.read(path)] == [0, 10, 20, 30]
    metrics.truncate(path, 20)
    add(path, 30)
    assert [record["step"] for record in metrics.read(path)] == [0, 10, 20, 30]
    assert path.read_text().count("\n") == 4


def test_a_torn_line_is_dropped_even_where_none_is_too_late(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    add(path, 10)
    with path.open("a") as file:
        file.write('{"step": 20')
    metrics.truncate(path, 10)
    add(path, 20)
    assert [record["step"] for record in metrics.read(path)] == [10, 20]


def test_a_full_disk_is_a_storage_failure() -> None:
    with pytest.raises(StorageFailure, match="could not be written: no space left on device"):
        add(Path("/dev/full"), 10)


def test_a_number_that_is_not_finite_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        metrics.append(tmp_path / "m", {"step": 1, "risk": float("nan")})


@pytest.mark.parametrize("start", range(0, 60, 7))
def test_boundaries_do_not_depend_on_where_a_run_began(start: int) -> None:
    def boundaries(step: int) -> list[int]:
        found: list[int] = []
        while step < 60:
            step = next_boundary(step, 60, (7, 20, 30))
            found.append(step)
        return found

    everything = boundaries(0)
    assert everything == sorted({*range(7, 60, 7), 20, 30, 40, 60})
    assert boundaries(start) == [step for step in everything if step > start]
    assert [step for step in everything if due(step, 60, 20)] == [20, 40, 60]
