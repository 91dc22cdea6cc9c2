"""What attention and depth contribute: the same data without the flow, and with attention off.

`without_flow` fits the same readout with the same ridge on the embedded prompts (a convex problem, solved to convergence); `without_attention`
trains hidden units alone, all else equal. `paired` compares two predictors on the same prompts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize, stats

from mckean.coupled import State
from mckean.coupled.stepper import CHUNK
from mckean.errors import NumericalFailure
from mckean.measures.empirical import unchecked
from mckean.objective.readout import Readout
from mckean.runs.assemble import Assembly, assemble, at_state
from mckean.runs.config import Config
from mckean.runs.predictions import Predictions, from_terminal, predict


@dataclass(frozen=True)
class Baseline:
    """A predictor to compare with, scored on both parts of the data."""

    name: str
    label: str
    train: Predictions
    held_out: Predictions | None


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
    loss = with_parameters(jnp.asarray(found.x, dtype))
    return _scored(assembly, "readout", "the same readout without the flow", loss)


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
    return Baseline(name, label, parts[0], parts[1])


def without_attention(assembly: Assembly, progress: Callable[[str], None]) -> Baseline | None:
    """Hidden units alone under the same configuration; None where the heads have no attention, or nothing else."""
    config = assembly.config
    if config.model.head != "block":
        return None
    alone = assemble(_with_head(config, "perceptron"))
    state = alone.stepper.init(alone.rho0, alone.key)
    total = config.training.steps
    while (done := int(state.step)) < total:
        progress(f"Baseline, attention off: training step {done} of {total}.")
        state, records = alone.stepper.advance(state, min(CHUNK, total - done))
        if not bool(records["finite"]):
            raise NumericalFailure(
                f"The baseline of hidden units alone left the finite numbers at training step {int(state.step)}: "
                "lower training.step_size, or set output.baselines=false."
            )
    train = predict(alone, state, held_out=False)
    assert train is not None
    return Baseline("hidden-units", "the flow with attention off", train, predict(alone, state, held_out=True))


def _with_head(config: Config, head: str) -> Config:
    return config.model_copy(update={"model": config.model.model_copy(update={"head": head})})


def paired(ours: Predictions, theirs: Predictions) -> dict[str, Any]:
    """The difference on the same prompts, with a 95 % interval: exact McNemar for classes, paired t for losses.

    For classes `difference` is ours minus theirs in accuracy; for numbers, theirs minus ours in mean loss: positive means ours is better.
    """
    if ours.correct is not None and theirs.correct is not None:
        better = int(np.sum(ours.correct & ~theirs.correct))
        worse = int(np.sum(~ours.correct & theirs.correct))
        count = len(ours.correct)
        difference = (better - worse) / count
        spread = 1.96 * np.sqrt(max(better + worse - (better - worse) ** 2 / count, 0.0)) / count
        p = float(stats.binomtest(better, better + worse).pvalue) if better + worse else 1.0
        test = "exact McNemar"
    else:
        gain = theirs.losses - ours.losses
        better, worse = int(np.sum(gain > 0)), int(np.sum(gain < 0))
        difference = float(gain.mean())
        error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
        spread = float(stats.t.ppf(0.975, max(len(gain) - 1, 1))) * error
        p = float(2 * stats.t.sf(abs(difference) / error, len(gain) - 1)) if error > 0 else 1.0
        test = "paired t"
    interval = [difference - spread, difference + spread]
    return {"better": better, "worse": worse, "difference": difference, "interval": interval, "p_value": p, "test": test}
