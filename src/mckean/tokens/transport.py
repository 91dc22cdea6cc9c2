"""The public verb: carry a token measure through depth."""

import warnings
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
from mckean.field.method import Method
from mckean.field.sharding import looked_at, place_clouds, place_heads
from mckean.field.tabulated.guarded import Note
from mckean.field.velocity import check_fit, check_heads, check_method
from mckean.heads.base import Head
from mckean.measures.empirical import Empirical, unchecked
from mckean.tokens import grid as grids
from mckean.tokens.flow import Flow
from mckean.tokens.integrate import integrate_noted
from mckean.tokens.planning import settle_flow
from mckean.tokens.prompts import chunk_size, over_prompts
from mckean.tokens.saving import Observe, Save, nothing, observer, picked
from mckean.tokens.schemes import Scheme, find
from mckean.tokens.verdict import TRACED, account, concentration, verdict


class ConcentrationWarning(UserWarning):
    """The attention rests on so few atoms that the cloud no longer stands for a density."""


def transport(
    rho: Empirical,
    mu0: Empirical,
    *,
    horizon: float | Array,
    steps: int,
    scheme: str = "rk4",
    method: Method | None = None,
    save: Save = "all",
    rtol: float = 1e-8,
    atol: float = 1e-10,
) -> Flow:
    r"""Solve $\partial_t\mu + \nabla\cdot(\mu V_{\rho,\mu}) = 0$ from μ_0 to depth T: dX_i/dt = V_{ρ,μ_t}(X_i), exactly a weak solution.

    Arguments:
        rho: head measure; tied, or layered (`Layered`).
        mu0: tokens (N, d), or a batch of prompts (n, N, d).
        horizon: T > 0.  steps: L, the number of depth steps; for "tsit5" the largest number allowed.
        scheme: "euler", "heun", "rk4" (fixed steps) or "tsit5" (adaptive, one sequence of steps for a batch).
        method: how the field is evaluated, see `velocity`; None chooses. `.stats['field']` says what was taken and the bound of its error.
        save: "all" grid times; "last"; an increasing list of grid times; or a function of the token measure (an `Empirical`), whose values
            are stacked in `.saved` while the tokens are not kept.
        rtol, atol: of the adaptive scheme, on the largest error over tokens and coordinates.

    Gives a `Flow`. A token that leaves the finite numbers ends in `.result` with its depth; nothing is clipped. A `ConcentrationWarning` says
    when the attention's effective sample size is too low for the cloud to stand for a density (below 100 atoms and below half of what
    uniform attention has: on a Gaussian that is |A|S > 1.2).

    Inside jax.jit, grad and vmap the flow is differentiable in ρ (points and weights), tokens, weights and horizon; the adaptive scheme's
    steps are frozen, and reverse mode computes each depth step again. There `.result` is "traced" (not `.ok`), nothing warns, no
    effective sample size is measured, and "tsit5" keeps its unused steps, of length 0, and gives NaN where it does not reach T.
    Source: mathematics, section 2; Theorem 4.1.

    >>> import jax.numpy as jnp, mckean as mk
    >>> zero, one = jnp.zeros((1, 1, 1)), jnp.ones((1, 1, 1))
    >>> rho = mk.Empirical(mk.Softmax(zero, zero, one))                     # A = 0, V = 1: dx/dt is the mean, which grows like e^t
    >>> flow = mk.transport(rho, mk.Empirical(jnp.array([[1.0], [3.0]])), horizon=1.0, steps=16)
    >>> round(float(flow.final.mean()[0]), 4)                               # 2e
    5.4366
    """
    if isinstance(getattr(mu0, "points", None), Head) and not isinstance(getattr(rho, "points", None), Head):
        raise Refused(
            "`transport` takes the head measure first and the tokens second; found them the other way round (swapped?)."
        )
    check_heads(rho)
    check_fit(rho, mu0)
    table = find(scheme)
    horizon = positive(horizon, "horizon", "a positive depth T")
    steps = count(steps, "steps", "depth steps")
    method = check_method(method)
    batched = mu0.batch is not None
    x0, w = (mu0.points, mu0.weights) if batched else (mu0.points[None], mu0.weights[None])
    choice = settle_flow(method, rho, x0, w, jnp.asarray(horizon, x0.dtype))
    method = choice.method
    (x0, w), rho = place_clouds(method, x0, w), place_heads(method, rho)
    if table.adaptive:
        grid = grids.frozen(rho, x0, w, jnp.asarray(horizon, x0.dtype), steps, method, rtol, atol)
    else:
        grid = grids.fixed(horizon, steps, grids.layer_count(rho), x0.dtype)
    traced = _traced((rho, mu0, horizon, grid))
    if table.adaptive and not traced:
        grid = _trim(grid)
    kept = picked(save, _known_times(grid, horizon, table))
    chunk = chunk_size(method, *w.shape)
    x, first_bad, seen, notes = _run(rho, x0, w, grid, table, method, observer(save, w, batched), chunk, traced)
    if table.adaptive and traced:
        x, seen = jax.tree.map(
            lambda leaf: jnp.where(grid.overrun, jnp.nan, leaf) if eqx.is_inexact_array(leaf) else leaf, (x, seen)
        )
    points = saved = None
    if callable(save):
        saved = seen
    else:
        points = x[:, None] if isinstance(save, str) and save == "last" else seen[:, kept]
        points = points if batched else points[0]
    final = unchecked(x if batched else x[0], mu0.weights)
    result, ess, said = TRACED, None, ()
    if not traced:
        result = verdict(int(first_bad), grid, table)
        ess, said = concentration(rho, grid, x0, x, w, result)
    for note in said:
        warnings.warn(note, ConcentrationWarning, stacklevel=2)
    stats = {
        "scheme": table.name,
        "steps": grid.steps,
        "evaluations": grid.steps * table.stages,
        "heads": rho.size,
        "field": None if traced else account(choice, notes),
        "effective_sample_size": ess,
        "warnings": said,
    }
    return Flow(grid.times[kept], points, mu0.weights, saved, final, stats, result)


