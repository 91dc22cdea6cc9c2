"""Rules on the circle, the sphere and the ball: Gauss nodes times the periodic trapezoid rule, all weights positive."""

import jax.numpy as jnp
import numpy as np
from scipy.special import roots_jacobi

from mckean._arguments import count, positive
from mckean.errors import Refused
from mckean.measures.quadrature.rule import Rule


def circle(nodes: int, *, radius: float = 1.0) -> Rule:
    """Equally spaced nodes on the circle in R²: exact for trigonometric polynomials of degree < nodes; weights sum to 2π·radius."""
    angle = 2 * np.pi * np.arange(count(nodes, "nodes", "nodes")) / nodes
    radius = positive(radius, "radius")
    points = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return Rule(jnp.asarray(points), jnp.full(nodes, 2 * np.pi * radius / nodes))


def sphere(degree: int, *, radius: float = 1.0) -> Rule:
    """Gauss–Legendre in height times the trapezoid rule in longitude on the sphere in R³: exact for spherical harmonics up to `degree`.

    (⌊degree/2⌋ + 1)·(degree + 1) nodes; weights sum to 4π·radius². Source: Atkinson and Han 2012, section 5.1 (doi 10.1007/978-3-642-25983-8).
    """
    points, weights = _unit(degree, 3)
    radius = positive(radius, "radius")
    return Rule(jnp.asarray(radius * points), jnp.asarray(radius**2 * weights))


def ball(degree: int, *, dim: int = 2, radius: float = 1.0) -> Rule:
    """Gauss–Jacobi in the radius times the rule of the circle (dim 2) or the sphere (dim 3): exact for polynomials up to `degree`."""
    if dim not in (2, 3):
        raise Refused(f"The rule of the ball is for dim=2 and dim=3; found dim={dim}.")
    points, weights = _unit(degree, dim)
    radius = positive(radius, "radius")
    z, w = roots_jacobi(degree // 2 + 1, 0, dim - 1)  # weight (1 + z)^{d−1}: r = (1 + z)/2
    lengths = radius * (1 + z) / 2
    masses = w * (radius / 2) ** dim
    grid = (lengths[:, None, None] * points[None]).reshape(-1, dim)
    return Rule(jnp.asarray(grid), jnp.asarray(np.multiply.outer(masses, weights).ravel()))


def _unit(degree: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    degree = count(degree, "degree", "degrees of a rule", least=0)
    angle = 2 * np.pi * np.arange(degree + 1) / (degree + 1)
    plane = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    arc = np.full(degree + 1, 2 * np.pi / (degree + 1))
    if dim == 2:
        return plane, arc
    height, w = np.polynomial.legendre.leggauss(degree // 2 + 1)
    side = np.sqrt(1 - height**2)[:, None, None] * plane
    tall = np.broadcast_to(height[:, None, None], (*side.shape[:2], 1))
    return np.concatenate([side, tall], axis=2).reshape(-1, 3), np.multiply.outer(w, arc).ravel()
