"""Rules of equal weights on a box: scrambled Sobol points and rank-1 lattices."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.stats import qmc

from mckean._arguments import count
from mckean.errors import Refused
from mckean.measures.quadrature.rule import Rule, box


def sobol(lower: Any, upper: Any, nodes: int, *, seed: int = 0) -> Rule:
    """Scrambled Sobol points on a box, a power of two of them: errors of about 1/N, and N^{-3/2} where the integrand is smooth.

    Another `seed` is another scrambling: the spread over a few seeds is an error that can be trusted. Raises `Refused` where `nodes` is not
    a power of two, which alone keeps the points balanced. Source: Owen 1998 (doi 10.1006/jcom.1998.0487).
    """
    lower, upper = box(lower, upper)
    nodes = count(nodes, "nodes", "nodes")
    if nodes & (nodes - 1):
        raise Refused(f"Sobol points need a power of two nodes; found {nodes}. Use nodes={2 ** nodes.bit_length()}.")
    generator = qmc.Sobol(lower.size, scramble=True, rng=np.random.default_rng(seed))
    return _equal(lower, upper, generator.random_base2(nodes.bit_length() - 1))


def lattice(lower: Any, upper: Any, nodes: int, *, seed: int = 0, periodic: bool = False) -> Rule:
    """A shifted rank-1 lattice {k z / nodes + shift} on a box, z found component by component; errors of about N^{-2} for smooth densities.

    Arguments:
        nodes: N; finding z takes N² steps a coordinate, so at most 16,384.
        seed: draws the shift.
        periodic: the density is periodic over the box. Otherwise the points are folded (the tent transform), which gives order 2 without it.

    Source: Nuyens and Cools 2006 (doi 10.1090/S0025-5718-06-01785-6); Hickernell 2002 for the fold.
    """
    lower, upper = box(lower, upper)
    nodes = count(nodes, "nodes", "nodes")
    if nodes > 2**14:
        raise Refused(f"A lattice is searched for among N² sums: at most 16384 nodes; found {nodes}. Use mk.quadrature.sobol.")
    shift = np.random.default_rng(seed).random(lower.size)
    unit = (np.outer(np.arange(nodes), _generator(nodes, lower.size)) / nodes + shift) % 1.0
    return _equal(lower, upper, unit if periodic else 1 - np.abs(2 * unit - 1))


def _generator(nodes: int, dim: int) -> np.ndarray:
    """z (d,) that minimises, one component after another, the worst-case error in the Korobov space of order 2 with unit weights."""
    k = np.arange(nodes)
    kernel = 2 * np.pi**2 * ((k / nodes) ** 2 - k / nodes + 1 / 6)  # Σ_{h≠0} e^{2πihx} / h²
    product, found = 1 + kernel, [1]
    candidates = [z for z in range(1, max(2, nodes // 2 + 1)) if math.gcd(z, nodes) == 1]
    for _ in range(1, dim):
        best = min(candidates, key=lambda z: float(product @ kernel[(k * z) % nodes]))
        product = product * (1 + kernel[(k * best) % nodes])
        found.append(best)
    return np.asarray(found)


def _equal(lower: np.ndarray, upper: np.ndarray, unit: np.ndarray) -> Rule:
    size = unit.shape[0]
    return Rule(jnp.asarray(lower + (upper - lower) * unit), jnp.full(size, np.prod(upper - lower) / size))
