"""The public verb: train a head measure through the flow that it defines."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mckean._arguments import count
from mckean._shapes import Array, Key
from mckean.coupled.solution import Solution
from mckean.coupled.stepper import CHUNK, State, Stepper
from mckean.coupled.trained import trained_part
from mckean.field.method import RandomBatch
from mckean.measures.empirical import Empirical
from mckean.objective.evaluation import risk
from mckean.objective.problem import Problem
from mckean.result import Result
from mckean.training.asked import as_dynamics
from mckean.training.dynamics import Dynamics
from mckean.training.schedules import Schedule


def solve(
    problem: Problem,
    rho0: Empirical,
    *,
    step_size: float,
    steps: int,
    key: Key,
    dynamics: Dynamics | None = None,
    batch: int | None = None,
    step_decay: Schedule | None = None,
    annealing: Schedule | None = None,
    readout_rate: float = 1.0,
    observe: Callable[[Empirical], Any] | None = None,
    every: int = 1,
    state: State | None = None,
) -> Solution:
    r"""Solve the coupled system: tokens forward, costate back, heads along δL_λ/δρ with noise √(2β), for `steps` training steps.

    Arguments:
        problem: prompts, loss, depth flow, λ and β.  rho0: ρ at s = 0.
        step_size: h, the step of training time; it needs no change with H.  steps: training steps (depth steps belong to the problem).
        key: of the noise and the minibatches.
        dynamics: `Langevin()` (default), `Inertial(friction)` or `Optax(optimiser)`.
        batch: prompts a step; None uses all.
        step_decay, annealing: schedules (`mk.schedules`) that multiply step size and temperature.
        readout_rate: speed of a trained readout relative to the heads.
        observe: a function of ρ, recorded at s = 0, after every `every` steps and at the end (statistics, not paths).
        state: go on from a `Solution.state`.

    Gives a `Solution`. A risk or gradient that leaves the finite numbers ends it: `.result` says at which training step, and the solution
    is that of the last step whose risk was finite.
    Source: mathematics, sections 2–4; Theorems 7.1 and 9.1.

    >>> import jax, jax.numpy as jnp, mckean as mk
    >>> one = lambda *shape: jnp.ones(shape)
    >>> rho = mk.Empirical(mk.Perceptron(0 * one(1, 1), one(1), 0 * one(1, 1)))
    >>> loss = mk.losses.SquaredError(mk.Readout(one(1, 1)))
    >>> problem = mk.Problem(mk.Empirical(jnp.array([[1.0], [3.0]])), jnp.array([0.0]), loss, horizon=1.0, steps=1, scheme="euler")
    >>> solution = mk.solve(problem, rho, step_size=0.1, steps=8, key=jax.random.key(0))
    >>> len(solution.times), bool(solution.risk[-1] < solution.risk[0] / 2)
    (9, True)
    """
    steps, every = count(steps, "steps", "training steps", 0), count(every, "every", "training steps between observations")
    dynamics = as_dynamics(dynamics)
    stepper = Stepper(
        problem,
        dynamics,
        step_size=step_size,
        total=steps if state is None else int(state.step) + steps,
        batch=batch,
        step_decay=step_decay,
        annealing=annealing,
        readout_rate=readout_rate,
    )
    here = stepper.init(rho0, key) if state is None else state
    start = int(here.step)
    good = here
    records: list[dict[str, Any]] = []
    observed = [] if observe is None else [(start, observe(here.rho))]
    result = Result()
    stride = min(CHUNK, every if observe is not None else CHUNK)
    while int(here.step) - start < steps:
        done = int(here.step) - start
        target = min(steps, (done // every + 1) * every) if observe is not None else steps
        here, record = stepper.advance(here, min(stride, target - done))
        good = good if record["last_good"] is None else record["last_good"]
        records.append(record)
        if not bool(record["finite"]):
            result = _nonfinite(here)
            break
        if observe is not None and int(here.step) - start == target:
            observed.append((int(here.step), observe(here.rho)))
    end_risk = risk(stepper.at(here), here.rho)
    if result.ok and not bool(jnp.isfinite(end_risk)):
        result = _nonfinite(here)
    if not result.ok:
        # The state that was stopped at may itself have no finite risk; what came after the last good one is left out.
        here, end_risk = good, risk(stepper.at(good), good.rho)
    final, kept = stepper.at(here), int(here.step) - start
    seen = [value for at, value in observed if at <= int(here.step)]

    def join(name: str, last: Any) -> Any:
        end = jnp.asarray(last)[None]
        return jnp.concatenate([jnp.concatenate([*(record[name] for record in records), end])[:kept], end])

    temperature = problem.temperature * stepper.annealing(stepper.fraction(here.step))
    stats = {
        "heads": rho0.size,
        "steps": int(here.step) - start,
        "dynamics": type(dynamics).__name__,
        "prompts": problem.size,
        "tokens": problem.prompts.size,
        "dtype": problem.prompts.points.dtype.name,
        "outside": _outside(problem, stepper),
    }
    return Solution(
        here.rho,
        rho0,
        join("time", here.time),
        join("risk", end_risk),
        join("temperature", temperature),
        jax.tree.map(lambda *leaves: jnp.stack(leaves), *seen) if seen else None,
        final,
        here,
        stats,
        result,
    )


def _nonfinite(state: State) -> Result:
    """The risk or its gradient left the finite numbers at this state."""
    return Result(
        "nonfinite_risk",
        {"s": float(state.time), "training step": int(state.step)},
        "Use a smaller `step_size` or bound the heads (mk.Bounded).",
    )


def _outside(problem: Problem, stepper: Stepper) -> tuple[str, ...]:
    """What of this solve the theorems do not cover."""
    notes = []
    if stepper.batch is not None:
        notes.append(f"minibatches of {stepper.batch} of {problem.size} prompts")
    if jax.tree.leaves(trained_part(problem.loss)):
        notes.append("a trained readout")
    if float(problem.confinement) == 0:
        notes.append("no confinement (λ = 0)")
    if float(problem.temperature) > 0 and not _is_constant(stepper.annealing, stepper.step_size):
        notes.append("an annealed temperature")
    if not _is_constant(stepper.step_decay, stepper.step_size):
        notes.append("a decaying step size")
    if isinstance(problem.method.core, RandomBatch):
        notes.append(f"a field estimated from {problem.method.core.size} tokens")
    if type(stepper.dynamics).__name__ == "Optax":
        notes.append("an optimiser instead of the gradient flow")
    return tuple(notes)


def _is_constant(schedule: Schedule, like: Array) -> bool:
    return all(float(schedule(jnp.asarray(u, like.dtype))) == 1 for u in (0.0, 0.125, 0.25, 0.5, 0.75, 1.0))
