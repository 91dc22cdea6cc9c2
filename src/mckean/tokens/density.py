"""The density along the tokens: d/dt log μ_t(X_t) = −∇·V, carried by the scheme and the stages that carry the tokens."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from mckean._arguments import count, positive
from mckean._shapes import Array
from mckean.errors import Refused
from mckean.field.exact import field
from mckean.field.method import Exact, Method
from mckean.field.velocity import check_fit, check_heads
from mckean.measures.empirical import Empirical, unchecked
from mckean.result import Result
from mckean.tokens import grid as grids
from mckean.tokens.integrate import step
from mckean.tokens.schemes import Scheme, find
from mckean.tokens.verdict import TRACED, verdict


class DensityFlow(eqx.Module):
    """Tokens and the logarithm of the density there, through depth.

    Attributes: `times` (L+1,), `points` (L+1, N, d), `log_density` (L+1, N), `weights` (N,) (a batch has its axis n first, times apart),
    `final` the terminal measure, `result` how the solve ended. Source: mathematics, section 2.
    """

    times: Array
    points: Array
    log_density: Array
    weights: Array
    final: Empirical
    result: Result = eqx.field(static=True)


def density_along(
    rho: Empirical,
    mu0: Empirical,
    log_density: Callable[[Any], Any] | Any,
    *,
    horizon: float | Array,
    steps: int,
    scheme: str = "rk4",
    method: Method | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
) -> DensityFlow:
    r"""Carry tokens and the density at them: $\frac{d}{dt}\log\mu_t(X_t) = -\nabla\cdot V_{\rho,\mu_t}(X_t)$.

    Arguments:
        rho, mu0, horizon, steps, scheme, rtol, atol: as of `transport`, which moves the tokens alike (to rounding).
        log_density: of μ_0 (normalised), as a function of a token (d,) or as an array (N,), for a batch (n, N).
        method: `mk.Exact(...)` or None. The divergence comes of d reverse passes over the field at its tokens with μ held, in any head
            kind and in tiles.

    `mu0` stands for the density through its weights, as a rule of `mk.quadrature` does; i.i.d. atoms do as well, with their own error in V.
    Atoms of weight 0 are moved and carry the density too: that gives it where no node is. The adaptive scheme controls the error of the
    tokens, not of the density. Raises `Refused` as `transport` does, for any other method and for a log-density of another shape.
    Source: mathematics, section 2.

    >>> import jax.numpy as jnp, mckean as mk
    >>> zero, one = jnp.zeros((1, 1, 1)), jnp.ones((1, 1, 1))
    >>> rho = mk.Empirical(mk.Softmax(zero, zero, one))                     # A = 0: every token moves by the mean, ∇·V = 0
    >>> mu = mk.quadrature.tensor(0.0, 2.0, 4).measure()
    >>> flow = mk.density_along(rho, mu, lambda x: jnp.log(0.5), horizon=1.0, steps=4)
    >>> bool(jnp.allclose(flow.log_density, jnp.log(0.5)))
    True
    """
    check_heads(rho)
    check_fit(rho, mu0)
    table = find(scheme)
    horizon = positive(horizon, "horizon", "a positive depth T")
    steps = count(steps, "steps", "depth steps")
    method = Exact() if method is None else method
    if not isinstance(method, Exact):
        raise Refused(f"The density needs the exact divergence: `method` must be mk.Exact(...) or None; found {method!r}.")
    batched = mu0.batch is not None
    x0, w = (mu0.points, mu0.weights) if batched else (mu0.points[None], mu0.weights[None])
    start = _start(log_density, x0, mu0.weights.shape)
    if table.adaptive:
        grid = grids.frozen(rho, x0, w, jnp.asarray(horizon, x0.dtype), steps, method, rtol, atol)
    else:
        grid = grids.fixed(horizon, steps, grids.layer_count(rho), x0.dtype)
    states = _run(rho, jnp.concatenate([x0, start.reshape(*w.shape, 1)], axis=-1), w, grid, table, method)
    states = jnp.moveaxis(states, 0, 1)
    states = states if batched else states[0]
    points, logs = states[..., :-1], states[..., -1]
    result = TRACED
    if not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((states, grid))):
        finite = np.isfinite(np.asarray(states)) | ~(np.asarray(mu0.weights) > 0)[..., None, :, None]
        bad = ~finite.all(axis=tuple(axis for axis in range(states.ndim) if axis != states.ndim - 3))
        result = verdict(int(np.argmax(bad)) if bad.any() else grid.steps + 1, grid, table)
    return DensityFlow(grid.times, points, logs, mu0.weights, unchecked(points[..., -1, :, :], mu0.weights), result)


def divergence(rho: Empirical, x: Array, w: Array, method: Exact) -> tuple[Array, Array]:
    """V (n, N, d) and ∇·V (n, N) at the clouds' own points, the measure held: ∂_a V_a at every token is one reverse pass of Σ_i V_a(x_i)."""

    def at(queries: Array) -> Array:
        return field(rho.points, rho.weights, x, w, method, queries)

    v, pull = jax.vjp(at, x)
    total = jnp.zeros_like(w)
    for a in range(x.shape[-1]):
        total = total + pull(jnp.zeros_like(v).at[..., a].set(1))[0][..., a]
    return v, total


@eqx.filter_jit
def _run(rho: Empirical, z0: Array, w: Array, grid: grids.Grid, table: Scheme, method: Exact) -> Array:
    """The states (L+1, n, N, d+1): tokens, and the log-density as one more coordinate, which no velocity looks at."""

    def advance(z: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        start, end, layer = inputs
        here = grids.at_layer(rho, layer)

        def velocity(y: Array) -> Array:
            v, div = divergence(here, y[..., :-1], w, method)
            return jnp.concatenate([v, -div[..., None]], axis=-1)

        z = step(velocity, z, end - start, table)
        return z, z

    _, seen = jax.lax.scan(advance, z0, (grid.times[:-1], grid.times[1:], grid.layer))
    return jnp.concatenate([z0[None], seen])


def _start(log_density: Any, x0: Array, shape: tuple[int, ...]) -> Array:
    values: Array
    if callable(log_density):
        each: Any = jax.vmap(jax.vmap(log_density))(x0)
        values = each if len(shape) == 2 else each[0]
    else:
        values = jnp.asarray(log_density)
    if values.shape != shape:
        raise Refused(f"`log_density` gives one number a token, {shape} in all; found shape {values.shape}.")
    return values.astype(x0.dtype)
