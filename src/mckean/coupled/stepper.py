"""One chunk of training: jitted steps between which the host looks, saves and stops."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._arguments import count, not_negative, positive, random_key
from mckean._shapes import Array, Key
from mckean.adjoint.particles import particle_gradient
from mckean.coupled.trained import move, trained_part
from mckean.errors import Refused
from mckean.field.choice import SMALL, undecided
from mckean.field.method import Tabulated
from mckean.field.sharding import place_heads
from mckean.field.tabulated.parts import has_table
from mckean.heads.layered import Layered
from mckean.measures.empirical import Empirical
from mckean.objective.problem import Problem
from mckean.training.asked import as_dynamics
from mckean.training.dynamics import Dynamics
from mckean.training.schedules import Schedule, constant

CHUNK = 64


class State(eqx.Module):
    """All that training carries: a pytree of arrays, so that a saved state goes on bit for bit.

    rho; loss (its trained readout moves); memory of the dynamics, of heads and readout; step; time s; the key that every step's key is
    derived from.
    """

    rho: Empirical
    loss: Any
    memory: Any
    readout_memory: Any
    step: Array
    time: Array
    key: Key


class Stepper(eqx.Module):
    r"""The outer flow, $\partial_s\rho = \nabla\cdot(\rho\nabla\,\delta L_\lambda/\delta\rho) + \beta\Delta\rho$, in steps of training time.

    Arguments:
        problem: risk, λ and β.  dynamics: how the atoms move.  step_size: h.
        total: number of training steps, which the schedules are relative to.
        batch: prompts a step; None uses all. Each epoch is a new permutation; the remainder of n/batch is left out of that epoch.
        step_decay, annealing: schedules that multiply step size and temperature.
        readout_rate: speed of a trained readout relative to the heads.

    Minibatches and a trained readout are outside the theorems' hypotheses. Source: mathematics, section 4.
    """

    problem: Problem
    dynamics: Dynamics = eqx.field(static=True)
    step_size: Array
    total: Array
    batch: int | None = eqx.field(static=True)
    step_decay: Schedule = eqx.field(static=True)
    annealing: Schedule = eqx.field(static=True)
    readout_rate: Array

    def __init__(
        self,
        problem: Problem,
        dynamics: Dynamics,
        *,
        step_size: float,
        total: int,
        batch: int | None = None,
        step_decay: Schedule | None = None,
        annealing: Schedule | None = None,
        readout_rate: float = 1.0,
    ):
        step_size, readout_rate = positive(step_size, "step_size"), not_negative(readout_rate, "readout_rate")
        total = count(total, "total", "training steps", 0)
        batch = None if batch is None else count(batch, "batch", "prompts a step")
        if batch is not None and batch > problem.size:
            raise Refused(f"`batch` must be at most {problem.size}, the number of prompts; found {batch}. Pass None to use all.")
        dynamics = as_dynamics(dynamics)
        dynamics.check(float(problem.temperature))
        dtype = problem.prompts.points.dtype
        self.problem, self.dynamics, self.batch = problem, dynamics, batch
        # Arrays, not constants of the compiled step: another step size compiles nothing.
        self.step_size, self.readout_rate = jnp.asarray(step_size, dtype), jnp.asarray(readout_rate, dtype)
        self.total = jnp.asarray(max(total, 1), dtype)
        self.step_decay, self.annealing = step_decay or constant(), annealing or constant()

    def init(self, rho0: Empirical, key: Key) -> State:
        """The state at s = 0."""
        random_key(key)
        self.problem.check(rho0)
        rho0 = place_heads(self.problem.method, rho0)
        moving = trained_part(self.problem.loss)
        zero = jnp.zeros((), self.problem.prompts.points.dtype)
        return State(
            rho0,
            self.problem.loss,
            self.dynamics.init(rho0.points),
            self.dynamics.init(moving),
            jnp.zeros((), jnp.int32),
            zero,
            key,
        )

    def advance(self, state: State, steps: int) -> tuple[State, dict[str, Any]]:
        """Up to `steps` training steps (at most 64 a call), stopping before a step that cannot be done.

        Gives the state and records of the steps done: `risk` (data term at the start of the step, on its minibatch), `time` s,
        `temperature`, each (steps,), and `finite` (): whether all were. A state that was stopped at may have a risk that is not finite
        itself; `last_good` is the last state here whose risk was looked at and finite (the start of a step), or None if none was.
        Compiled once, whatever `steps`.
        """
        if not 0 <= steps <= CHUNK:
            raise Refused(f"`advance` does at most {CHUNK} training steps a call; found {steps}.")
        state, good, known, done, risk, time, temperature, finite = _advance(self.settled(state), state, jnp.asarray(steps))
        count = int(done)
        records = {"risk": risk[:count], "time": time[:count], "temperature": temperature[:count], "finite": finite}
        return state, {**records, "last_good": good if bool(known) else None}

    def settled(self, state: State) -> "Stepper":
        """The stepper with its field's method decided for this state.

        `advance` decides anew at each call, from where the heads are: a table's plan that still serves compiles nothing.
        """
        return eqx.tree_at(lambda s: s.problem, self, self.problem.settled(state.rho))

    def cut_free(self, state: State) -> bool:
        """Whether the numbers do not depend on how steps are cut into calls of `advance`: not where tables may be planned on the way."""
        return not _may_plan(self.problem, state.rho)

    def at(self, state: State) -> Problem:
        """The problem with the state's readout."""
        return eqx.tree_at(lambda p: p.loss, self.problem, state.loss, is_leaf=lambda leaf: leaf is self.problem.loss)

    def fraction(self, step: Array) -> Array:
        """How much of the training is done, u in [0, 1], before this step."""
        return jnp.minimum(step.astype(self.total.dtype) / self.total, 1.0)


