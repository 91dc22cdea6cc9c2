"""The exact solution for Gaussian tokens and softmax heads."""

from typing import Any

import diffrax
import equinox as eqx
import jax.numpy as jnp
import numpy as np

from mckean._arguments import as_float, count, positive
from mckean._shapes import Array
from mckean.errors import Refused
from mckean.field.velocity import check_heads
from mckean.heads.base import Head
from mckean.heads.bounded import Bounded
from mckean.heads.softmax import Softmax
from mckean.measures.empirical import Empirical
from mckean.result import Result

GREW = 1e3
"""A solve that stops early has met the blow-up if the covariance grew by this factor, and has run out of steps if not."""


class Gaussian(eqx.Module):
    """The Gaussian measure N(mean, covariance): (d,) and (d, d)."""

    mean: Array
    covariance: Array


class GaussianFlow(eqx.Module):
    """The Gaussian solution: `.times` (m,), `.mean` (m, d), `.covariance` (m, d, d), `.final`, `.result`.

    Past a blow-up the entries are inf, and `.result` says at which depth the covariance left the finite numbers.
    """

    times: Array
    mean: Array
    covariance: Array
    final: Gaussian
    result: Result = eqx.field(static=True)

    def __repr__(self) -> str:
        return self.card()

    def card(self) -> str:
        """The solution on a few lines: sizes, depth, the largest variance at the start and at the end, how it ended."""
        first, last = (np.asarray(s) for s in (self.covariance[0], self.final.covariance))
        largest = [f"{np.linalg.eigvalsh(s).max():.6g}" if np.all(np.isfinite(s)) else "inf" for s in (first, last)]
        return "\n".join(
            [
                f"GaussianFlow: N(m, S) in R^{self.mean.shape[-1]}, saved at {len(self.times)} depths from {float(self.times[0]):g} to "
                f"{float(self.times[-1]):g}, {self.mean.dtype.name}",
                f"  largest variance {largest[0]} at t = {float(self.times[0]):g}, {largest[1]} at the end",
                f"  result: {self.result.message}",
            ]
        )


def gaussian_transport(
    rho: Empirical,
    mean: Any,
    covariance: Any,
    *,
    horizon: float,
    times: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    steps: int = 100_000,
) -> GaussianFlow:
    r"""μ_t = N(m_t, S_t) for softmax heads: $\dot m = \int V(m + S A^T m)\,d\rho$, $\dot S = MS + SM^T$ with $M = \int V S A^T d\rho$.

    Arguments: tied head measure of softmax heads (also bounded ones); mean (d,), covariance (d, d); saved `times` (by default 0 and T).
    `rtol`, `atol`: of the adaptive scheme; by default 1e-12 and 1e-14, or 50 units of rounding where the dtype is coarser. `steps` is the
    largest number of adaptive depth steps. Exact in the limit N → ∞ until the blow-up. Raises `Refused` for heads that are not softmax
    attention throughout: a perceptron, alone or in a block, does not keep a Gaussian Gaussian. Source: mathematics, section 6, solution 1.

    >>> import jax.numpy as jnp, mckean as mk
    >>> one = jnp.ones((1, 1, 1))
    >>> rho = mk.Empirical(mk.Softmax(one, one, -one))                      # V = -1, A = 1: variance σ/(1 + 2σt)
    >>> end = mk.gaussian_transport(rho, [0.0], [[1.0]], horizon=1.0, rtol=1e-6, atol=1e-6).final
    >>> round(float(end.covariance[0, 0]), 4)
    0.3333
    """
    heads = _attention(check_heads(rho))
    a, v = heads.bilinear, heads.value
    m0 = as_float(mean, "The mean's coordinates").astype(a.dtype)
    s0 = as_float(covariance, "The covariance's entries").astype(a.dtype)
    if m0.shape != (a.shape[-1],) or s0.shape != a.shape[1:]:
        raise Refused(
            f"Heads of R^{a.shape[-1]} need mean ({a.shape[-1]},) and a square covariance; found {m0.shape}, {s0.shape}."
        )
    _check_law(np.asarray(m0, np.float64), np.asarray(s0, np.float64), float(jnp.finfo(a.dtype).eps))
    horizon, steps = positive(horizon, "horizon", "a positive depth T"), count(steps, "steps", "adaptive depth steps")
    wanted = _depths(times, horizon).astype(a.dtype)
    rtol = max(1e-12, 50 * float(jnp.finfo(a.dtype).eps)) if rtol is None else rtol
    atol = rtol / 100 if atol is None else atol
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(_rhs), diffrax.Dopri8(), t0=jnp.zeros((), a.dtype), t1=jnp.asarray(horizon, a.dtype), dt0=None, y0=(m0, s0),
        args=(rho.weights, v, a), saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=wanted), diffrax.SubSaveAt(t1=True)]),
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol), max_steps=steps, throw=False,
    )  # fmt: skip
    assert solution.ts is not None
    assert solution.ys is not None
    (_, last), ((ms, ss), (m1, s1)) = solution.ts, solution.ys
    reached_end = bool(solution.result == diffrax.RESULTS.successful)
    result = _result(reached_end, float(last[0]), np.asarray(s0), np.asarray(s1[0]), steps)
    return GaussianFlow(wanted, ms, ss, Gaussian(m1[0], s1[0]), result)


