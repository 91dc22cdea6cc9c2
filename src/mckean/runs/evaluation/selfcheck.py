"""A run checks itself: the identities that its own problem and heads must satisfy, on a few of its prompts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mckean.coupled import State
from mckean.runs.assembly.assemble import Assembly, at_state
from mckean.theory import identities

PROMPTS = 8
"""The identities hold prompt by prompt, so that a few show them."""


def selfcheck(assembly: Assembly, state: State) -> Iterator[dict[str, Any]]:
    """Each identity's defect, its limit and the verdict, one by one as they are computed.

    Limits are multiples of the rounding of the run's number format.
    """
    problem = at_state(assembly.problem, state)
    rho = state.rho
    problem = problem.select(jnp.arange(min(PROMPTS, problem.size))).settled(rho)
    eps = float(np.finfo(problem.prompts.points.dtype).eps)
    # Another order of the same sums may accept or reject another step, which moves the end by the steps' tolerance.
    same = max(1e4 * eps, 100 * problem.rtol) if problem.scheme.adaptive else 1e4 * eps
    yield _entry(
        "mass", "The weights of every prompt and of the heads sum to 1.", identities.mass(assembly.problem, rho), 100 * eps
    )
    yield _entry(
        "costate",
        "The costate from its formula is the gradient in the tokens from the reversed scheme.",
        identities.costate(problem, rho),
        1e5 * eps,
    )
    yield _entry(
        "splitting",
        "Splitting a head and a token into two of half the weight changes nothing.",
        identities.splitting(problem, rho),
        same,
    )
    yield _entry("permutation", "The order of heads and tokens changes nothing.", identities.permutation(problem, rho), same)
    gauge = identities.gauge(problem, rho)
    if np.isfinite(gauge):
        yield _entry("gauge", "Queries and keys have the balanced gradients that their symmetry asks for.", gauge, 1e4 * eps)
    if not problem.scheme.adaptive:
        yield _entry(
            "scaling",
            "The mean of δL/δρ over the heads is T ∂L/∂T, by two separate derivatives.",
            identities.scaling(problem, rho),
            1e5 * eps,
        )
        yield _entry(
            "gradient",
            "The functional gradient is the slope of the risk in a random direction, by differences.",
            identities.taylor(problem, rho, key=jax.random.key(0)),
            3e4 * eps ** (4 / 5),
        )


def _entry(name: str, what: str, value: float, limit: float) -> dict[str, Any]:
    return {"name": name, "what": what, "value": value, "limit": limit, "verdict": "holds" if value <= limit else "fails"}
