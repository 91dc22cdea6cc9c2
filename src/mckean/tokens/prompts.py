"""The loop over chunks of prompts: prompts do not see each other, so that memory is bounded by the chunk."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mckean._shapes import Array
from mckean.field.method import Method
from mckean.field.sharding import Sharded


def chunk_size(method: Method, prompts: int, tokens: int) -> int:
    """How many prompts are carried together: on each device enough to fill a block of the field, few enough to bound memory."""
    lanes, cuts = (method.prompts, method.tokens) if isinstance(method, Sharded) else (1, 1)
    tile = min(tokens, method.tile or tokens)
    queries = -(-tokens // cuts)
    each = max(1, min(-(-prompts // lanes), 4 * method.block // max(queries * tile, 1)))
    return min(prompts, lanes * each)


def over_prompts(
    body: Callable[..., tuple[Any, Any]], data: tuple[Any, ...], chunk: int, method: Method | None = None
) -> tuple[Any, Any]:
    """Sum and stack `body(*data) -> (to be summed, to be stacked along prompts)` over chunks of the leading axis of `data`.

    With prompts on several devices each chunk takes as many from each of them.
    """
    count = jax.tree.leaves(data)[0].shape[0]
    if chunk >= count:
        return body(*data)
    lanes = method.prompts if isinstance(method, Sharded) and count % method.prompts == 0 else 1
    size, each = chunk // lanes, count // lanes
    whole = each - each % size
    groups = whole // size

    def dealt(leaf: Array) -> Array:
        first = leaf.reshape(lanes, each, *leaf.shape[1:])[:, :whole].reshape(lanes, groups, size, *leaf.shape[1:])
        return jnp.swapaxes(first, 0, 1).reshape(groups, lanes * size, *leaf.shape[1:])

    def collected(leaf: Array) -> Array:
        return jnp.swapaxes(leaf.reshape(groups, lanes, size, *leaf.shape[2:]), 0, 1).reshape(lanes, whole, *leaf.shape[2:])

    summed, stacked = jax.lax.map(lambda group: body(*group), jax.tree.map(dealt, data))
    summed = jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), summed)
    stacked = jax.tree.map(collected, stacked)
    if whole < each:
        left = lambda leaf: leaf.reshape(lanes, each, *leaf.shape[1:])[:, whole:].reshape(-1, *leaf.shape[1:])  # noqa: E731
        rest = body(*jax.tree.map(left, data))
        summed = jax.tree.map(jnp.add, summed, rest[0])
        join = lambda a, b: jnp.concatenate([a, b.reshape(lanes, each - whole, *b.shape[1:])], axis=1)  # noqa: E731
        stacked = jax.tree.map(join, stacked, rest[1])
    return summed, jax.tree.map(lambda leaf: leaf.reshape(count, *leaf.shape[2:]), stacked)
