"""The grid of depth: times t_0 = 0 < … < t_L = T and the layer of ρ that each step lies in."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer

from mckean._arguments import count
from mckean._shapes import Array, Times
from mckean.errors import Refused
from mckean.field.dispatch import field
from mckean.field.method import Method
from mckean.heads.layered import Layered
from mckean.measures.empirical import Empirical, unchecked


class Grid(eqx.Module):
    """Times (L+1,) and the layer index (L,) of each step. Steps of length 0 at the end do nothing: they pad an adaptive grid."""

    times: Times
    layer: Array
    overrun: Array

    @property
    def steps(self) -> int:
        """L, the number of depth steps."""
        return self.layer.shape[0]


def fixed(horizon: Any, steps: int, layers: int, dtype: Any) -> Grid:
    """L equal steps; the number of layers must divide L."""
    steps = count(steps, "steps", "depth steps")
    if steps % layers:
        raise Refused(
            f"The number of layers must divide the number of depth steps; found {layers} layers and {steps} steps. "
            f"Use steps={layers * -(-steps // layers)}."
        )
    fractions = jnp.arange(steps + 1, dtype=dtype) / steps
    times = jnp.asarray(horizon, dtype) * fractions
    return Grid(times, jnp.arange(steps) // (steps // layers), jnp.zeros((), bool))


def adaptive(rho: Empirical, x0: Array, w: Array, horizon: Any, most: int, method: Method, rtol: float, atol: float) -> Grid:
    """The accepted steps of Tsit5 (diffrax, PI control) for a batch of clouds, padded to `most` with steps of length 0.

    One sequence of steps serves the whole batch; the error is the largest over prompts, tokens of positive weight and coordinates, so
    that it depends neither on N nor on padding. Boundaries between layers are step ends. If `most` steps do not reach T, `overrun` is set
    and the grid ends at the depth reached.
    """
    layered = isinstance(rho.points, Layered)
    layers = rho.points.layers if layered else 1
    end = jnp.asarray(horizon, x0.dtype)
    boundaries = end * jnp.arange(1, layers, dtype=x0.dtype) / layers

    def velocity(t: Any, x: Any, args: Any) -> Any:
        index = jnp.clip(jnp.floor(t / end * layers).astype(int), 0, layers - 1)
        part = at_layer(rho, index)
        return field(part.points, part.weights, x, w, method)

    def norm(error: Array) -> Array:
        return jnp.max(jnp.where(w[..., None] > 0, jnp.abs(error), 0))

    control: Any = diffrax.PIDController(rtol=rtol, atol=atol, norm=norm, pcoeff=0.3, icoeff=0.4)
    if layers > 1:
        control = diffrax.ClipStepSizeController(control, jump_ts=boundaries)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(velocity), diffrax.Tsit5(), t0=jnp.zeros_like(end), t1=end, dt0=None, y0=x0,
        saveat=diffrax.SaveAt(t0=True, steps=True, fn=lambda t, y, args: None),
        stepsize_controller=control, max_steps=most, throw=False, adjoint=diffrax.RecursiveCheckpointAdjoint(),
    )  # fmt: skip
    overrun = solution.result != diffrax.RESULTS.successful
    reached = solution.ts
    assert reached is not None
    accepted = jnp.isfinite(reached)
    last = jnp.where(overrun, jnp.max(jnp.where(accepted, reached, 0)), end)
    times = jnp.where(accepted, jnp.minimum(reached, end), last)
    middle = 0.5 * (times[1:] + times[:-1])
    layer = jnp.clip(jnp.floor(middle / end * layers).astype(int), 0, layers - 1)
    return Grid(times, layer, overrun)


def frozen(rho: Empirical, x0: Array, w: Array, horizon: Array, most: int, method: Method, rtol: float, atol: float) -> Grid:
    """The accepted steps of `adaptive` as fixed fractions of T: derivatives pass through T, not through the choice of steps."""
    rho, x0, w, end = jax.tree.map(
        lambda leaf: jax.lax.stop_gradient(leaf) if eqx.is_array(leaf) else leaf, (rho, x0, w, horizon)
    )
    grid = _compiled(rho, x0, w, end, most, method, rtol, atol)
    if not isinstance(horizon, Tracer):
        return grid
    return Grid(horizon * (grid.times / end), grid.layer, grid.overrun)


@eqx.filter_jit
def _compiled(rho, x0, w, horizon, most: int, method: Method, rtol: float, atol: float) -> Grid:
    return adaptive(rho, x0, w, horizon, most, method, rtol, atol)


def at_layer(rho: Empirical, index: Any) -> Empirical:
    """The head measure of one layer (ρ itself where depth is tied)."""
    if not isinstance(rho.points, Layered):
        return rho
    return unchecked(rho.points.layer(index), rho.weights[index])


def layer_count(rho: Empirical) -> int:
    """How many layers ρ has: 1 where depth is tied."""
    return rho.points.layers if isinstance(rho.points, Layered) else 1
