"""The normal law and the uniform law of a box on Gauss nodes: spectral accuracy for smooth functionals."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from mckean.errors import Refused
from mckean.measures.empirical import Empirical
from mckean.measures.quadrature.rule import box, product


def gauss_hermite(mean: Any, covariance: Any, nodes: int) -> Empirical:
    r"""The Gaussian N(m, S) on `nodes` Gauss–Hermite points a dimension: exact for polynomials of degree < 2·nodes.

    Arguments: mean (d,), covariance (d, d) positive semi-definite. Gives an `Empirical` of nodes**d atoms.
    Raises `Refused` for a covariance that is not symmetric positive semi-definite. Source: mathematics, section 2.
    """
    mean = np.atleast_1d(np.asarray(mean, dtype=np.float64))
    covariance = np.atleast_2d(np.asarray(covariance, dtype=np.float64))
    if covariance.shape != (mean.size, mean.size) or not np.allclose(covariance, covariance.T):
        raise Refused(f"A covariance must be symmetric ({mean.size}, {mean.size}); found shape {covariance.shape}.")
    values, vectors = np.linalg.eigh(covariance)
    if values.min() < -1e-12 * max(values.max(), 1.0):
        raise Refused(f"A covariance must be positive semi-definite; found the eigenvalue {values.min():.3g}.")
    with np.errstate(all="ignore"):
        z, w = np.polynomial.hermite_e.hermegauss(_count(nodes))
    if not np.all(np.isfinite(w)):
        raise Refused(f"The weights of {nodes} Gauss–Hermite nodes leave the finite numbers; use at most 370.")
    grid, weights = product([z] * mean.size, [w] * mean.size)
    points = mean + (grid * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return Empirical(jnp.asarray(points), jnp.asarray(weights), normalize=True)


def gauss_legendre(lower: Any, upper: Any, nodes: int) -> Empirical:
    """The uniform law on the box [lower, upper] on `nodes` Gauss–Legendre points a dimension; lower and upper are (d,).

    Exact for polynomials of degree < 2·nodes. Source: mathematics, section 2.
    """
    lower, upper = box(lower, upper)
    z, w = np.polynomial.legendre.leggauss(_count(nodes))
    axes = [0.5 * (a + b) + 0.5 * (b - a) * z for a, b in zip(lower, upper, strict=True)]
    points, weights = product(axes, [w] * lower.size)
    return Empirical(jnp.asarray(points), jnp.asarray(weights), normalize=True)


def _count(nodes: int) -> int:
    if nodes < 1:
        raise Refused(f"A quadrature rule needs at least one node; found nodes={nodes}.")
    return nodes
