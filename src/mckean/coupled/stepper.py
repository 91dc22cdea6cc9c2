"""One chunk of training: jitted steps between which the host looks, saves and stops."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from mckean._shapes import Array, Key
from mckean.adjoint.particles import ParticleGradient, particle_gradient
from mckean.errors import Refused
from mckean.measures.empirical import Empirical
from mckean.objective.problem import Problem
from mckean.objective.readout import Readout
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
        if not (step_size > 0 and np.isfinite(step_size)):
            raise Refused(f"`step_size` must be positive and finite; found {step_size}.")
        if total < 0:
            raise Refused(f"The number of training steps must not be negative; found {total}.")
        if batch is not None and not 1 <= batch <= problem.size:
            raise Refused(f"`batch` must lie between 1 and the {problem.size} prompts; found {batch}.")
        dynamics.check(float(problem.temperature))
        dtype = problem.prompts.points.dtype
        self.problem, self.dynamics, self.batch = problem, dynamics, batch
        # Arrays, not constants of the compiled step: another step size compiles nothing.
        self.step_size, self.readout_rate = jnp.asarray(step_size, dtype), jnp.asarray(readout_rate, dtype)
        self.total = jnp.asarray(max(total, 1), dtype)
        self.step_decay, self.annealing = step_decay or constant(), annealing or constant()

    def init(self, rho0: Empirical, key: Key) -> State:
        """The state at s = 0."""
        self.problem.check(rho0)
        moving = trained_part(self.problem.loss)
        zero = jnp.zeros((), self.problem.prompts.points.dtype)
        return State(
            rho0, self.problem.loss, self.dynamics.init(rho0.points), self.dynamics.init(moving), jnp.zeros((), jnp.int32), zero, key
        )

    def advance(self, state: State, steps: int) -> tuple[State, dict[str, Array]]:
        """Up to `steps` training steps (at most 64 a call), stopping before a step whose gradient is not finite.

        Gives the state and records of the steps done: `risk` (data term at the start of the step, on its minibatch), `time` s,
        `temperature`, each (steps,), and `finite` (): whether all were. Compiled once, whatever `steps`.
        """
        if not 0 <= steps <= CHUNK:
            raise Refused(f"`advance` does at most {CHUNK} training steps a call; found {steps}.")
        state, done, risk, time, temperature, finite = _advance(self, state, jnp.asarray(steps))
        count = int(done)
        records = {"risk": risk[:count], "time": time[:count], "temperature": temperature[:count], "finite": finite}
        return state, records

    def at(self, state: State) -> Problem:
        """The problem with the state's readout."""
        return eqx.tree_at(lambda p: p.loss, self.problem, state.loss, is_leaf=lambda leaf: leaf is self.problem.loss)

    def fraction(self, step: Array) -> Array:
        """How much of the training is done, u in [0, 1], before this step."""
        return jnp.minimum(step.astype(self.total.dtype) / self.total, 1.0)


def trained_part(loss: Any) -> Any:
    """The arrays of a loss that training moves: those of its trained readouts; None elsewhere."""
    is_readout = lambda leaf: isinstance(leaf, Readout)  # noqa: E731

    def pick(leaf: Any) -> Any:
        if is_readout(leaf) and leaf.trained:
            return eqx.filter(leaf, eqx.is_inexact_array)
        return None

    return jax.tree.map(pick, loss, is_leaf=is_readout)


def with_trained(loss: Any, moved: Any) -> Any:
    """The loss with its trained arrays replaced."""
    is_readout = lambda leaf: isinstance(leaf, Readout)  # noqa: E731
    return jax.tree.map(
        lambda leaf, new: eqx.combine(new, leaf) if is_readout(leaf) and leaf.trained else leaf,
        loss,
        moved,
        is_leaf=is_readout,
    )


@eqx.filter_jit
def _advance(stepper: Stepper, state: State, steps: Array):
    dtype = state.time.dtype
    blank = jnp.full((CHUNK,), jnp.nan, dtype)

    def going(carry):
        _, done, *_, finite = carry
        return (done < steps) & finite

    def body(carry):
        state, done, risk, time, temperature, _ = carry
        moved, record = step(stepper, state)
        finite = record["finite"]
        # A step that cannot be done leaves the state before it.
        state = jax.tree.map(lambda new, old: jnp.where(finite, new, old) if _is_plain(new) else new, moved, state)
        risk = risk.at[done].set(record["risk"])
        time = time.at[done].set(record["time"])
        temperature = temperature.at[done].set(record["temperature"])
        return state, done + finite.astype(done.dtype), risk, time, temperature, finite

    arrays, static = eqx.partition(state, eqx.is_array)

    def body_arrays(carry):
        out = body((eqx.combine(carry[0], static), *carry[1:]))
        return (eqx.filter(out[0], eqx.is_array), *out[1:])

    start = (arrays, jnp.zeros((), jnp.int32), blank, blank, blank, jnp.asarray(True))
    arrays, done, risk, time, temperature, finite = jax.lax.while_loop(going, body_arrays, start)
    return eqx.combine(arrays, static), done, risk, time, temperature, finite


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
    loss, readout_memory = _move_readout(stepper, state, gradient, h, readout_noise)
    finite = jnp.isfinite(gradient.risk)
    for leaf in jax.tree.leaves((theta, trained_part(loss))):
        finite = finite & jnp.all(jnp.isfinite(leaf))
    moved = State(
        state.rho.with_points(theta), loss, memory, readout_memory, state.step + 1, state.time + h, state.key
    )
    return moved, {"risk": gradient.risk, "time": state.time, "temperature": beta, "finite": finite}


def minibatch(stepper: Stepper, state: State) -> Array:
    """The indices of this step's prompts."""
    size, batch = stepper.problem.size, stepper.batch or stepper.problem.size
    per_epoch = size // batch
    epoch, place = state.step // per_epoch, state.step % per_epoch
    shuffle = jax.random.permutation(jax.random.fold_in(jax.random.fold_in(state.key, 2**31 - 1), epoch), size)
    return jax.lax.dynamic_slice_in_dim(shuffle, place * batch, batch)


def _move_readout(stepper: Stepper, state: State, gradient: ParticleGradient, h: Array, key: Key) -> tuple[Any, Any]:
    moving = trained_part(state.loss)
    if not jax.tree.leaves(moving):
        return state.loss, state.readout_memory
    is_readout = lambda leaf: isinstance(leaf, Readout)  # noqa: E731
    drift = jax.tree.map(
        lambda readout, slope: eqx.tree_at(lambda s: s.matrix, slope, slope.matrix + readout.ridge * readout.matrix)
        if is_readout(readout) and readout.trained
        else None,
        state.loss,
        gradient.loss,
        is_leaf=is_readout,
    )
    cold = jnp.zeros((), h.dtype)
    moved, memory = stepper.dynamics.update(moving, state.readout_memory, drift, stepper.readout_rate * h, cold, key)
    return with_trained(state.loss, moved), memory
