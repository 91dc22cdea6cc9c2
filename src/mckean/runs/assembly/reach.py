"""Whether the adaptive steps of a run reach the end of depth: asked before anything is written."""

from __future__ import annotations

import jax.numpy as jnp

from mckean.errors import Refused
from mckean.measures import Empirical
from mckean.objective import Problem
from mckean.tokens import grid as grids

MOST = 4096
"""So many steps are tried to find how many are needed."""


def check_reach(problem: Problem, rho: Empirical) -> None:
    """Refuse a limit `model.steps` within which the adaptive scheme does not carry the prompts to T; fixed steps always reach it."""
    if not problem.scheme.adaptive:
        return
    problem = problem.settled(rho)
    points, weights = problem.prompts.points, problem.prompts.weights
    if not bool(problem.grid(rho, points, weights).overrun):
        return
    found = grids.adaptive(rho, points, weights, problem.horizon, MOST, problem.method, problem.rtol, problem.atol)
    needed = int(jnp.sum(jnp.diff(found.times) > 0))
    # Twice what the first heads need: rejected steps count too, and trained heads bend the paths more.
    advice = (
        f"not even {MOST} do: lower model.horizon or the deviations of the heads, or take a scheme of fixed steps"
        if bool(found.overrun)
        else f"the first heads need {needed}: set model.steps={max(16, 2 * needed)}"
    )
    raise Refused(
        f"The adaptive steps of {problem.scheme.name} must reach depth {float(problem.horizon):g} within model.steps; "
        f"{problem.steps} do not: {advice}."
    )
