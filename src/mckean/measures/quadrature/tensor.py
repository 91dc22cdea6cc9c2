"""One-dimensional rules on [-1, 1], and their tensor products on a box."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from mckean._arguments import count
from mckean.errors import Refused
from mckean.measures.quadrature.rule import Rule, box, product


def tensor(lower: Any, upper: Any, nodes: int, *, rule: str = "gauss_legendre") -> Rule:
    r"""The tensor product of a one-dimensional rule on the box [lower, upper]: `nodes` in each coordinate, nodes**d in all.

    Arguments:
        lower, upper: (d,).
        rule: "gauss_legendre" (exact below degree 2·nodes), "clenshaw_curtis" (below degree `nodes`; the nodes of n are among those of
            2n − 1) or "trapezoid" (periodic densities; the nodes of n are among those of 2n).

    For an analytic density each gives the flow of the token limit with an error that falls geometrically in `nodes`. All weights are
    positive. Raises `Refused` for an empty box or an unknown rule. Source: mathematics, section 2.
    """
    lower, upper = box(lower, upper)
    if rule not in RULES:
        raise Refused(f"`rule` must be one of {', '.join(RULES)}; found {rule!r}.")
    z, w = RULES[rule](count(nodes, "nodes", "nodes in each coordinate"))
    half = 0.5 * (upper - lower)
    points, weights = product([a + h * (z + 1) for a, h in zip(lower, half, strict=True)], [h * w for h in half])
    return Rule(jnp.asarray(points), jnp.asarray(weights))


def clenshaw_curtis(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Extrema of the Chebyshev polynomial of degree nodes − 1, and weights from the integrals of the cosine series."""
    if nodes == 1:
        return np.zeros(1), np.full(1, 2.0)
    n = nodes - 1
    angle = np.pi * np.arange(nodes) / n
    k = np.arange(1, n // 2 + 1)
    share = np.where(2 * k == n, 1.0, 2.0)  # the last even mode of an even n counts half
    w = (2.0 / n) * (1 - np.cos(2 * np.outer(angle, k)) @ (share / (4.0 * k**2 - 1)))
    w[[0, -1]] *= 0.5
    return np.sin(np.pi * (2 * np.arange(nodes) - n) / (2 * n)), w  # by the sine: symmetric, and 0 is exact


def trapezoid(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Equal steps of a period, the right end left out."""
    return -1 + 2 * np.arange(nodes) / nodes, np.full(nodes, 2.0 / nodes)


RULES = {"gauss_legendre": np.polynomial.legendre.leggauss, "clenshaw_curtis": clenshaw_curtis, "trapezoid": trapezoid}
