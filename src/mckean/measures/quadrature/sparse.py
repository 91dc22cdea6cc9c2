"""Smolyak's sparse grids: signed rules, for integrals in more dimensions than tensor products reach."""

import itertools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from mckean._arguments import count
from mckean.measures.quadrature.rule import Rule, box, product
from mckean.measures.quadrature.tensor import clenshaw_curtis


def sparse(lower: Any, upper: Any, level: int) -> Rule:
    r"""Smolyak's rule of nested Clenshaw–Curtis rules (1, 3, 5, 9, … nodes) on a box: $\sum (-1)^{q-|i|}\binom{d-1}{q-|i|} \bigotimes_k U_{i_k}$.

    Arguments: lower, upper (d,); level ≥ 0, with q = level + d and the sum over $q - d + 1 \le |i| \le q$, i ≥ 1. Exact for polynomials of total
    degree ≤ 2·level + 1. From d = 2 on some weights are negative: the rule integrates, but it is no token measure, and `Rule.measure`
    refuses it. Source: Smolyak 1963; Novak and Ritter 1999 (doi 10.1007/s003659900119).
    """
    lower, upper = box(lower, upper)
    level = count(level, "level", "levels of a sparse grid", least=0)
    dim, total = lower.size, level + lower.size
    rules = [clenshaw_curtis(1 if i == 0 else 2**i + 1) for i in range(level + 1)]
    found: dict[tuple[float, ...], float] = {}
    for index in itertools.product(range(level + 1), repeat=dim):
        gap = total - (sum(index) + dim)
        if 0 <= gap <= dim - 1:
            factor = (-1) ** gap * math.comb(dim - 1, gap)
            points, weights = product([rules[i][0] for i in index], [rules[i][1] for i in index])
            # Nested nodes differ by rounding between levels: fifteen digits make them one.
            for x, w in zip(np.round(points, 14) + 0.0, weights, strict=True):
                key = tuple(x)
                found[key] = found.get(key, 0.0) + factor * w
    half = 0.5 * (upper - lower)
    points = lower + half * (np.asarray(list(found)) + 1)
    return Rule(jnp.asarray(points), jnp.asarray(np.prod(half) * np.asarray(list(found.values()))))
