r"""The two transposes of the field that an adjoint is made of.

`pullback` is the transpose of the finite system: for stage adjoints λ (mass included) it gives (∂V/∂X)ᵀλ of the whole cloud, and what
each head contributes. `costate_image` is the same map per unit of token mass, by the formula of the costate, so that it is finite at
tokens of weight 0: pullback(w p) = w · costate_image(p).
"""

from typing import Any

import jax
import jax.numpy as jnp

from mckean._shapes import HeadMasses, PromptMasses, Prompts
from mckean.field.exact import block_size, each_head, over_heads
from mckean.field.method import Exact
from mckean.field.part import Part, own
from mckean.heads.base import Head
from mckean.measures.empirical import unchecked


def pullback(
    heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, lam: Prompts, method: Exact, part: Part | None = None
) -> tuple[Prompts, Any, HeadMasses]:
    r"""For one stage: ((∂V/∂X)ᵀλ (n, N, d), ∇_θ⟨λ, φ_θ⟩ at each head (pytree (H, ...)), ⟨λ, φ_θj⟩ (H,)).

    The last two are *not* multiplied by the head's mass: they are the stage's part of ∇_θ δL/δρ and δL/δρ, finite at heads of weight 0.
    Of a `part`, λ is given at its tokens alone; all three are its summands.
    """

    def one(head: Head) -> tuple[Any, Prompts, Any]:
        phi, pull = jax.vjp(lambda h, points: each_head(h, points, w, own(part, points), method), head, x)
        by_head, by_token = pull(lam)
        return by_head, by_token, jnp.sum(lam * phi)

    def body(total, block, masses):
        by_head, by_token, pairing = jax.vmap(one)(block)
        return total + jnp.tensordot(masses, by_token, axes=1), (by_head, pairing)

    total, (by_head, pairing) = over_heads(body, jnp.zeros_like(x), heads, mass, block_size(heads, x, lam, method))
    return total, by_head, pairing


def pairing(heads: Head, x: Prompts, w: PromptMasses, lam: Prompts, method: Exact, part: Part | None = None) -> HeadMasses:
    """⟨λ, φ_θ⟩ (M,) of one stage for M heads that need not belong to ρ; of a `part`, λ is given at its tokens."""

    def body(carry, block, _):
        phi = jax.vmap(lambda head: each_head(head, x, w, own(part, x), method))(block)
        return carry, jnp.einsum("hnia,nia->h", phi, lam)

    ones = jnp.ones(heads.heads, x.dtype)
    return over_heads(jax.checkpoint(body), None, heads, ones, block_size(heads, x, lam, method))[1]


def costate_image(heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, p: Prompts, method: Exact) -> Prompts:
    r"""$\nabla_x V(x)^T p(x) + \int [D_\mu V(x', \cdot)(x)]^T p(x')\,d\mu(x')$ at every token (n, N, d). Mathematics, section 3."""

    def body(total, block, masses):
        image = jax.vmap(lambda head: jax.vmap(lambda xi, wi, pi: head.costate(unchecked(xi, wi), pi, method.tile))(x, w, p))
        return total + jnp.tensordot(masses, image(block), axes=1), None

    return over_heads(jax.checkpoint(body), jnp.zeros_like(x), heads, mass, block_size(heads, x, x, method))[0]
