"""The field of one cloud where each head has a table of its own, with keys K_h y and arguments Q_h x; and its transposes."""

from typing import Any

import jax
import jax.numpy as jnp

from mckean._shapes import Array, HeadMasses, Queries, Tokens
from mckean.field.part import Part, own
from mckean.field.tabulated.frames import kernel, own_frame
from mckean.field.tabulated.parts import parts
from mckean.field.tabulated.plan import Plan
from mckean.field.tabulated.table import build
from mckean.heads.base import Head
from mckean.measures.empirical import unchecked


def field(heads: Head, mass: HeadMasses, x: Tokens, w: Array, q: Queries, plan: Plan, part: Part | None = None) -> Queries:
    """V at the queries (M, d)."""

    def body(total: Array, weighted: tuple[Head, Array]):
        head, one = weighted
        return total + one * _phi(head, x, q, w, plan, None, False, part), None

    return jax.lax.scan(jax.checkpoint(body), jnp.zeros_like(own(part, q)), (heads, mass))[0]


def pairing(heads: Head, x: Tokens, w: Array, lam: Tokens, plan: Plan, part: Part | None = None) -> HeadMasses:
    """⟨λ, φ_θ⟩ (M,)."""
    return jax.lax.map(lambda head: jnp.sum(lam * _phi(head, x, x, w, plan, None, False, part)), heads)


def reverse(
    heads: Head, mass: HeadMasses, x: Tokens, w: Array, lam: Tokens, plan: Plan, unit: bool, part: Part | None = None
) -> tuple[Tokens, Any, HeadMasses]:
    """As `shared.reverse`."""
    back = own(part, (w if unit else jnp.ones_like(w))[:, None])[:, 0]

    def body(total: Array, weighted: tuple[Head, Array]):
        head, one = weighted
        phi, pull = jax.vjp(lambda h, y, q: _phi(h, y, q, w, plan, back, unit, part), head, x, x)
        by_head, by_key, by_query = pull(lam)
        return total + one * (by_key + by_query), (by_head, jnp.sum(lam * phi))

    total, (by_head, pairings) = jax.lax.scan(body, jnp.zeros_like(x), (heads, mass))
    return total, by_head, pairings


def _phi(
    head: Head, x: Tokens, q: Queries, w: Array, plan: Plan, back: Array | None, unit: bool, part: Part | None = None
) -> Queries:
    """φ of one head. `back` multiplies what a query sends to the table; with `unit`, derivatives in x are per unit of token mass."""
    found = parts(jax.tree.map(lambda leaf: leaf[None], head))
    assert found is not None  # a plan is made only for heads that have a table
    softmax, *units = jax.tree.map(lambda leaf: leaf[0], (found[0], *found[1]))
    k = kernel(softmax, x, q)
    frame, _ = own_frame(x, w, k)
    phi = build(k.keys, x, w, frame, plan, unit)(own(part, k.arguments), back) @ softmax.value.T
    here = own(part, q)
    nobody = unchecked(here, jnp.ones_like(here[:, 0]))
    for one in units:
        phi = phi + one.apply(here, nobody, None)
    return phi
