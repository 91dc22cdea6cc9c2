"""The error of a velocity against the exact sum, on some queries."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from mckean.bench.setting import Setting
from mckean.errors import NumericalFailure
from mckean.field import Exact, Tabulated, velocity
from mckean.field.certified import compiled_noted
from mckean.field.choice import settle
from mckean.field.tabulated.guarded import Planned

QUERIES = 512
FINE = (
    1e-11,
    1e-10,
    1e-9,
    1e-8,
)  # rtol of the table that stands for the exact sum where that would take hours: the first that can be had


def relative(found: jax.Array, right: jax.Array) -> float:
    """max_i |V̂_i − V_i| / max_i |V_i| over rows (M, d): no unit."""
    return float(jnp.max(jnp.linalg.norm(found - right, axis=1)) / jnp.max(jnp.linalg.norm(right, axis=1)))


def exact_at(setting: Setting, queries: int = QUERIES) -> tuple[jax.Array, jax.Array]:
    """Token indices (M,), and the exact velocity there (M, d) with all heads."""
    some = setting.every(queries)
    v = velocity(setting.rho, setting.mu, setting.tokens[some], method=Exact(tile=QUERIES))
    return jnp.asarray(some), v


def fine_at(setting: Setting, queries: int = QUERIES) -> tuple[jax.Array, jax.Array, float]:
    """As `exact_at`, by a table planned as finely as the dtype allows; its own bound, relative to max|V|, is the third.

    Raises `NumericalFailure` where no plan covers the tokens.
    """
    some, rho, mu = setting.every(queries), setting.rho, setting.mu
    x, w, q = mu.points[None], mu.weights[None], jnp.asarray(setting.tokens[some])[None]
    for rtol in FINE:
        method = settle(Tabulated(rtol=rtol), rho, x, w, q).method
        if isinstance(method, Planned):
            v, note = compiled_noted(rho.points, rho.weights, x, w, method, q)
            return jnp.asarray(some), v[0], float(note.bound[0])
    raise NumericalFailure("No table is fine enough to stand for the exact sum; measure fewer heads or tokens.")
