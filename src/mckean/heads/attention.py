r"""The softmax kernel: weighted attention of queries on keys, exact, in memory O(N).

    m(x_i) = Σ_j P_ij y_j,   P_ij = w_j e^{⟨q_i, k_j⟩} / Z_i,   Z_i = Σ_j w_j e^{⟨q_i, k_j⟩}.

Small clouds are done in one piece and are differentiable by any mode. Larger ones are done in tiles (`tiles`), which have no forward
mode; pass `Exact(tile=None)` for that.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array

from mckean.heads.tiles import averages, cotangents, tiled

TILE = 512


def attend(q: Array, k: Array, y: Array, w: Array, *, tile: int | None = TILE) -> Array:
    """m (M, e) for queries q (M, a), keys k (N, a), values y (N, e) and masses w (N,), which need not sum to 1."""
    if tile is None or max(q.shape[0], k.shape[0]) <= tile:
        return _dense(q, k, y, w)
    return tiled(q, k, y, w, tile)


def weights(q: Array, k: Array, w: Array) -> Array:
    """The attention weights P (M, N), each row a probability vector."""
    e = _shifted(q @ k.T, w)[0] * w[None]
    return e / jnp.sum(e, axis=1, keepdims=True)


def key_density(q: Array, k: Array, y: Array, w: Array, g: Array, *, tile: int | None = TILE) -> tuple[Array, Array]:
    r"""The derivative of Σ_i ⟨g_i, m(x_i)⟩ in the key and value of atom j, *per unit of its mass* w_j.

        value part  Σ_i (P_ij/w_j) g_i,     key part  Σ_i (P_ij/w_j) ⟨g_i, y_j − m_i⟩ q_i,

    with P_ij/w_j = e^{l_ij}/Z_i, finite at w_j = 0. Shapes (N, e) and (N, a).
    """
    size = max(q.shape[0], k.shape[0])
    if tile is None or size <= tile:
        logits = q @ k.T
        e, _ = _shifted(logits, w)
        z = jnp.sum(e * w[None], axis=1, keepdims=True)
        m = (e * w[None]) @ y / z
        ratio = e / z
        dl = ratio * (g @ y.T - jnp.sum(g * m, axis=1, keepdims=True))
        return ratio.T @ g, dl.T @ q
    m, lse = averages(q, k, y, w, tile)
    _, dk, dy, _ = cotangents(q, k, y, w, m, lse, g, tile)
    return dy, dk


def _ceiling(dtype) -> float:
    # Only atoms of weight 0 can lie above the row maximum, which is taken over the others; this keeps them finite.
    return math.log(float(jnp.finfo(dtype).max)) - 20.0


def _shifted(logits: Array, w: Array) -> tuple[Array, Array]:
    mx = jax.lax.stop_gradient(jnp.max(jnp.where(w[None] > 0, logits, -jnp.inf), axis=1, keepdims=True))
    return jnp.exp(jnp.minimum(logits - mx, _ceiling(logits.dtype))), mx


def _dense(q: Array, k: Array, y: Array, w: Array) -> Array:
    e, _ = _shifted(q @ k.T, w)
    e = e * w[None]
    return (e @ y) / jnp.sum(e, axis=1, keepdims=True)