@eqx.filter_jit
def _run(
    rho, x0, w, grid, table: Scheme, method: Method, observe: Callable[[Array], Any], chunk: int, checkpoint: bool
) -> tuple[Array, Array, Any, Note]:
    """The final clouds, the first bad depth step, what was observed (tokens (n, L+1, N, d), or what a function gave (L+1, ...)), notes."""
    if isinstance(observe, Observe):
        # A function of the whole batch: it cannot be cut.
        return integrate_noted(rho, x0, w, grid, table, method, observe, checkpoint)

    def body(x0: Array, w: Array):
        x, first_bad, seen, notes = integrate_noted(rho, x0, w, grid, table, method, observe, checkpoint)
        seen = None if observe is nothing else jnp.moveaxis(seen, 0, 1)
        return (), (x, jnp.broadcast_to(first_bad, x.shape[:1]), seen, jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 2, 0), notes))

    _, (x, first_bad, seen, notes) = over_prompts(body, (x0, w), chunk, method)
    return x, jnp.min(first_bad), seen, notes


def _trim(grid: grids.Grid) -> grids.Grid:
    """Without the padding steps (outside jit the number of accepted steps is known)."""
    live = max(1, int(np.sum(np.diff(looked_at(grid.times)) > 0)))
    return grids.Grid(grid.times[: live + 1], grid.layer[:live], grid.overrun)


def _traced(tree: Any) -> bool:
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))


def _known_times(grid: grids.Grid, horizon: Any, table: Scheme) -> np.ndarray | None:
    if not isinstance(grid.times, Tracer):
        return looked_at(grid.times).astype(float)
    if table.adaptive or isinstance(horizon, Tracer):
        return None
    return float(horizon) * np.arange(grid.steps + 1) / grid.steps
