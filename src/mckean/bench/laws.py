"""Laws of tokens in R^d, each scaled so that the largest |x| is 1 (R = 1). Drawn by NumPy, so that every peer has the same tokens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


def draw(law: str, tokens: int, dim: int, seed: int) -> Points:
    """N tokens (N, d) with max|x| = 1 exactly, up to rounding."""
    rng = np.random.default_rng([seed, tokens, dim, LAWS.index(law)])
    points = _DRAWS[law](tokens, dim, rng)
    return points / np.linalg.norm(points, axis=1).max()


def _directions(tokens: int, dim: int, rng: np.random.Generator) -> Points:
    z = rng.normal(size=(tokens, dim))
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def _ball(tokens: int, dim: int, rng: np.random.Generator) -> Points:
    return rng.uniform(size=(tokens, 1)) ** (1 / dim) * _directions(tokens, dim, rng)


def _annulus(tokens: int, dim: int, rng: np.random.Generator) -> Points:
    """Radii within 1 % of each other."""
    return rng.uniform(0.99, 1.0, size=(tokens, 1)) * _directions(tokens, dim, rng)


def _clusters(tokens: int, dim: int, rng: np.random.Generator) -> Points:
    """Eight clusters, each half as large as the one before, of widths between 10⁻³ and 10⁻¹."""
    shares = 0.5 ** np.arange(8)
    which = rng.choice(8, size=tokens, p=shares / shares.sum())
    centres, widths = rng.uniform(-1, 1, size=(8, dim)), 10.0 ** rng.uniform(-3, -1, size=8)
    return centres[which] + widths[which, None] * rng.normal(size=(tokens, dim))


def _heavy_tails(tokens: int, dim: int, rng: np.random.Generator) -> Points:
    """Student's law with two degrees of freedom: no variance."""
    return rng.normal(size=(tokens, dim)) / np.sqrt(rng.chisquare(2, size=(tokens, 1)) / 2)


def _outlier(tokens: int, dim: int, rng: np.random.Generator) -> Points:
    """A ball, and one token (the first) at twenty times its radius."""
    points = _ball(tokens, dim, rng)
    points[0] = 20 * _directions(1, dim, rng)[0]
    return points


def _segment(tokens: int, dim: int, rng: np.random.Generator) -> Points:
    """On a segment through the origin, along no axis."""
    return rng.uniform(-1, 1, size=(tokens, 1)) * _directions(1, dim, rng)


def _spiral(tokens: int, dim: int, rng: np.random.Generator) -> Points:
    """Three turns outwards; the coordinates beyond the second rise along it."""
    t = rng.uniform(size=tokens)
    turn = 6 * np.pi * t
    columns = [t * np.cos(turn), t * np.sin(turn), *(t - 0.5 for _ in range(dim - 2))]
    return np.stack(columns[:dim], axis=1)


_DRAWS: dict[str, Callable[[int, int, np.random.Generator], Points]] = {
    "ball": _ball,
    "sphere": _directions,
    "annulus": _annulus,
    "clusters": _clusters,
    "heavy tails": _heavy_tails,
    "outlier": _outlier,
    "segment": _segment,
    "spiral": _spiral,
}
LAWS = tuple(_DRAWS)
