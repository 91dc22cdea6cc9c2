"""A baseline that is no good says so, and takes nothing with it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mckean.runs.assembly.assemble import assemble
from mckean.runs.evaluation import baselines
from mckean.runs.evaluation.conclude import write_results
from mckean.runs.evaluation.predictions import Predictions
from tests.runs.small import config


def test_a_fit_that_fails_is_told_in_the_summary_and_the_other_baseline_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(host: Any, start: np.ndarray, **_: Any) -> Any:
        return SimpleNamespace(x=start, fun=host(start)[0], jac=host(start)[1], success=False, message="ABNORMAL")

    monkeypatch.setattr(baselines.optimize, "minimize", stopped)
    ready = assemble(config(tmp_path))
    (tmp_path / "results").mkdir()
    summary = write_results(ready, ready.stepper.init(ready.rho0, ready.key), tmp_path, [], lambda _text: None)
    fitted, other = summary["baselines"]
    assert "must converge" in fitted["failed"]
    assert fitted["test_accuracy"] is None
    assert other["failed"] is None
    assert [entry["against"] for entry in summary["paired"]] == ["hidden-units"]
    json.dumps(summary, allow_nan=False)


@pytest.mark.parametrize("broken", ["scores", "losses"])
def test_a_score_or_loss_that_is_not_finite_fails_its_baseline(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scored(*_: Any) -> Predictions:
        arrays = {"scores": np.zeros((9, 2)), "losses": np.zeros(9)}
        arrays[broken].flat[3] = np.nan
        return Predictions(**arrays, correct=np.ones(9, bool))

    ready = assemble(config(tmp_path, "model.head=softmax"))
    monkeypatch.setattr(baselines, "from_terminal", scored)
    (found,) = baselines.all_baselines(ready, ready.stepper.init(ready.rho0, ready.key), lambda _text: None)
    assert found.train is None
    assert found.failed is not None
    assert "must be finite" in found.failed
