"""Run folders made with the fake numerical side."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mckean.runs.configuration import loading
from mckean.runs.execution import execute, loop
from mckean.runs.execution.chunks import Pace
from mckean.runs.execution.contracts import Report
from mckean.runs.execution.outcome import Outcome
from mckean.runs.execution.progress import Quiet
from tests.runs import fakes

SHORT = (
    "training.steps=60",
    "output.log_every=7",
    "output.checkpoint_every=20",
    "output.evaluate_every=30",
)

Start = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run sets variables for XLA; here they do not outlive the test."""
    for name in ("XLA_FLAGS", "NPROC", "TF_CPP_MIN_LOG_LEVEL"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """One step and then whole intervals, however busy the machine is."""
    monkeypatch.setattr(loop, "Pace", lambda: Pace(aim_s=1e9))


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start a short run in `tmp_path / name`; keyword arguments go to the fake tools."""

    def run(name: str = "run", *, report: Report = fakes.report, sets: tuple[str, ...] = (), **options: object) -> Outcome:
        config = loading.load("digits", (*SHORT, *sets), seed=1)
        return execute.start(
            config,
            name="fake",
            command=["mckean", "run"],
            progress=Quiet(io.StringIO()),
            out=tmp_path / name,
            report=report,
            tools=fakes.tools(**options),  # type: ignore[arg-type]
        )

    return run
