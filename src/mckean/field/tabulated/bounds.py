r"""What interpolation in p Chebyshev nodes can do to e^{at} and to an average of it: numbers that no data can change.

On t in [-1, 1], with Lagrange polynomials ℓ_k at the Chebyshev nodes z_k (first kind), for exponents |a| ≤ L:

    e(p, L) = max |1 − e^{−at} Σ_k ℓ_k(t) e^{a z_k}|     the relative error of the interpolant of e^{at}
    κ(p, L) = max Σ_k |ℓ_k(t)| e^{a (z_k − t)}            the amplification of relative errors at the nodes
    Λ(p)    = κ(p, 0)                                     the Lebesgue constant
    s(p, L)                                               the error of the interpolant of a function analytic in a strip, see `strip`

The maxima are taken on a fine grid and raised by 2 %, more than what lies between its points.
"""

import math
from functools import cache

import numpy as np

MARGIN = 1.02
_T = np.cos(np.linspace(0.0, math.pi, 401))  # dense at both ends, where the maxima are


def nodes(p: int) -> np.ndarray:
    """The p Chebyshev nodes of the first kind in [-1, 1]."""
    return np.cos((2 * np.arange(p) + 1) * math.pi / (2 * p))


@cache
def _lagrange(p: int) -> np.ndarray:
    """ℓ_k at the grid (401, p), by the products of differences."""
    z = nodes(p)
    gaps = _T[:, None, None] - z[None, None, :]
    spans = z[:, None] - z[None, :]
    keep = ~np.eye(p, dtype=bool)
    top = np.stack([np.prod(gaps[:, 0, keep[k]], axis=1) for k in range(p)], axis=1)
    return top / np.array([np.prod(spans[k, keep[k]]) for k in range(p)])


@cache
def error(p: int, length: float) -> float:
    """e(p, L)."""
    a = length * np.linspace(0.05, 1.0, 20)  # e^{-at} under t -> -t: negative a add nothing
    growth = np.exp(a[None, None, :] * (nodes(p)[None, :, None] - _T[:, None, None]))
    return MARGIN * float(np.max(np.abs(1 - np.einsum("tk,tka->ta", _lagrange(p), growth))))


@cache
def amplification(p: int, length: float) -> float:
    """κ(p, L): convex in a, so that its maximum lies at |a| = L."""
    growth = np.exp(length * (nodes(p)[None, :] - _T[:, None]))
    return MARGIN * float(np.max(np.sum(np.abs(_lagrange(p)) * growth, axis=1)))


@cache
def strip(p: int, length: float) -> float:
    r"""s(p, L): if g is analytic where |Im ζ| < π/(2L), with |g| ≤ 1/cos(L |Im ζ|) there, its interpolant on [-1, 1] errs by at most s.

    An average m(u) = E_P[y] is such a function of u: for real tokens with |⟨v, y⟩| ≤ θ < π/2, |E[y e^{i⟨v, y⟩}]| ≤ max|y| and |E[e^{i⟨v, y⟩}]| ≥
    cos θ. The bound is 4 M ρ^{1−p}/(ρ − 1) over Bernstein ellipses ρ (Trefethen, Approximation Theory and Approximation Practice,
    theorem 8.2), at the best ρ.
    """
    theta = np.linspace(0.02, 0.999, 400) * math.pi / 2
    semi = theta / length
    rho = semi + np.sqrt(1 + semi**2)
    return float(np.min(4 / np.cos(theta) * rho ** (1.0 - p) / (rho - 1)))


@cache
def longest(p: int, tolerance: float, kind: str) -> float:
    """The largest L in [0.02, 2.5] whose `kind` of error ("error" or "strip") meets the tolerance; 0 where none does."""
    measure = error if kind == "error" else strip
    low, high = math.log(0.02), math.log(2.5)
    if measure(p, math.exp(low)) > tolerance:
        return 0.0
    if measure(p, math.exp(high)) <= tolerance:
        return 2.5
    for _ in range(12):
        middle = 0.5 * (low + high)
        if measure(p, math.exp(middle)) <= tolerance:
            low = middle
        else:
            high = middle
    return math.exp(low)
