r"""Attention of large clouds in tiles: memory O(N), and a reverse pass that does the tiles again instead of storing them.

In units of powers of two, with logits l_ij = ⟨q_i, k_j⟩ log₂e,

    m_i = Σ_j 2^(l_ij − s_i) w_j y_j / Σ_j 2^(l_ij − s_i) w_j

for any shift s_i near enough to max_j l_ij that nothing over- or underflows. Where the keys' box or ball says that the logits of every
query spread by less than `SPREAD`, their upper bound over it is such a shift, known before any logit is. Elsewhere the running maximum
of the online softmax is taken (arXiv 1805.02867). The reverse pass is that of the flash-attention papers (arXiv 2205.14135), with masses.

On a CPU everything that isn't a matrix product costs as much as one, so constants ride along as one more column: masses and the 1 of the
denominator on the values, shifts on the queries.
"""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from mckean.heads.power import power_of_two, smallest_power

LOG2E = math.log2(math.e)
SPREAD = {64: 600.0, 32: 60.0}


@partial(jax.custom_vjp, nondiff_argnums=(4,))
def tiled(q: Array, k: Array, y: Array, w: Array, tile: int) -> Array:
    """m (M, e) for queries q (M, a), keys k (N, a), values y (N, e) and masses w (N,) in tiles of at most `tile` × `tile` logits."""
    return averages(q, k, y, w, tile)[0]


def _tiled_forward(q, k, y, w, tile):
    m, lse = averages(q, k, y, w, tile)
    return m, (q, k, y, w, m, lse)


def _tiled_backward(tile, saved, g):
    q, k, y, w, m, lse = saved
    dq, dk, dy, dw = cotangents(q, k, y, w, m, lse, g, tile)
    return dq, dk * w[:, None], dy * w[:, None], dw


tiled.defvjp(_tiled_forward, _tiled_backward)


def averages(q: Array, k: Array, y: Array, w: Array, tile: int) -> tuple[Array, Array]:
    """m (M, e), and log₂ Σ_j w_j e^{⟨q_i, k_j⟩} (M,), with which `cotangents` starts."""

    def alone(q, k, y, w):
        largest, live = jnp.max(w), (w > 0)[:, None]
        unit = w / largest
        # A key without mass stands at the mean of the others: it can neither raise the maximum nor widen the box.
        middle = unit @ jnp.where(live, k, 0.0) / jnp.sum(unit)
        k = jnp.where(live, k, middle[None])
        values = jnp.concatenate([y * unit[:, None], unit[:, None]], axis=1)
        sums, shift = _shifted_sums(LOG2E * q, k, values, tile)
        z = sums[:, -1]
        return sums[:, :-1] / z[:, None], shift + jnp.log2(z) + jnp.log2(largest)

    return _one_by_one(alone)(q, k, y, w)


def cotangents(q, k, y, w, m, lse, g, tile: int) -> tuple[Array, Array, Array, Array]:
    r"""Cotangents of Σ_i ⟨g_i, m_i⟩ in (q, k, y, w); those of k and y *per unit of mass*.

    With r_ij = e^{l_ij}/Z_i and t_ij = r_ij ⟨g_i, y_j − m_i⟩: dq_i = Σ_j w_j t_ij k_j, dk_j = Σ_i t_ij q_i, dy_j = Σ_i r_ij g_i, dw_j = Σ_i t_ij.
    """
    # Only a key without mass can have e^l above Z; this keeps it finite.
    highest = float(jnp.finfo(q.dtype).maxexp) - 30.0

    def alone(q, k, y, w, m, lse, g):
        keys = tuple(_split(each, tile) for each in (_with(k, 1.0), _with(y, 1.0), k * w[:, None]))
        queries = (
            _split(_with(LOG2E * q, -lse), tile),
            _split(_with(g, -jnp.sum(g * m, axis=1)), tile),
            _split(_with(q, 1.0), tile),
        )

        def row(totals, query_tile):
            qt, gt, q1 = query_tile

            def visit(dq, key_tile):
                kt, yt, wk = key_tile
                ratio = power_of_two(jnp.clip(qt @ kt.T, smallest_power(q.dtype), highest))
                t = ratio * (gt @ yt.T)
                # Transposed on the left, not the sum over the first axis: XLA's product is four times slower on that in float32.
                return dq + t @ wk, (q1.T @ t, gt[:, :-1].T @ ratio)

            dq, parts = jax.lax.scan(visit, jnp.zeros((qt.shape[0], q.shape[1]), q.dtype), keys)
            return jax.tree.map(jnp.add, totals, parts), dq

        count, size = keys[0].shape[:2]
        zeros = tuple(jnp.zeros((count, features, size), q.dtype) for features in (q.shape[1] + 1, g.shape[1]))
        (by_key, by_value), dq = jax.lax.scan(row, zeros, queries)
        by_key, by_value = (_joined(jnp.swapaxes(each, 1, 2), k.shape[0]) for each in (by_key, by_value))
        return _joined(dq, q.shape[0]), by_key[:, :-1], by_value, by_key[:, -1]

    return _one_by_one(alone)(q, k, y, w, m, lse, g)


