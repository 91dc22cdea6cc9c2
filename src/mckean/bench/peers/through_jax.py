"""A compiled call of a function of (q, y, A, V) in JAX, forward or with its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mckean.bench.peers.base import Arrays

Field = Callable[[jax.Array, jax.Array, jax.Array, jax.Array], jax.Array]


def forward(field: Field, arrays: Arrays) -> Callable[[], Any]:
    """V(q) (M, d)."""
    compiled, given = jax.jit(field), _given(arrays)
    return lambda: jax.block_until_ready(compiled(*given))


def gradient(field: Field, arrays: Arrays) -> Callable[[], Any]:
    """Σ_i ⟨g_i, V(q_i)⟩ and its gradients in q, y, A and V."""
    g, given = jnp.asarray(arrays.g), _given(arrays)
    compiled = jax.jit(jax.value_and_grad(lambda *moving: jnp.sum(g * field(*moving)), argnums=(0, 1, 2, 3)))
    return lambda: jax.block_until_ready(compiled(*given))


def _given(arrays: Arrays) -> tuple[jax.Array, ...]:
    return tuple(jnp.asarray(array) for array in (arrays.q, arrays.y, arrays.a, arrays.v))
