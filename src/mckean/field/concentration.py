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

PROMPTS, HEADS, QUERIES = 64, 16, 64


def softmax_part(heads: Head) -> Softmax | None:
    """The softmax heads inside a batch, bounds applied, or None where there are none."""
    if isinstance(heads, Bounded):
        return softmax_part(heads.bounded)
    if isinstance(heads, Block):
        return softmax_part(heads.attention) or softmax_part(heads.perceptron)
    return heads if isinstance(heads, Softmax) else None


def effective_sample_size(heads: Head, x: Prompts, w: PromptMasses) -> Array | None:
    """ESS (n', H', M') of up to 64 clouds, 16 heads and 64 queries of positive weight, evenly strided; +inf at queries of weight 0.

    None where no head attends. The sample is deterministic; one head of one cloud is held at a time, so that memory is that of 64·N numbers.
    """
    part = softmax_part(heads)
    if part is None:
        return None
    some = jax.tree.map(lambda leaf: leaf[:: max(1, -(-leaf.shape[0] // HEADS))], part)
    stride = max(1, -(-x.shape[0] // PROMPTS))

    def of_cloud(cloud: tuple[Array, Array]) -> Array:
        points, mass = cloud
        index = _some_queries(mass)

        def of_head(head: Softmax) -> Array:
            q, k = head.logit_factors(points[index], points)
            p = attention.weights(q, k, mass)
            return jnp.where(mass[index] > 0, 1 / jnp.sum(p * p, axis=1), jnp.inf)

        return jax.lax.map(of_head, some)

    return jax.lax.map(of_cloud, (x[::stride], w[::stride]))


def _some_queries(mass: Array) -> Array:
    """Indices of up to 64 atoms, of positive weight as far as there are enough of them."""
    most = min(QUERIES, mass.shape[0])
    first = jnp.argsort(mass <= 0)  # stable: atoms of positive weight in their order, then the others
    count = jnp.sum(mass > 0)
    each = jnp.arange(most)
    return first[jnp.where(count >= most, each * count // most, each)]