def _check_law(mean: np.ndarray, covariance: np.ndarray, eps: float) -> None:
    if not np.all(np.isfinite(mean)):
        raise Refused(f"The mean must be finite; found {mean}.")
    if not np.all(np.isfinite(covariance)):
        raise Refused("The covariance must be finite; found an entry that is not.")
    size = np.abs(covariance).max()
    skew = np.abs(covariance - covariance.T).max()
    if skew > 1e3 * eps * size:
        raise Refused(
            f"A covariance must be symmetric; found entries that differ by {skew:.3g}. Pass 0.5 * (S + S.T) if that is meant."
        )
    least = np.linalg.eigvalsh(covariance).min()
    if least < -1e3 * eps * size:
        raise Refused(
            f"A covariance must be positive semi-definite; found the eigenvalue {least:.3g}. Check the signs of its entries."
        )


def _depths(times: Any, horizon: float) -> Array:
    given = as_float([0.0, horizon] if times is None else times, "Saved times")
    known = np.asarray(given, np.float64)
    if known.ndim != 1 or not known.size:
        raise Refused(f"`times` must be a list of depths to save, of shape (m,); found shape {known.shape}.")
    outside = known[~((known >= 0) & (known <= horizon))]
    if outside.size:
        raise Refused(f"`times` must lie between 0 and `horizon`, {horizon:g}; found {outside[0]:g}.")
    if np.any(np.diff(known) <= 0):
        at = int(np.argmax(np.diff(known) <= 0))
        raise Refused(f"`times` must increase; found {known[at + 1]:g} after {known[at]:g}. Pass np.unique(times).")
    return given


def _rhs(t: Any, y: tuple[Array, Array], args: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    (m, s), (w, v, a) = y, args
    vs = jnp.einsum("h,hab,bc,hdc->ad", w, v, s, a)
    return vs @ m + jnp.einsum("h,hab,b->a", w, v, m), vs @ s + s @ vs.T


def _attention(heads: Head) -> Softmax:
    inner = heads.bounded if isinstance(heads, Bounded) else heads
    if type(inner) is not Softmax or inner.query.ndim != 3:
        found = type(heads).__name__ + (f" of {type(inner).__name__}" if inner is not heads else "")
        raise Refused(f"The Gaussian solution needs tied softmax heads alone; found {found}. Use mk.transport for other heads.")
    return inner


def _result(reached_end: bool, t: float, before: np.ndarray, after: np.ndarray, steps: int) -> Result:
    place = {"t": t} if np.isfinite(t) else {}
    if not np.all(np.isfinite(after)) or (not reached_end and np.abs(after).max() > GREW * np.abs(before).max() > 0):
        return Result("blow_up", place, "Shorten `horizon`: the Gaussian solution ends there.")
    if not reached_end:
        return Result("depth_step_limit", place, f"Raise `steps` (found {steps}) or loosen `rtol` and `atol`.")
    return Result()
