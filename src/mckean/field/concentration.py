r"""How many atoms the attention really averages over.

The effective sample size of a query's attention weights P is ESS = 1/Σ_j P_j². A cloud that stands for a density needs it large:
on a Gaussian the finite system returns finite, plausible, wrong numbers once the attention rests on a few atoms (mathematics, section 6).
"""

import jax
import jax.numpy as jnp

from mckean._shapes import Array, PromptMasses, Prompts
from mckean.heads import attention
from mckean.heads.base import Head
from mckean.heads.block import Block
from mckean.heads.bounded import Bounded
from mckean.heads.softmax import Softmax

HEADS, QUERIES = 16, 64


def softmax_part(heads: Head) -> Softmax | None:
    """The softmax heads inside a batch, bounds applied, or None where there are none."""
    if isinstance(heads, Bounded):
        return softmax_part(heads.bounded)
    if isinstance(heads, Block):
        return softmax_part(heads.attention) or softmax_part(heads.perceptron)
    return heads if isinstance(heads, Softmax) else None


def effective_sample_size(heads: Head, x: Prompts, w: PromptMasses) -> Array | None:
    """ESS (n, H', M') of up to 16 heads and 64 queries a cloud, evenly strided; +inf at queries of weight 0.

    None where no head attends. The sample is deterministic, and costs 64·16 of the N·H pairs of one evaluation of the field.
    """
    part = softmax_part(heads)
    if part is None:
        return None
    some = jax.tree.map(lambda leaf: leaf[:: max(1, -(-leaf.shape[0] // HEADS))], part)
    stride = max(1, -(-x.shape[1] // QUERIES))

    def one(head: Softmax, points: Array, mass: Array) -> Array:
        q, k = head.logit_factors(points[::stride], points)
        p = attention.weights(q, k, mass)
        return jnp.where(mass[::stride] > 0, 1 / jnp.sum(p * p, axis=1), jnp.inf)

    over_heads = jax.vmap(one, in_axes=(0, None, None))
    return jax.vmap(over_heads, in_axes=(None, 0, 0))(some, x, w)
