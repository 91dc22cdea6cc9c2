"""What is refused before a run begins, because it could not end well."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from mckean.errors import Refused
from mckean.runs.assembly.assemble import assemble
from mckean.runs.configuration import loading
from mckean.runs.configuration.config import Config
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


@pytest.mark.parametrize(("batch", "taken"), [(0, None), (4, 4), (9, None), (64, None)])
def test_a_batch_of_none_or_of_more_than_there_are_is_all_prompts(batch: int, taken: int | None, tmp_path: Path) -> None:
    assert assemble(config(tmp_path, f"training.batch={batch}")).stepper.batch == taken


def test_an_empty_configuration_is_a_cheap_run(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    chosen = loading.load(str(tmp_path / "empty.toml"))
    example = loading.load("digits")

    def work(each: Config) -> int:
        stages = {"euler": 1, "heun": 2, "rk4": 4}[each.model.scheme]
        return each.training.steps * each.training.batch * each.model.heads * each.model.steps * stages

    assert 0 < work(chosen) < work(example)
