"""The baseline that is trained at the same time as the run: the same numbers, an end when the run ends, and its failures in their place."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mckean.errors import NumericalFailure
from mckean.runs.assembly.assemble import assemble
from mckean.runs.evaluation import baselines, beside
from tests.runs.small import config

PARALLEL = "output.deterministic=false"


def alive() -> bool:
    return any(thread.name == "baseline" for thread in threading.enumerate())


def test_it_gives_what_it_gives_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "cores", lambda: 2)
    ready = assemble(config(tmp_path, PARALLEL))
    alone = baselines.without_attention(ready, lambda _text: None)
    work = beside.start(ready)
    assert work is not None
    found = work.result(lambda _text: None)
    assert alone is not None
    assert alone.held_out is not None
    assert found is not None
    assert found.held_out is not None
    np.testing.assert_array_equal(found.held_out.scores, alone.held_out.scores)
    work.cancel()
    assert not alive()


@pytest.mark.parametrize(
    ("override", "cores"),
    [("output.deterministic=true", 2), ("output.baselines=false", 2), ("model.head=softmax", 2), ("seed=1", 1)],
)
def test_it_is_left_for_later_where_the_run_has_one_thread_or_no_such_baseline(
    override: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "cores", lambda: cores)
    sets = (override,) if override.startswith("output.det") else (PARALLEL, override)
    assert beside.start(assemble(config(tmp_path, *sets))) is None


def test_it_ends_when_it_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def endless(_assembly: Any, progress: Any) -> None:
        while True:
            progress("Baseline, attention off: training step 1 of 2.")
            begun.set()

    monkeypatch.setattr(beside, "without_attention", endless)
    work = beside.Beside(assemble(config(tmp_path, PARALLEL)))
    assert begun.wait(30)
    work.cancel()
    assert not alive()


def test_a_failure_is_told_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> None:
        raise NumericalFailure("left the finite numbers")

    monkeypatch.setattr(beside, "without_attention", failing)
    ready = assemble(config(tmp_path, PARALLEL))
    work = beside.Beside(ready)
    state = ready.stepper.init(ready.rho0, ready.key)
    found = baselines.all_baselines(ready, state, lambda _text: None, work.result)
    assert [entry.failed for entry in found] == [None, "left the finite numbers"]


def test_waiting_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = threading.Event()

    def slow(_assembly: Any, progress: Any) -> None:
        progress("Baseline, attention off: training step 1 of 2.")
        assert heard.wait(30)

    monkeypatch.setattr(beside, "without_attention", slow)
    monkeypatch.setattr(beside, "WAIT_S", 0.01)
    said: list[str] = []
    beside.Beside(assemble(config(tmp_path, PARALLEL))).result(lambda text: (said.append(text), heard.set())[0])
    assert said == ["Baseline, attention off: training step 1 of 2."]
