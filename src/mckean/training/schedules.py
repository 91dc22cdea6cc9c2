"""Step sizes and temperatures that change with training: functions of the fraction of training done, u in [0, 1].

A schedule multiplies the base value: `step_size=0.1, step_decay=schedules.cosine()` and `annealing=schedules.exponential(1e-3)`. Theorems
are about constant values; an annealed run is outside their hypotheses. Two schedules with the same number are equal, and compile once.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from mckean.errors import Refused

Schedule = Callable[[Any], Any]


def constant() -> Schedule:
    """1 throughout."""
    return _one


def _one(u: Any) -> Any:
    return jnp.ones_like(u)


@dataclass(frozen=True)
class _Linear:
    final: float

    def __call__(self, u: Any) -> Any:
        return 1 + (self.final - 1) * u


@dataclass(frozen=True)
class _Exponential:
    final: float

    def __call__(self, u: Any) -> Any:
        return self.final**u


@dataclass(frozen=True)
class _Cosine:
    final: float

    def __call__(self, u: Any) -> Any:
        return self.final + (1 - self.final) * 0.5 * (1 + jnp.cos(jnp.pi * u))


def linear(final: float) -> Schedule:
    """From 1 to `final` along a line."""
    return _Linear(_checked(final))


def exponential(final: float) -> Schedule:
    """From 1 to `final` > 0 geometrically."""
    return _Exponential(_checked(final, positive=True))


def cosine(final: float = 0.0) -> Schedule:
    """From 1 to `final` along half a cosine."""
    return _Cosine(_checked(final))


def _checked(final: float, positive: bool = False) -> float:
    if not 0 <= final < math.inf or (positive and final == 0):
        raise Refused(
            f"A schedule's final factor must be finite and {'positive' if positive else 'non-negative'}; found {final}."
        )
    return float(final)
