"""What attention and depth contribute: the same data without the flow, and with attention off.

`without_flow` fits the same readout with the same ridge on the embedded prompts (a convex problem, solved to convergence); `without_attention`
trains hidden units alone, all else equal. Both raise NumericalFailure where the fit or a number of theirs is no good.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

from mckean.coupled import State
from mckean.coupled.stepper import CHUNK
from mckean.errors import NumericalFailure, Refused
from mckean.measures.empirical import unchecked
from mckean.objective.readout import Readout
from mckean.runs.assembly.assemble import Assembly, assemble, at_state
from mckean.runs.configuration.config import Config
from mckean.runs.evaluation.predictions import Predictions, from_terminal, predict

NO_FLOW = ("readout", "the same readout without the flow")
CHUNK_S = 5.0
ATTENTION_OFF = ("hidden-units", "the flow with attention off")


@dataclass(frozen=True)
class Baseline:
    """A predictor to compare with, scored on both parts of the data; `failed` says why it has no scores."""

    name: str
    label: str
    train: Predictions | None
    held_out: Predictions | None
    failed: str | None = None


def without_flow(assembly: Assembly, state: State) -> Baseline:
    """The same readout, linear in ∫ψ dμ_0, fitted to convergence by L-BFGS."""
    problem = at_state(assembly.stepper.problem, state)
    readout = problem.loss.readout  # type: ignore[attr-defined]
    features = jax.vmap(lambda mu: mu.integrate(readout.features))(problem.prompts)
    single = jnp.ones((1,), features.dtype)
    shape = readout.matrix.shape
    size = int(np.prod(shape))

    def with_parameters(flat: Any) -> Any:
        matrix, bias = flat[:size].reshape(shape), flat[size:]
        return eqx.tree_at(lambda loss: (loss.readout.matrix, loss.readout.bias), problem.loss, (matrix, bias))

    @jax.jit
    def objective(flat: Any) -> Any:
        loss = with_parameters(flat)
        # The readout with ψ = identity on the one atom ∫ψ dμ_0 reads the same as the readout on μ_0.
        plain = _reading_features(loss)
        values = jax.vmap(lambda f, y: plain(unchecked(f[None], single), y))(features, problem.targets)
        return jnp.mean(values) + loss.readout.penalty()

    dtype = features.dtype
    gradient = jax.jit(jax.value_and_grad(objective))

    def host(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = gradient(jnp.asarray(flat, dtype))
        return float(value), np.asarray(slope, np.float64)

    start = np.zeros(size + shape[0])
    found = optimize.minimize(host, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 10000})
    _require_converged(found, float(np.finfo(dtype).eps))
    loss = with_parameters(jnp.asarray(found.x, dtype))
    return _scored(assembly, *NO_FLOW, loss)


def _require_converged(found: Any, eps: float) -> None:
    """A line search that ends at the rounding of the numbers has converged; one that ends with a slope has not."""
    slope = float(np.max(np.abs(found.jac)))
    if not (np.isfinite(found.fun) and np.isfinite(slope)):
        raise NumericalFailure(
            f"The fit of the readout must stay finite; it came to {found.fun:.3g}: scale the data to the order of 1."
        )
    if not found.success and slope > np.sqrt(eps) * max(1.0, abs(found.fun)):
        raise NumericalFailure(
            f"The fit of the readout must converge; L-BFGS stopped at a slope of {slope:.2g} ({found.message}): "
            "raise readout.ridge, or scale the data to the order of 1."
        )


def _require_finite(label: str, found: Predictions | None) -> None:
    if found is not None and not (np.isfinite(found.scores).all() and np.isfinite(found.losses).all()):
        raise NumericalFailure(
            f"Every score and loss of a baseline must be finite; {label} has one that is not: raise readout.ridge."
        )


def _reading_features(loss: Any) -> Any:
    readout = loss.readout
    return type(loss)(Readout(readout.matrix, readout.bias))


def _scored(assembly: Assembly, name: str, label: str, loss: Any) -> Baseline:
    parts = []
    for problem, part in ((assembly.problem, assembly.dataset.train), (assembly.held_out, assembly.dataset.test)):
        if problem is None or part is None:
            parts.append(None)
            continue
        moved = eqx.tree_at(lambda p: p.loss, problem, loss)
        parts.append(from_terminal(assembly, moved, moved.prompts, part))
        _require_finite(label, parts[-1])
    return Baseline(name, label, parts[0], parts[1])


def without_attention(assembly: Assembly, progress: Callable[[str], None]) -> Baseline | None:
    """Hidden units alone under the same configuration; None where the heads have no attention, or nothing else."""
    config = assembly.config
    if config.model.head != "block":
        return None
    alone = assemble(_with_head(config, "perceptron"))
    state = alone.stepper.init(alone.rho0, alone.key)
    total, fitting = config.training.steps, 1
    while (done := int(state.step)) < total:
        progress(f"Baseline, attention off: training step {done} of {total}.")
        started = time.monotonic()
        state, records = alone.stepper.advance(state, min(fitting, total - done))
        if not bool(records["finite"]):
            raise NumericalFailure(
                f"The baseline of hidden units alone left the finite numbers at training step {int(state.step)}: "
                "lower training.step_size, or set output.baselines=false."
            )
        # Signals are obeyed between chunks: one step first, then what fits into a few seconds.
        fitting = max(1, min(CHUNK, int(CHUNK_S * (int(state.step) - done) / max(time.monotonic() - started, 1e-6))))
    train, held_out = predict(alone, state, held_out=False), predict(alone, state, held_out=True)
    for part in (train, held_out):
        _require_finite(ATTENTION_OFF[1], part)
    return Baseline(*ATTENTION_OFF, train, held_out)


def all_baselines(
    assembly: Assembly,
    state: State,
    progress: Callable[[str], None],
    begun: Callable[[Callable[[str], None]], Baseline | None] | None = None,
) -> list[Baseline]:
    """Every baseline that fits the run; `begun` waits for the one with attention off, where that is under way.

    One that fails says so in its place: the run's own results do not hang on it."""
    progress("Baseline: the readout without the flow.")
    off = partial(without_attention, assembly) if begun is None else begun
    makers = ((NO_FLOW, lambda: without_flow(assembly, state)), (ATTENTION_OFF, lambda: off(progress)))
    found: list[Baseline] = []
    for (name, label), make in makers:
        try:
            made = make()
        except (NumericalFailure, Refused) as failure:
            made = Baseline(name, label, None, None, str(failure))
        found += [] if made is None else [made]
    return found


def _with_head(config: Config, head: str) -> Config:
    return config.model_copy(update={"model": config.model.model_copy(update={"head": head})})
