"""The field of a random batch of tokens, for each cloud, and its transposes: those of the exact field of what was drawn."""

from typing import Any

import jax
import jax.numpy as jnp

from mckean._shapes import Array, HeadMasses, PromptMasses, PromptQueries, Prompts
from mckean.field import exact
from mckean.field.method import RandomBatch
from mckean.field.part import Part, own
from mckean.heads.base import Head


def draw(x: Prompts, w: PromptMasses, method: RandomBatch) -> Array:
    """Indices (n, size) of tokens, i.i.d. by mass. The key follows the tokens, so that stages and steps draw afresh."""

    def one(xi: Array, wi: Array) -> Array:
        bits = jax.lax.stop_gradient(jnp.sum(xi * jnp.cos(jnp.arange(xi.size, dtype=xi.dtype)).reshape(xi.shape)))
        word = jax.lax.bitcast_convert_type(bits.astype(jnp.float32), jnp.uint32)
        key = jax.random.fold_in(jax.random.key(method.seed), word)
        return jax.random.choice(key, xi.shape[0], (method.size,), p=jax.lax.stop_gradient(wi))

    return jax.vmap(one)(x, w)


def _batch(x: Prompts, index: Array) -> tuple[Array, Array]:
    drawn = jnp.take_along_axis(x, index[..., None], axis=1)
    return drawn, jnp.full(index.shape, 1.0 / index.shape[1], x.dtype)


def field(
    heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, method: RandomBatch, queries: Any = None, part: Part | None = None
) -> PromptQueries:
    """V under the drawn measure at the queries (n, M, d)."""
    drawn, even = _batch(x, draw(x, w, method))
    return exact.field(heads, mass, drawn, even, method.exact, x if queries is None else queries, part)


def pullback(
    heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, lam: Prompts, method: RandomBatch, part: Part | None = None
):
    """As `reverse.pullback`, of the field of what is drawn from x."""
    index = jax.lax.stop_gradient(draw(x, w, method))

    def one(head: Head):
        def phi(h: Head, points: Array) -> Array:
            return exact.each_head(h, *_batch(points, index), own(part, points), method.exact)

        out, pull = jax.vjp(phi, head, x)
        by_head, by_token = pull(lam)
        return by_head, by_token, jnp.sum(lam * out)

    def body(total, block, masses):
        by_head, by_token, pairings = jax.vmap(one)(block)
        return total + jnp.tensordot(masses, by_token, axes=1), (by_head, pairings)

    size = method.exact.heads_at_once(heads.heads, x.shape[0], lam.shape[1], method.size)
    total, (by_head, pairings) = exact.over_heads(body, jnp.zeros_like(x), heads, mass, size)
    return total, by_head, pairings


def pairing(heads: Head, x: Prompts, w: PromptMasses, lam: Prompts, method: RandomBatch, part: Part | None = None) -> HeadMasses:
    """As `reverse.pairing`."""
    drawn, even = _batch(x, draw(x, w, method))

    def body(carry, block, _):
        phi = jax.vmap(lambda head: exact.each_head(head, drawn, even, own(part, x), method.exact))(block)
        return carry, jnp.einsum("hnia,nia->h", phi, lam)

    ones = jnp.ones(heads.heads, x.dtype)
    size = method.exact.heads_at_once(heads.heads, x.shape[0], lam.shape[1], method.size)
    return exact.over_heads(jax.checkpoint(body), None, heads, ones, size)[1]


def standard_error(heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, method: RandomBatch, queries: Any = None) -> Array:
    """The standard error of V's norm at each query (n, M), from the batch itself: two halves of the batch, compared.

    The halves are independent, so that E|V_1 − V_2|² = 4 Var(V) of the whole batch to leading order, for heads of any kind.
    """
    index = draw(x, w, method)
    half = method.size // 2
    q = x if queries is None else queries
    values = []
    for part in (index[:, :half], index[:, half : 2 * half]):
        drawn, even = _batch(x, part)
        values.append(exact.field(heads, mass, drawn, even, method.exact, q))
    return 0.5 * jnp.linalg.norm(values[0] - values[1], axis=-1)