def _may_plan(problem: Problem, rho: Empirical) -> bool:
    """Whether a table may be planned for heads of this shape: not where the method is decided, or the shapes alone decide for the sum."""
    if not undecided(problem.method):
        return False
    heads = rho.points.heads_by_layer if isinstance(rho.points, Layered) else rho.points
    one = jax.tree.map(lambda leaf: leaf[0], heads) if isinstance(rho.points, Layered) else heads
    return has_table(one) and (isinstance(problem.method.core, Tabulated) or problem.prompts.size**2 * one.heads >= SMALL)


@eqx.filter_jit
def _advance(stepper: Stepper, state: State, steps: Array):
    blank = jnp.full((CHUNK,), jnp.nan, state.time.dtype)
    blank_risk = blank.astype(stepper.problem.risk_dtype)
    arrays, static = eqx.partition(state, eqx.is_array)

    def going(carry):
        *_, done, _, _, _, finite = carry
        return (done < steps) & finite

    def body(carry):
        here, good, known, done, risk, time, temperature, _ = carry
        moved, record = step(stepper, eqx.combine(here, static))
        finite, looked_at = record["finite"], jnp.isfinite(record["risk"])
        # A step that cannot be done leaves the state before it.
        after = _where(finite, eqx.filter(moved, eqx.is_array), here)
        good = _where(looked_at, here, good)
        risk = risk.at[done].set(record["risk"])
        time = time.at[done].set(record["time"])
        temperature = temperature.at[done].set(record["temperature"])
        return after, good, known | looked_at, done + finite.astype(done.dtype), risk, time, temperature, finite

    no, yes = jnp.asarray(False), jnp.asarray(True)
    start = (arrays, arrays, no, jnp.zeros((), jnp.int32), blank_risk, blank, blank, yes)
    arrays, good, *rest = jax.lax.while_loop(going, body, start)
    return eqx.combine(arrays, static), eqx.combine(good, static), *rest


def _where(condition: Array, yes: Any, no: Any) -> Any:
    """The one tree or the other; keys of random numbers do not change in a step."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b) if _is_plain(a) else a, yes, no)


def _is_plain(leaf: Any) -> bool:
    return eqx.is_array(leaf) and not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def step(stepper: Stepper, state: State) -> tuple[State, dict[str, Array]]:
    """One training step."""
    here = jax.random.fold_in(state.key, state.step)
    noise, readout_noise = jax.random.split(here)
    problem = stepper.at(state)
    problem = problem if stepper.batch is None else problem.select(minibatch(stepper, state))
    gradient = particle_gradient(problem, state.rho)
    u = stepper.fraction(state.step)
    h = stepper.step_size * stepper.step_decay(u)
    beta = problem.temperature * stepper.annealing(u)
    theta, memory = stepper.dynamics.update(state.rho.points, state.memory, gradient.particles, h, beta, noise)
    loss, readout_memory = move(
        stepper.dynamics, state.loss, state.readout_memory, gradient.loss, stepper.readout_rate * h, readout_noise
    )
    finite = jnp.isfinite(gradient.risk)
    for leaf in jax.tree.leaves((theta, trained_part(loss))):
        finite = finite & jnp.all(jnp.isfinite(leaf))
    moved = State(state.rho.with_points(theta), loss, memory, readout_memory, state.step + 1, state.time + h, state.key)
    return moved, {"risk": gradient.risk, "time": state.time, "temperature": beta, "finite": finite}


def minibatch(stepper: Stepper, state: State) -> Array:
    """The indices of this step's prompts."""
    size, batch = stepper.problem.size, stepper.batch or stepper.problem.size
    per_epoch = size // batch
    epoch, place = state.step // per_epoch, state.step % per_epoch
    shuffle = jax.random.permutation(jax.random.fold_in(jax.random.fold_in(state.key, 2**31 - 1), epoch), size)
    return jax.lax.dynamic_slice_in_dim(shuffle, place * batch, batch)
