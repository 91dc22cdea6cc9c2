"""Plain JAX: the dense softmax of a block of queries, mapped over heads. Blocks keep its logits below 256 MiB in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mckean.bench.peers import through_jax
from mckean.bench.peers.base import Arrays

NAME = "plain JAX"
LARGEST = 2**25  # logits held at once


def forward(arrays: Arrays) -> Callable[[], Any]:
    """V(q) (M, d)."""
    return through_jax.forward(_field, arrays)


def gradient(arrays: Arrays) -> Callable[[], Any]:
    """Σ_i ⟨g_i, V(q_i)⟩ and its gradients in q, y, A and V."""
    return through_jax.gradient(_field, arrays)


def _field(q: jax.Array, y: jax.Array, a: jax.Array, v: jax.Array) -> jax.Array:
    def one(block: jax.Array, bilinear: jax.Array, value: jax.Array) -> jax.Array:
        return jax.nn.softmax(block @ bilinear @ y.T, axis=1) @ y @ value.T

    def dense(block: jax.Array) -> jax.Array:
        return jnp.mean(jax.vmap(one, in_axes=(None, 0, 0))(block, a, v), axis=0)

    size = _block(q.shape[0], y.shape[0] * a.shape[0])
    if size == q.shape[0]:
        return dense(q)
    out = jax.lax.map(jax.checkpoint(dense), q.reshape(-1, size, q.shape[1]))
    return out.reshape(q.shape)


def _block(queries: int, each: int) -> int:
    """The largest divisor of the number of queries that fits."""
    return max(size for size in range(1, queries + 1) if queries % size == 0 and (size == 1 or size * each <= LARGEST))
