"""Step sizes and temperatures that change with training: functions of the fraction of training done, u in [0, 1].

A schedule multiplies the base value: `step_size=0.1, step_decay=schedules.cosine()` and `annealing=schedules.exponential(1e-3)`. Theorems
are about constant values; an annealed run is outside their hypotheses.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from mckean.errors import Refused

Schedule = Callable[[Any], Any]


def constant() -> Schedule:
    """1 throughout."""
    return _one


def _one(u: Any) -> Any:
    return jnp.ones_like(u)


def linear(final: float) -> Schedule:
    """From 1 to `final` along a line."""
    _check(final)
    return lambda u: 1 + (final - 1) * u


def exponential(final: float) -> Schedule:
    """From 1 to `final` > 0 geometrically."""
    _check(final, positive=True)
    return lambda u: final**u


def cosine(final: float = 0.0) -> Schedule:
    """From 1 to `final` along half a cosine."""
    _check(final)
    return lambda u: final + (1 - final) * 0.5 * (1 + jnp.cos(jnp.pi * u))


def _check(final: float, positive: bool = False) -> None:
    if final < 0 or (positive and final == 0):
        raise Refused(f"A schedule's final factor must be {'positive' if positive else 'non-negative'}; found {final}.")
