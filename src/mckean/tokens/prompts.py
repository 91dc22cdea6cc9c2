"""The loop over chunks of prompts: prompts do not see each other, so that memory is bounded by the chunk."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mckean.field.method import Method


def chunk_size(method: Method, prompts: int, tokens: int) -> int:
    """How many prompts are carried together: enough to fill a block of the field, few enough to bound memory."""
    tile = min(tokens, method.tile or tokens)
    return max(1, min(prompts, 4 * method.block // max(tokens * tile, 1)))


def over_prompts(body: Callable[..., tuple[Any, Any]], data: tuple[Any, ...], chunk: int) -> tuple[Any, Any]:
    """Sum and stack `body(*data) -> (to be summed, to be stacked along prompts)` over chunks of the leading axis of `data`."""
    count = jax.tree.leaves(data)[0].shape[0]
    if chunk >= count:
        return body(*data)
    whole = count - count % chunk
    grouped = jax.tree.map(lambda leaf: leaf[:whole].reshape(whole // chunk, chunk, *leaf.shape[1:]), data)
    summed, stacked = jax.lax.map(lambda group: body(*group), grouped)
    summed = jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), summed)
    stacked = jax.tree.map(lambda leaf: leaf.reshape(whole, *leaf.shape[2:]), stacked)
    if whole == count:
        return summed, stacked
    rest = body(*jax.tree.map(lambda leaf: leaf[whole:], data))
    return (
        jax.tree.map(jnp.add, summed, rest[0]),
        jax.tree.map(lambda a, b: jnp.concatenate([a, b]), stacked, rest[1]),
    )
