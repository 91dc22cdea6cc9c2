"""The loop over chunks of prompts: prompts do not see each other, so that memory is bounded by the chunk."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mckean.objective.problem import Problem


def over_prompts(body: Callable[[Any, Any, Any], tuple[Any, Any]], problem: Problem, chunk: int) -> tuple[Any, Any]:
    """Sum and stack `body(x0, w, targets) -> (to be summed, to be stacked along prompts)` over chunks of prompts."""
    data = (problem.prompts.points, problem.prompts.weights, problem.targets)
    count = problem.size
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
