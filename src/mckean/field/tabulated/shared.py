"""The field of one cloud where all heads share one table, with keys the tokens and arguments u = A_hᵀx; and its transposes."""

from typing import Any

import jax
import jax.numpy as jnp

from mckean._shapes import Array, HeadMasses, Queries, Tokens
from mckean.field.exact import over_heads
from mckean.field.part import Part, every, own, put
from mckean.field.tabulated.frames import shared_frame, softmax_of
from mckean.field.tabulated.grid import anterpolate, interpolate
from mckean.field.tabulated.parts import parts
from mckean.field.tabulated.plan import Plan
from mckean.field.tabulated.reading import pair, read, transpose
from mckean.field.tabulated.table import Table, around, build, moments, transform
from mckean.heads.base import Head
from mckean.measures.empirical import unchecked

UNITS = 2**18  # hidden units × tokens done together


def field(heads: Head, mass: HeadMasses, x: Tokens, w: Array, q: Queries, plan: Plan, part: Part | None = None) -> Queries:
    """V at the queries (M, d)."""
    softmax, here = softmax_of(heads), own(part, q)
    at = _nodes(q, here, plan)
    total = read(_table(every(part, heads), x, w, q, plan), softmax.bilinear, softmax.value, mass, at)
    total = total if plan.grid is None else interpolate(total, q, here, plan.grid)
    return total + _units(heads, mass, here)


def pairing(heads: Head, x: Tokens, w: Array, lam: Tokens, plan: Plan, part: Part | None = None) -> HeadMasses:
    """⟨λ, φ_θ⟩ (M,)."""
    softmax, here = softmax_of(heads), own(part, x)
    given = lam if plan.grid is None else anterpolate(lam, x, here, plan.grid)
    found = pair(_table(every(part, heads), x, w, x, plan), softmax.bilinear, softmax.value, _nodes(x, here, plan), given)
    if not _has_units(heads):
        return found

    def body(carry, block: Head, _):
        return carry, jnp.einsum("hia,ia->h", _each_unit(block, here), lam)

    ones = jnp.ones(heads.heads, x.dtype)
    return found + over_heads(jax.checkpoint(body), None, heads, ones, max(1, min(heads.heads, UNITS // here.shape[0])))[1]


def reverse(
    heads: Head, mass: HeadMasses, x: Tokens, w: Array, lam: Tokens, plan: Plan, unit: bool, part: Part | None = None
) -> tuple[Tokens, Any, HeadMasses]:
    """The transposes: of the finite system, or, with `unit`, per unit of token mass (λ and the answer)."""
    softmax, pull_head = jax.vjp(lambda h: (softmax_of(h).bilinear, softmax_of(h).value), heads)
    table, here = _table(every(part, heads), x, w, x, plan), own(part, x)
    at = _nodes(x, here, plan)
    # The costate of a token of weight 0 counts; what it sends to the others does not.
    given, back = lam, own(part, (w if unit else jnp.ones_like(w))[:, None])[:, 0]
    if plan.grid is not None:
        given, back = anterpolate(lam * back[:, None], x, here, plan.grid), jnp.ones(at.shape[0], x.dtype)
    found = transpose(table, *softmax, mass, at, given, back)
    by_token = found.points
    if plan.grid is not None:
        lattice = plan.grid
        by_token = jax.vjp(lambda q: interpolate(found.total, x, q, lattice), here)[1](lam)[0]
    (by_head,) = pull_head((found.bilinear, found.value))
    to_table = _to_tokens(table, found.grid, x, w, unit, plan)
    by_unit, unit_head, unit_pairing = _units_reversed(heads, mass, here, lam)
    return (
        put(part, by_token, x) + to_table + put(part, by_unit, x),
        jax.tree.map(jnp.add, by_head, unit_head),
        found.pairing + unit_pairing,
    )


def _table(heads: Head, x: Tokens, w: Array, q: Queries, plan: Plan) -> Table:
    frame, _ = shared_frame(softmax_of(heads), x, w, q, plan.grid is not None)
    return build(x, x, w, frame, plan)


def _to_tokens(table: Table, cotangent: Array, x: Tokens, w: Array, unit: bool, plan: Plan) -> Tokens:
    """What came back to the table, carried to the tokens."""
    frame = table.frame
    mass = jnp.ones_like(w) if unit else None
    _, to_charges = jax.vjp(lambda c: transform(c, frame, plan).grid, moments(x, x, w, frame, plan))
    _, to_points = jax.vjp(lambda y: moments(y, y, w, frame, plan, mass), x)
    return to_points(to_charges(cotangent)[0])[0]


def _units(heads: Head, mass: HeadMasses, q: Queries) -> Queries:
    """The hidden units beside the softmax heads, token by token."""
    if not _has_units(heads):
        return jnp.zeros_like(q)

    def body(total: Array, block: Head, masses: Array):
        return total + jnp.tensordot(masses, _each_unit(block, q), axes=1), None

    size = max(1, min(heads.heads, UNITS // q.shape[0]))
    return over_heads(jax.checkpoint(body), jnp.zeros_like(q), heads, mass, size)[0]


def _units_reversed(heads: Head, mass: HeadMasses, x: Tokens, lam: Tokens) -> tuple[Tokens, Head, HeadMasses]:
    if not _has_units(heads):
        return jnp.zeros_like(x), jax.tree.map(jnp.zeros_like, heads), jnp.zeros_like(mass)

    def body(total: Array, block: Head, masses: Array):
        def one(head: Head):
            phi, pull = jax.vjp(lambda h, points: _each_unit(jax.tree.map(lambda leaf: leaf[None], h), points)[0], head, x)
            by_head, by_token = pull(lam)
            return by_head, by_token, jnp.sum(lam * phi)

        by_head, by_token, pairings = jax.vmap(one)(block)
        return total + jnp.tensordot(masses, by_token, axes=1), (by_head, pairings)

    size = max(1, min(heads.heads, UNITS // x.shape[0]))
    total, (by_head, pairings) = over_heads(body, jnp.zeros_like(x), heads, mass, size)
    return total, by_head, pairings


def _has_units(heads: Head) -> bool:
    found = parts(heads)
    return found is not None and bool(found[1])


def _each_unit(block: Head, q: Queries) -> Array:
    """Σ over the kinds of hidden units, for each head (h, M, d); they do not look at the measure."""
    found = parts(block)
    assert found is not None  # a plan is made only for heads that have a table
    nobody = unchecked(q, jnp.ones_like(q[:, 0]))
    phi = [jax.vmap(lambda one: one.apply(q, nobody, None))(units) for units in found[1]]
    return sum(phi[1:], phi[0])


def _nodes(q: Queries, here: Queries, plan: Plan) -> Array:
    """Where the heads are evaluated: the queries asked about here, or the nodes of the grid in x, which is laid over all queries q."""
    return here if plan.grid is None else around(q).lattice_points(plan.grid)
