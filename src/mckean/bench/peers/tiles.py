"""The library's exact method, `mk.Exact()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from mckean.bench.peers import through_jax
from mckean.bench.peers.base import Arrays
from mckean.bench.setting import heads
from mckean.field import Exact, velocity
from mckean.measures import Empirical

NAME = "tiles"


def forward(arrays: Arrays) -> Callable[[], Any]:
    """V(q) (M, d)."""
    return through_jax.forward(_field, arrays)


def gradient(arrays: Arrays) -> Callable[[], Any]:
    """Σ_i ⟨g_i, V(q_i)⟩ and its gradients in q, y, A and V."""
    return through_jax.gradient(_field, arrays)


def _field(q: jax.Array, y: jax.Array, a: jax.Array, v: jax.Array) -> jax.Array:
    return velocity(Empirical(heads(a, v)), Empirical(y), q, method=Exact())
