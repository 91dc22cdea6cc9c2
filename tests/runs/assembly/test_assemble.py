"""What is refused before a run begins, because it could not end well."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from mckean.errors import Refused
from mckean.runs.assembly.assemble import assemble
from mckean.runs.evaluation.selfcheck import selfcheck
from tests.runs.small import config


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_adaptive_steps_that_do_not_reach_the_end_are_refused_with_how_many_do(tmp_path: Path, precision: str) -> None:
    sets = ("model.scheme=tsit5", f"model.precision={precision}")
    with pytest.raises(Refused, match=r"within model\.steps; 3 do not: the first heads need \d+: set model\.steps=") as refusal:
        assemble(config(tmp_path, *sets))
    enough = str(refusal.value).rpartition("=")[2].rstrip(".")
    ready = assemble(config(tmp_path, *sets, f"model.steps={enough}"))
    state = ready.stepper.init(ready.rho0, ready.key)
    assert {entry["verdict"] for entry in selfcheck(ready, state)} == {"holds"}
    moved, records = ready.stepper.advance(state, 2)
    assert bool(records["finite"])
    assert bool(jnp.all(jnp.isfinite(records["risk"])))
    assert int(moved.step) == 2


@pytest.mark.parametrize(("precision", "size"), [("float64", 1e200), ("float32", 1e12)])
def test_data_whose_squares_overflow_is_refused(tmp_path: Path, precision: str, size: float) -> None:
    with pytest.raises(Refused, match=r"coordinates of the tokens must be at most .* scale the data"):
        assemble(config(tmp_path, f"model.precision={precision}", size=size))
    with pytest.raises(Refused, match=r"targets must be at most .* scale the data"):
        assemble(
            config(
                tmp_path, f"model.precision={precision}", "readout.loss=squared-error", targets=np.linspace(1.0, 2.0, 12) * size
            )
        )
