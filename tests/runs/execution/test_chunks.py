"""Where the loop comes up for air: cuts of bounded time, that leave the numbers as they are."""

from __future__ import annotations

import io
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mckean.runs.configuration import loading
from mckean.runs.execution import execute, loop
from mckean.runs.execution.chunks import Pace, next_boundary
from mckean.runs.execution.outcome import Outcome
from mckean.runs.execution.progress import Quiet, Reading
from mckean.runs.store import checkpoint, metrics
from mckean.runs.store.folder import RunFolder
from tests.runs import fakes
from tests.runs.conftest import SHORT


class Clock:
    """A clock that only the steps move; `calls` are the numbers of steps of each call."""

    def __init__(self, step_s: float, compile_s: float = 0.0) -> None:
        self.now, self.step_s, self.compile_s = 0.0, step_s, compile_s
        self.calls: list[int] = []

    def monotonic(self) -> float:
        return self.now


class Shown(Quiet):
    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.readings: list[Reading] = []

    def show(self, reading: Reading) -> None:
        self.readings.append(reading)


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let steps take a time of their own, and the loop keep the library's pace; `stop_at` asks for a stop in that call."""

    def patch(step_s: float, compile_s: float = 0.0, stop_at: int = 0, *, free: bool = True) -> Clock:
        clock = Clock(step_s, compile_s)
        advance = fakes.Stepper.advance

        def timed(self: fakes.Stepper, state: fakes.State, steps: int) -> Any:
            clock.now += steps * clock.step_s + (0.0 if clock.calls else clock.compile_s)
            clock.calls.append(steps)
            if len(clock.calls) == stop_at:
                os.kill(os.getpid(), signal.SIGTERM)
            return advance(replace(self, pause_s=1.0 if len(clock.calls) == stop_at else 0.0), state, steps)

        monkeypatch.setattr(fakes.Stepper, "advance", timed)
        monkeypatch.setattr(fakes.Stepper, "cut_free", lambda _self, _state: free)
        monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=clock.monotonic))
        monkeypatch.setattr(loop, "Pace", Pace)
        return clock

    return patch


def run(folder: Path, progress: Quiet | None = None) -> Outcome:
    config = loading.load("digits", SHORT)
    return execute.start(
        config, name="fake", command=[], progress=progress or Quiet(io.StringIO()), out=folder, tools=fakes.tools()
    )


def state(run: Path) -> list[bytes]:
    manifest = json.loads((run / "manifest.json").read_text())
    return [leaf.data.tobytes() for leaf in checkpoint.newest(run / "checkpoints", manifest["config_hash"], pytest.fail).leaves]


def risks(run: Path) -> list[tuple[int, float]]:
    return [(line["step"], line["risk"]) for line in metrics.read(run / "metrics.jsonl")]


def test_steps_that_take_long_are_done_one_by_one(slowly: Any, tmp_path: Path) -> None:
    clock, shown = slowly(step_s=30.0, compile_s=20.0), Shown()
    assert run(tmp_path / "run", shown).exit_code == 0
    assert clock.calls == [1] * 60
    assert [reading.step for reading in shown.readings] == list(range(1, 61))
    assert shown.readings[0].risk > shown.readings[1].risk > 0
    assert shown.readings[1].step_s == 30.0
    assert shown.readings[1].left_s == 58 * 30.0


def test_a_chunk_takes_about_two_seconds(slowly: Any, tmp_path: Path) -> None:
    clock = slowly(step_s=0.45, compile_s=20.0)
    run(tmp_path / "run")
    # One step that compiles, one that is timed, and then up to four at a time between the lines at 7, 14, 20, 21, …
    assert clock.calls[:8] == [1, 1, 4, 1, 4, 3, 4, 2]
    assert max(clock.calls) == 4
    assert sum(clock.calls) == 60


def test_fast_steps_are_cut_at_the_lines_only(slowly: Any, tmp_path: Path) -> None:
    clock = slowly(step_s=1e-3)
    run(tmp_path / "run")
    assert clock.calls == [1, 6, 7, 6, 1, 7, 2, 5, 5, 2, 7, 7, 4]


@pytest.mark.parametrize(("free", "kept"), [(True, 17), (False, 14)])
def test_a_stop_between_two_lines_resumes_bit_for_bit(slowly: Any, tmp_path: Path, free: bool, kept: int) -> None:
    slowly(step_s=1e-3)
    whole = run(tmp_path / "whole")
    slowly(step_s=30.0, stop_at=17, free=free)
    stopped = run(tmp_path / "stopped")
    assert (stopped.exit_code, stopped.manifest["step"]) == (75, kept)
    slowly(step_s=0.7)
    resumed = execute.resume(RunFolder(stopped.path), progress=Quiet(io.StringIO()), tools=fakes.tools())
    assert resumed.exit_code == 0
    assert risks(resumed.path) == risks(whole.path)
    assert state(resumed.path) == state(whole.path)


def test_boundaries_are_multiples_or_the_end() -> None:
    assert [next_boundary(step, 60, (7, 20)) for step in (0, 7, 17, 20, 58)] == [7, 14, 20, 21, 60]
