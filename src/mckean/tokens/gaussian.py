"""The exact solution for Gaussian tokens and softmax heads."""

from typing import Any

import diffrax
import equinox as eqx
import jax.numpy as jnp
import numpy as np

from mckean._shapes import Array
from mckean.errors import Refused
from mckean.field.concentration import softmax_part
from mckean.field.velocity import check_heads
from mckean.measures.empirical import Empirical
from mckean.result import Result


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


def gaussian_transport(
    rho: Empirical,
    mean: Any,
    covariance: Any,
    *,
    horizon: float,
    times: Any = None,
    rtol: float = 1e-12,
    atol: float = 1e-14,
    steps: int = 100_000,
) -> GaussianFlow:
    r"""μ_t = N(m_t, S_t) for softmax heads: $\dot m = \int V(m + S A^T m)\,d\rho$, $\dot S = MS + SM^T$ with $M = \int V S A^T d\rho$.

    Arguments: tied head measure of softmax heads (also bounded ones); mean (d,), covariance (d, d); saved `times` (by default 0 and T).
    `steps` is the largest number of adaptive depth steps. Exact in the limit N → ∞ until the blow-up. Raises `Refused` for other kinds of
    heads. Source: mathematics, section 6, solution 1.

    >>> import jax.numpy as jnp, mckean as mk
    >>> one = jnp.ones((1, 1, 1))
    >>> rho = mk.Empirical(mk.Softmax(one, one, -one))                      # V = -1, A = 1: variance σ/(1 + 2σt)
    >>> end = mk.gaussian_transport(rho, [0.0], [[1.0]], horizon=1.0, rtol=1e-6, atol=1e-6).final
    >>> round(float(end.covariance[0, 0]), 4)
    0.3333
    """
    heads = check_heads(rho)
    part = softmax_part(heads)
    if part is None or part.query.ndim != 3 or type(heads).__name__ == "Block":
        raise Refused(f"The Gaussian solution needs tied softmax heads alone; found {type(heads).__name__}.")
    a, v, w = part.bilinear, part.value, rho.weights
    m0 = jnp.asarray(mean, a.dtype)
    s0 = jnp.asarray(covariance, a.dtype)
    if m0.shape != (a.shape[-1],) or s0.shape != a.shape[1:]:
        raise Refused(f"Heads of R^{a.shape[-1]} need mean ({a.shape[-1]},) and a square covariance; found {m0.shape}, {s0.shape}.")
    wanted = jnp.asarray([0.0, horizon] if times is None else times, a.dtype)

    def rhs(t, y, args):
        m, s = y
        vs = jnp.einsum("h,hab,bc,hdc->ad", w, v, s, a)
        return vs @ m + jnp.einsum("h,hab,b->a", w, v, m), vs @ s + s @ vs.T

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(rhs), diffrax.Dopri8(), t0=0.0, t1=float(horizon), dt0=None, y0=(m0, s0),
        saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=wanted), diffrax.SubSaveAt(t1=True)]),
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol), max_steps=steps, throw=False,
    )  # fmt: skip
    assert solution.ts is not None
    assert solution.ys is not None
    (_, last), ((ms, ss), (m1, s1)) = solution.ts, solution.ys
    result = Result()
    if solution.result != diffrax.RESULTS.successful or not bool(jnp.all(jnp.isfinite(s1))):
        reached = np.asarray(last)
        place = {"t": float(reached[0])} if np.isfinite(reached[0]) else {}
        result = Result("blow_up", place, "Shorten `horizon`: the Gaussian solution ends there.")
    return GaussianFlow(wanted, ms, ss, Gaussian(m1[0], s1[0]), result)
