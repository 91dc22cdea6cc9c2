"""The public verb: carry a token measure through depth."""

import warnings
from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from mckean._shapes import Array
from mckean.errors import Refused
from mckean.field.concentration import effective_sample_size
from mckean.field.method import Exact
from mckean.field.velocity import check_fit, check_heads
from mckean.measures.empirical import Empirical, unchecked
from mckean.result import Result
from mckean.tokens import grid as grids
from mckean.tokens.flow import Flow
from mckean.tokens.integrate import integrate
from mckean.tokens.schemes import Scheme, find

Save = Literal["all", "last"] | Callable[[Empirical], Any] | Any


class ConcentrationWarning(UserWarning):
    """The attention rests on so few atoms that the cloud no longer stands for a density."""


def transport(
    rho: Empirical,
    mu0: Empirical,
    *,
    horizon: float,
    steps: int,
    scheme: str = "rk4",
    method: Exact | None = None,
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
        save: "all" grid times; "last"; an increasing list of grid times; or a function of the token measure (an `Empirical`), whose values
            are stacked in `.saved` while the tokens are not kept.
        rtol, atol: of the adaptive scheme, on the largest error over tokens and coordinates.

    Gives a `Flow`. A token that leaves the finite numbers ends in `.result` with its depth; nothing is clipped. A `ConcentrationWarning` says
    when the attention's effective sample size is too low for the cloud to stand for a density (below 100 atoms and below half of what
    uniform attention has: on a Gaussian that is |A|S > 1.2). Source: mathematics, section 2; Theorem 4.1.

    >>> import jax.numpy as jnp, mckean as mk
    >>> zero, one = jnp.zeros((1, 1, 1)), jnp.ones((1, 1, 1))
    >>> rho = mk.Empirical(mk.Softmax(zero, zero, one))                     # A = 0, V = 1: dx/dt is the mean, which grows like e^t
    >>> flow = mk.transport(rho, mk.Empirical(jnp.array([[1.0], [3.0]])), horizon=1.0, steps=16)
    >>> round(float(flow.final.mean()[0]), 4)                               # 2e
    5.4366
    """
    check_heads(rho)
    check_fit(rho, mu0)
    table = find(scheme)
    if not np.isfinite(horizon) or horizon <= 0:
        raise Refused(f"`horizon` must be a positive depth T; found {horizon}.")
    if steps < 1:
        raise Refused(f"The number of depth steps must be at least 1; found steps={steps}.")
    method = Exact() if method is None else method
    batched = mu0.batch is not None
    x0, w = (mu0.points, mu0.weights) if batched else (mu0.points[None], mu0.weights[None])
    if table.adaptive:
        grid = _adaptive(rho, x0, w, jnp.asarray(horizon, x0.dtype), steps, method, rtol, atol)
        grid = _trim(grid)
    else:
        grid = grids.fixed(horizon, steps, grids.layer_count(rho), x0.dtype)
    observe = _observer(save, w, batched)
    x, first_bad, seen = _run(rho, x0, w, grid, table, method, observe)
    picked = _picked(save, grid.times)
    points = saved = None
    if callable(save):
        saved = seen
    elif isinstance(save, str) and save == "last":
        points = x[None]
    else:
        points = seen[picked]
    if points is not None:
        points = jnp.moveaxis(points, 0, 1) if batched else points[:, 0]
    final = unchecked(x if batched else x[0], mu0.weights)
    result = _result(int(first_bad), grid, table)
    ess, notes = _concentration(rho, grid, x0, x, w, result)
    for note in notes:
        warnings.warn(note, ConcentrationWarning, stacklevel=2)
    stats = {
        "scheme": table.name,
        "steps": grid.steps,
        "evaluations": grid.steps * table.stages,
        "heads": rho.size,
        "effective_sample_size": ess,
        "warnings": notes,
    }
    return Flow(grid.times[picked], points, mu0.weights, saved, final, stats, result)


@eqx.filter_jit
def _run(rho, x0, w, grid, table: Scheme, method: Exact, observe: Callable[[Array], Any]):
    return integrate(rho, x0, w, grid, table, method, observe)


@eqx.filter_jit
def _adaptive(rho, x0, w, horizon, most: int, method: Exact, rtol: float, atol: float):
    return grids.adaptive(rho, x0, w, horizon, most, method, rtol, atol)


def _trim(grid: grids.Grid) -> grids.Grid:
    """Without the padding steps (outside jit the number of accepted steps is known)."""
    live = max(1, int(np.sum(np.diff(np.asarray(grid.times)) > 0)))
    return grids.Grid(grid.times[: live + 1], grid.layer[:live], grid.overrun)


def _nothing(x: Array) -> None:
    return None


def _everything(x: Array) -> Array:
    return x


class _Observe(eqx.Module):
    """A function of the token measure; the same function compiles once."""

    function: Callable[[Empirical], Any]
    weights: Array
    batched: bool = eqx.field(static=True)

    def __call__(self, x: Array) -> Any:
        return self.function(unchecked(x, self.weights) if self.batched else unchecked(x[0], self.weights[0]))


def _observer(save: Save, w: Array, batched: bool) -> Callable[[Array], Any]:
    if callable(save):
        return _Observe(save, w, batched)
    if isinstance(save, str):
        if save not in ("all", "last"):
            raise Refused(f"`save` must be 'all', 'last', a list of times or a function of the measure; found {save!r}.")
        return _everything if save == "all" else _nothing
    return _everything


def _picked(save: Save, times: Array) -> Any:
    if callable(save):
        return slice(None)
    if isinstance(save, str):
        return slice(None) if save == "all" else slice(-1, None)
    wanted, grid = np.atleast_1d(np.asarray(save, dtype=float)), np.asarray(times, dtype=float)
    nearest = np.abs(grid[None, :] - wanted[:, None]).argmin(axis=1)
    off = np.abs(grid[nearest] - wanted) > 1e-6 * max(grid[-1], 1e-300)
    if off.any():
        raise Refused(
            f"Times to save must be times of the depth grid; found t = {wanted[off][0]:g}, nearest {grid[nearest][off][0]:g}. "
            "Choose `steps` so that they are, or save='all'."
        )
    return nearest


def _result(first_bad: int, grid: grids.Grid, table: Scheme) -> Result:
    if first_bad <= grid.steps:
        return Result(
            "nonfinite_tokens",
            {"t": float(grid.times[first_bad]), "depth step": first_bad},
            "Shorten `horizon`, bound the heads (mk.Bounded), or raise `steps` if the scheme rather than the flow is unstable.",
        )
    if table.adaptive and bool(grid.overrun):
        return Result(
            "depth_step_limit",
            {"t": float(grid.times[-1]), "depth step": grid.steps},
            "Raise `steps` or loosen `rtol`; a flow that blows up needs ever smaller steps.",
        )
    return Result()


def _concentration(rho, grid, x0, x, w, result) -> tuple[dict[str, float] | None, tuple[str, ...]]:
    ends = [(x0, 0)] + ([(x, grid.steps - 1)] if result.ok else [])
    measured = []
    for points, index in ends:
        here = grids.at_layer(rho, int(grid.layer[index]))
        ess = _ess(here.points, points, w)
        if ess is None:
            return None, ()
        measured.append(np.asarray(ess))
    values = np.concatenate([m[np.isfinite(m)] for m in measured])
    uniform = float(np.min(1 / np.sum(np.asarray(w) ** 2, axis=-1)))
    last = measured[-1][np.isfinite(measured[-1])]
    if not len(last) or not len(values):
        return None, ()  # no sampled query has both weight and a finite attention
    ess = {"median": float(np.median(last)), "least": float(values.min()), "uniform": uniform}
    # 100 atoms average with an error of a tenth of their spread; few atoms that share the mass evenly are no concern.
    limit = min(100.0, uniform / 2)
    if ess["median"] >= limit:
        return ess, ()
    return ess, (
        f"At t = {float(grid.times[-1]) if result.ok else 0.0:g} the attention averages over {ess['median']:.3g} atoms (median effective "
        f"sample size; uniform attention has {uniform:.3g}): the cloud no longer stands for a density. Take more tokens, or smaller |A| or T.",
    )


@eqx.filter_jit
def _ess(heads, points, w):
    return effective_sample_size(heads, points, w)
