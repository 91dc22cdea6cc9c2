"""Nodes and weights of an integral, and the token measures that they give."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from mckean._shapes import Array
from mckean.errors import Refused
from mckean.measures.empirical import Empirical


class Rule(eqx.Module):
    r"""A quadrature rule, $\int f\,dx \approx \sum_i w_i f(x_i)$, over a box, a circle, a sphere or a ball.

    Attributes:
        points: (N, d).
        weights: (N,); their sum is the length, area or volume of the domain. Those of a sparse grid have both signs.

    `measure` makes a token measure of it, `mass` says how far a density is from mass 1 on it. Source: mathematics, section 2.

    >>> import jax.numpy as jnp, mckean as mk
    >>> rule = mk.quadrature.tensor([0.0], [1.0], 8)
    >>> mu = rule.measure(lambda x: jnp.exp(x[0]))          # the density e^x / (e − 1) on [0, 1]
    >>> round(float(mu.mean()[0]), 5)                       # 1 / (e − 1)
    0.58198
    """

    points: Array
    weights: Array

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.weights.shape[0]

    def integrate(self, f: Callable[[Any], Any]) -> Array:
        r"""$\sum_i w_i f(x_i)$ for a function of one point, of any shape."""
        return jnp.tensordot(self.weights, jax.vmap(f)(self.points), axes=1)

    def mass(self, density: Callable[[Any], Any]) -> float:
        """The integral of a density: 1 for a normalised one, but for the error of the rule; `measure` divides by it."""
        return float(self.integrate(density))

    def measure(self, density: Callable[[Any], Any] | None = None) -> Empirical:
        r"""The token measure $\sum_i w_i f(x_i)\,\delta_{x_i} / \sum_j w_j f(x_j)$; without a density f the uniform law.

        The density need not be normalised: `mass` tells its integral. Raises `Refused` where the density is negative, not finite or zero
        at all nodes, and for a rule with negative weights: there Σ w_i δ_{x_i} is no probability measure, its attention divides by a sum
        that may vanish, and no flow is defined.
        """
        if np.any(np.asarray(self.weights) < 0):
            raise Refused(
                "A rule with negative weights (a sparse grid) is no measure of tokens: it may only `integrate`. "
                "Take mk.quadrature.tensor, sobol or lattice for tokens."
            )
        if density is None:
            return Empirical(self.points, self.weights, normalize=True)
        values = jax.vmap(density)(self.points)
        if values.shape != self.weights.shape:
            raise Refused(f"A density gives one number at a point (d,); found values of shape {values.shape[1:]}.")
        least = float(jnp.min(values))
        if not (np.all(np.isfinite(np.asarray(values))) and least >= 0 and float(jnp.max(values)) > 0):
            raise Refused(f"A density must be finite, non-negative and not zero at all nodes; its least value is {least:.6g}.")
        return Empirical(self.points, self.weights * values, normalize=True)


def box(lower: Any, upper: Any) -> tuple[np.ndarray, np.ndarray]:
    """The corners (d,) of a box, or a refusal."""
    lower, upper = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in (lower, upper))
    if lower.ndim != 1 or lower.shape != upper.shape or not np.all(upper > lower):
        raise Refused(f"A box needs lower < upper in every coordinate; found lower {lower} and upper {upper}.")
    if not np.all(np.isfinite([lower, upper])):
        raise Refused(f"A box needs finite corners; found lower {lower} and upper {upper}.")
    return lower, upper


def product(axes: list[np.ndarray], weights: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The tensor product of one-dimensional rules: points (N, d), weights (N,)."""
    grid = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=-1)
    mass = np.ones(1)
    for w in weights:
        mass = np.multiply.outer(mass, w).ravel()
    return grid, mass