def _shifted_sums(q: Array, k: Array, values: Array, tile: int) -> tuple[Array, Array]:
    """Σ_j 2^(l_ij − s_i) values_j (M, e + 1), and the shifts s (M,)."""
    upper, spread = _bound(q, k)
    known = jnp.max(spread) <= SPREAD[jnp.finfo(q.dtype).bits]
    if jax.default_backend() != "cpu":
        # There clouds are done side by side, where a choice would do both.
        return _by_running_maximum(q, k, values, tile)
    return jax.lax.cond(
        known, lambda: (_by_known_shift(q, k, values, upper, tile), upper), lambda: _by_running_maximum(q, k, values, tile)
    )


def _bound(q: Array, k: Array) -> tuple[Array, Array]:
    """An upper bound of every query's logits (M,), and how far below it they can lie: by the keys' box or by their ball, the better one."""
    low, high = jnp.min(k, axis=0), jnp.max(k, axis=0)
    centre = (low + high) / 2
    box = jnp.abs(q) @ ((high - low) / 2)
    ball = jnp.linalg.norm(q, axis=1) * jnp.sqrt(jnp.max(jnp.sum((k - centre[None]) ** 2, axis=1)))
    reach = jnp.minimum(box, ball)
    return q @ centre + reach, 2 * reach


def _by_known_shift(q: Array, k: Array, values: Array, upper: Array, tile: int) -> Array:
    keys = (_split(_with(k, 1.0), tile, fill=True), _split(values, tile))

    def row(qt: Array) -> Array:
        def visit(total, key_tile):
            kt, vt = key_tile
            return total + power_of_two(qt @ kt.T) @ vt, None

        return jax.lax.scan(visit, jnp.zeros((qt.shape[0], values.shape[1]), q.dtype), keys)[0]

    return _joined(jax.lax.map(row, _split(_with(q, -upper), tile)), q.shape[0])


def _by_running_maximum(q: Array, k: Array, values: Array, tile: int) -> tuple[Array, Array]:
    keys = (_split(k, tile, fill=True), _split(values, tile))
    lowest = smallest_power(q.dtype)

    def row(qt: Array) -> tuple[Array, Array]:
        def visit(carry, key_tile):
            shift, total = carry
            kt, vt = key_tile
            logits = qt @ kt.T
            new = jnp.maximum(shift, _row_maximum(logits))
            shrink = power_of_two(jnp.maximum(shift - new, lowest))
            e = power_of_two(jnp.maximum(logits - new[:, None], lowest))
            return (new, total * shrink[:, None] + e @ vt), None

        first = _row_maximum(qt @ keys[0][0].T)
        start = (first, jnp.zeros((qt.shape[0], values.shape[1]), q.dtype))
        (shift, total), _ = jax.lax.scan(visit, start, keys)
        return total, shift

    total, shift = jax.lax.map(row, _split(q, tile))
    return _joined(total, q.shape[0]), _joined(shift, q.shape[0])


def _row_maximum(logits: Array) -> Array:
    # By halves, because XLA's own maximum of float64 rows is one comparison after the other.
    while logits.shape[1] > 8 and logits.shape[1] % 2 == 0:
        half = logits.shape[1] // 2
        logits = jnp.maximum(logits[:, :half], logits[:, half:])
    return jnp.max(logits, axis=1)


def _with(array: Array, last: Any) -> Array:
    """`array` (N, a) with one more column."""
    return jnp.concatenate([array, jnp.broadcast_to(jnp.asarray(last, array.dtype), array.shape[:1])[:, None]], axis=1)


def _split(array: Array, tile: int, fill: bool = False) -> Array:
    """(N, ...) as (tiles, size, ...) of even sizes up to `tile`, multiples of 16; padded with zeros, or with the first row."""
    count = -(-array.shape[0] // tile)
    size = min(-(-array.shape[0] // (16 * count)) * 16, max(tile, 1))
    pad = count * size - array.shape[0]
    rows = jnp.broadcast_to(array[:1], (pad, *array.shape[1:])) if fill else jnp.zeros((pad, *array.shape[1:]), array.dtype)
    return jnp.concatenate([array, rows]).reshape(count, size, *array.shape[1:])


def _joined(tiles: Array, count: int) -> Array:
    return tiles.reshape(-1, *tiles.shape[2:])[:count]


def _one_by_one(function):
    """On a CPU, clouds and heads in turn: side by side their tiles leave the cache (twice as slow), and a choice would do both sides."""
    return jax.custom_batching.sequential_vmap(function) if jax.default_backend() == "cpu" else function
