r"""The softmax kernel: weighted attention of queries on keys, exact, in memory O(N).

    m(x_i) = Σ_j P_ij y_j,   P_ij = w_j e^{⟨q_i, k_j⟩} / Z_i,   Z_i = Σ_j w_j e^{⟨q_i, k_j⟩}.

Small clouds are done in one piece and are differentiable by any mode. Larger ones are done in tiles with an online softmax, and
their reverse rule walks the tiles again instead of storing them (the identities of the flash-attention papers, arXiv 2205.14135,
with masses). Tiles have no forward mode; pass `Exact(tile=None)` for that.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array

TILE = 1024


def attend(q: Array, k: Array, y: Array, w: Array, *, tile: int | None = TILE) -> Array:
    """m (M, e) for queries q (M, a), keys k (N, a), values y (N, e) and masses w (N,), which need not sum to 1."""
    if tile is None or max(q.shape[0], k.shape[0]) <= tile:
        return _dense(q, k, y, w)
    return _tiled(q, k, y, w, tile)


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
    m, lse = _forward(q, k, y, w, tile)
    _, dk, dy, _ = _walk(q, k, y, w, m, lse, g, tile)
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


def _split(array: Array, tile: int) -> Array:
    """(N, ...) as (tiles, tile, ...), padded with zeros."""
    count = -(-array.shape[0] // tile)
    pad = [(0, count * tile - array.shape[0])] + [(0, 0)] * (array.ndim - 1)
    return jnp.pad(array, pad).reshape(count, tile, *array.shape[1:])


def _forward(q: Array, k: Array, y: Array, w: Array, tile: int) -> tuple[Array, Array]:
    keys = (_split(k, tile), _split(y, tile), _split(w, tile))
    lowest = jnp.finfo(q.dtype).min

    def row(qt: Array) -> tuple[Array, Array]:
        def visit(carry, key_tile):
            mx, z, acc = carry
            kt, yt, wt = key_tile
            logits = jnp.where(wt[None] > 0, qt @ kt.T, lowest)
            new = jnp.maximum(mx, jnp.max(logits, axis=1))
            e = jnp.exp(logits - new[:, None]) * wt[None]
            shrink = jnp.exp(mx - new)
            return (new, z * shrink + jnp.sum(e, axis=1), acc * shrink[:, None] + e @ yt), None

        start = (
            jnp.full(tile, lowest, q.dtype),
            jnp.zeros(tile, q.dtype),
            jnp.zeros((tile, y.shape[1]), q.dtype),
        )
        (mx, z, acc), _ = jax.lax.scan(visit, start, keys)
        return acc / z[:, None], mx + jnp.log(z)

    m, lse = jax.lax.map(row, _split(q, tile))
    return m.reshape(-1, y.shape[1])[: q.shape[0]], lse.reshape(-1)[: q.shape[0]]


def _walk(q, k, y, w, m, lse, g, tile):
    """Cotangents of (q, k, y, w), those of k and y per unit of mass."""
    keys = (_split(k, tile), _split(y, tile), _split(w, tile))
    delta = jnp.sum(g * m, axis=1)
    cap = _ceiling(q.dtype)

    def row(totals, query_tile):
        qt, gt, dt, lt, live = query_tile

        def visit(dq, key_tile):
            kt, yt, wt = key_tile
            ratio = jnp.exp(jnp.minimum(qt @ kt.T - lt[:, None], cap)) * live[:, None]
            dl = ratio * (gt @ yt.T - dt[:, None])
            return dq + (dl * wt[None]) @ kt, (dl.T @ qt, ratio.T @ gt, jnp.sum(dl, axis=0))

        dq, parts = jax.lax.scan(visit, jnp.zeros_like(qt), keys)
        return jax.tree.map(jnp.add, totals, parts), dq

    zero = jax.tree.map(jnp.zeros_like, keys)
    live = _split(jnp.ones(q.shape[0], q.dtype), tile)
    queries = (_split(q, tile), _split(g, tile), _split(delta, tile), _split(lse, tile), live)
    (dk, dy, dw), dq = jax.lax.scan(row, zero, queries)
    count = k.shape[0]
    flat = lambda array, size: array.reshape(-1, *array.shape[2:])[:size]  # noqa: E731
    return flat(dq, q.shape[0]), flat(dk, count), flat(dy, count), flat(dw, count)


@partial(jax.custom_vjp, nondiff_argnums=(4,))
def _tiled(q, k, y, w, tile):
    return _forward(q, k, y, w, tile)[0]


def _tiled_forward(q, k, y, w, tile):
    m, lse = _forward(q, k, y, w, tile)
    return m, (q, k, y, w, m, lse)


def _tiled_backward(tile, saved, g):
    q, k, y, w, m, lse = saved
    dq, dk, dy, dw = _walk(q, k, y, w, m, lse, g, tile)
    return dq, dk * w[:, None], dy * w[:, None], dw


_tiled.defvjp(_tiled_forward, _tiled_backward)
