"""The field of a batch of clouds, exactly: a loop over blocks of heads.

Everything here works on *clouds*: points x (n, N, d) with masses w (n, N), and one head measure (heads, masses (H,)). Nothing of size
H·N² is ever held, forward or backward: each block of heads is done again in the reverse pass.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mckean._shapes import Array, HeadMasses, PromptMasses, PromptQueries, Prompts
from mckean.field.method import Exact
from mckean.field.part import Part, own
from mckean.heads.base import Head
from mckean.measures.empirical import unchecked


def each_head(head: Head, x: Prompts, w: PromptMasses, queries: PromptQueries, method: Exact) -> PromptQueries:
    """φ_θ of one head at the queries (n, M, d) in the presence of the clouds."""
    return jax.vmap(lambda xi, wi, qi: head.apply(qi, unchecked(xi, wi), method.tile))(x, w, queries)


def field(
    heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, method: Exact, queries: Any = None, part: Part | None = None
) -> PromptQueries:
    """V_{ρ,μ} = Σ_j mass_j φ_θj at the queries (n, M, d), by default at the clouds' own points (n, N, d); of a part: its heads, its queries."""
    queries = own(part, x if queries is None else queries)

    def body(total: Array, block: Head, masses: Array) -> tuple[Array, None]:
        phi = jax.vmap(lambda head: each_head(head, x, w, queries, method))(block)
        return total + jnp.tensordot(masses, phi, axes=1), None

    total, _ = over_heads(jax.checkpoint(body), jnp.zeros_like(queries), heads, mass, block_size(heads, x, queries, method))
    return total


def block_size(heads: Head, x: Prompts, queries: PromptQueries, method: Exact) -> int:
    """How many heads are done together for clouds of this size."""
    return method.heads_at_once(heads.heads, x.shape[0], queries.shape[1], x.shape[1])


def over_heads(
    body: Callable[[Any, Head, Array], tuple[Any, Any]], carry: Any, heads: Head, mass: Array, block: int
) -> tuple[Any, Any]:
    """Scan `body(carry, block of heads, their masses)` over all heads; outputs are joined along the head axis."""
    count = mass.shape[0]
    whole = count - count % block
    outputs = []
    if whole:
        grouped = jax.tree.map(lambda leaf: leaf[:whole].reshape(whole // block, block, *leaf.shape[1:]), (heads, mass))
        if whole == block:
            carry, out = body(carry, *jax.tree.map(lambda leaf: leaf[0], grouped))
        else:
            carry, out = jax.lax.scan(lambda c, group: body(c, *group), carry, grouped)
            out = jax.tree.map(lambda leaf: leaf.reshape(whole, *leaf.shape[2:]), out)
        outputs.append(out)
    if whole < count:
        carry, out = body(carry, *jax.tree.map(lambda leaf: leaf[whole:], (heads, mass)))
        outputs.append(out)
    if len(outputs) == 1:
        return carry, outputs[0]
    return carry, jax.tree.map(lambda *parts: jnp.concatenate(parts), *outputs)
