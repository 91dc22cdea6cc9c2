"""Stop and resume over the library's own stepper: noise, minibatches, moments and a trained readout come back bit for bit."""

from __future__ import annotations

import io
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mckean.coupled.stepper import Stepper
from mckean.heads.softmax import Softmax
from mckean.measures.empirical import Empirical
from mckean.objective import losses
from mckean.objective.problem import Problem
from mckean.objective.readout import Readout
from mckean.runs.configuration import loading
from mckean.runs.execution import contracts, execute, loop
from mckean.runs.execution.chunks import Pace
from mckean.runs.execution.outcome import Outcome
from mckean.runs.execution.progress import Quiet
from mckean.runs.store import checkpoint, metrics
from mckean.runs.store.folder import RunFolder
from mckean.training import schedules
from mckean.training.dynamics import Dynamics
from mckean.training.inertial import Inertial
from mckean.training.langevin import Langevin
from mckean.training.optimiser import Optax
from tests.runs import fakes

# One object each, so that runs share what is compiled.
COSINE = schedules.cosine()
DYNAMICS: dict[str, tuple[Dynamics, float]] = {
    "langevin": (Langevin(), 1e-2),
    "inertial": (Inertial(friction=2.0), 1e-2),
    "adam": (Optax(optax.adam(1.0)), 0.0),
}


def tools(dynamics: Dynamics, temperature: float, step_size: float, stop_at: int | None = None) -> contracts.Tools:
    """Two classes of small clouds, four heads, a trained readout, minibatches; `stop_at` sends a SIGTERM at that step."""

    def assemble(config: Any) -> fakes.Assembly:
        places, heads, readout = jax.random.split(jax.random.key(11), 3)
        prompts = Empirical(jax.random.normal(places, (6, 5, 2)), jnp.full((6, 5), 0.2))
        loss = losses.CrossEntropy(Readout.normal(2, 2, key=readout, trained=True, ridge=1e-3))
        problem = Problem(
            prompts,
            jnp.arange(6) % 2,
            loss,
            horizon=1.0,
            steps=2,
            scheme="heun",
            confinement=1e-2,
            temperature=temperature,
        )
        stepper = Stepper(
            problem,
            dynamics,
            step_size=step_size,
            total=config.training.steps,
            batch=3,
            step_decay=COSINE,
        )
        rho0 = Empirical(Softmax.normal(heads=4, dim=2, key_dim=2, key=heads))
        return replace(fakes.Assembly(), stepper=stepper, start=rho0)  # type: ignore[arg-type]

    def evaluate(_assembly: Any, state: Any) -> dict[str, float | None]:
        if stop_at is not None and int(state.step) >= stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        return {"train_accuracy": None, "test_accuracy": None, "risk": 1.0, "held_out_risk": None}

    def write_results(_assembly: Any, state: Any, folder: Path, checks: Any, progress: Any) -> dict[str, Any]:
        return {"risk": {"initial": 1.0, "final": 1.0, "held_out": None}, "accuracy": None, "checks": checks}

    return contracts.Tools(assemble, evaluate, lambda _assembly, _state: [], write_results, contracts.attempt)


def run(folder: Path, numerics: contracts.Tools, steps: int = 40) -> Outcome:
    sets = (f"training.steps={steps}", "output.log_every=7", "output.checkpoint_every=20", "output.evaluate_every=5")
    return execute.start(
        loading.load("digits", sets),
        name="small",
        command=[],
        progress=Quiet(io.StringIO()),
        out=folder,
        tools=numerics,
    )


def leaves(outcome: Outcome) -> dict[str, bytes]:
    found = checkpoint.newest(outcome.path / "checkpoints", outcome.manifest["config_hash"], pytest.fail)
    return {leaf.path: leaf.data.tobytes() for leaf in found.leaves}


@pytest.mark.parametrize("name", DYNAMICS)
def test_a_stopped_run_goes_on_bit_for_bit(tmp_path: Path, name: str) -> None:
    dynamics, temperature = DYNAMICS[name]
    whole = run(tmp_path / "whole", tools(dynamics, temperature, 0.05))
    stopped = run(tmp_path / "stopped", tools(dynamics, temperature, 0.05, stop_at=14))
    assert (whole.exit_code, stopped.exit_code) == (0, 75)
    assert 0 < stopped.manifest["step"] < 40
    resumed = execute.resume(RunFolder(stopped.path), progress=Quiet(io.StringIO()), tools=tools(dynamics, temperature, 0.05))
    assert resumed.exit_code == 0
    assert leaves(resumed) == leaves(whole)
    assert any("matrix" in path for path in leaves(whole))
    assert {".step", ".time", ".key"} < set(leaves(whole))


def test_the_numbers_do_not_depend_on_where_steps_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(tmp_path / "whole", tools(*DYNAMICS["inertial"], 0.05))
    monkeypatch.setattr(loop, "Pace", lambda: Pace(aim_s=0.0))
    cut = run(tmp_path / "cut", tools(*DYNAMICS["inertial"], 0.05))
    assert leaves(cut) == leaves(whole)
    risks = [[line["risk"] for line in metrics.read(outcome.path / "metrics.jsonl")] for outcome in (whole, cut)]
    assert risks[0] == risks[1]


def test_a_step_that_is_too_long_is_named_with_its_place(tmp_path: Path) -> None:
    outcome = run(tmp_path / "run", tools(Langevin(), 0.0, 1e200))
    assert outcome.exit_code == 3
    where = outcome.manifest["result"]["where"]
    assert where["quantity"] == "risk" or where["quantity"].startswith("state.")
    found = checkpoint.newest(outcome.path / "checkpoints", outcome.manifest["config_hash"], pytest.fail)
    assert found.step == where["training_step"]
    assert all(np.isfinite(leaf.data).all() for leaf in found.leaves if leaf.data.dtype.kind == "f")
