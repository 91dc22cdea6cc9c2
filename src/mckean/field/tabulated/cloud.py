r"""The field of one cloud by a table, and its transposes.

Where all heads share one table, its keys are the tokens and head h reads it at u = A_hᵀx. Where the tokens live in more than three
dimensions, a head of rank k ≤ 3 has a table of its own, with keys K_h y and arguments Q_h x. With a grid in x the heads are evaluated at the
grid's nodes and the tokens read the grid: then the work of a head does not depend on N.
"""

from typing import Any

import jax
import jax.numpy as jnp

from mckean._shapes import Array, HeadMasses, Queries, Tokens
from mckean.field.exact import over_heads
from mckean.field.tabulated.interpolation import gather, spread
from mckean.field.tabulated.plan import Lattice, Plan
from mckean.field.tabulated.source import source_of
from mckean.field.tabulated.table import around
from mckean.heads.base import Head

LOOK_UPS = 2**18  # arguments read in one go
KEEP = 2**24  # numbers kept for the reverse pass before heads are done again instead


def field(heads: Head, mass: HeadMasses, x: Tokens, w: Array, q: Queries, plan: Plan) -> Queries:
    """V at the queries (M, d)."""
    source = source_of(heads, x, w, q, plan)
    at = _nodes(q, plan)

    def body(total: Array, block: Head, masses: Array):
        phi = source.read(block, jnp.broadcast_to(at, (masses.shape[0], *at.shape)), None)
        return total + jnp.tensordot(masses, phi, axes=1), None

    kept = mass.shape[0] * at.shape[0] * (2 * at.shape[1] + 4)
    total, _ = over_heads(body if kept <= KEEP else jax.checkpoint(body), jnp.zeros_like(at), heads, mass, _block(mass, at, plan))
    return total if plan.grid is None else _interpolate(total, q, q, plan.grid)


def pullback(heads: Head, mass: HeadMasses, x: Tokens, w: Array, lam: Tokens, plan: Plan) -> tuple[Tokens, Any, HeadMasses]:
    """As `reverse.pullback`, for one cloud."""
    return _reverse(heads, mass, x, w, lam, False, plan)


def image(heads: Head, mass: HeadMasses, x: Tokens, w: Array, p: Tokens, plan: Plan) -> Tokens:
    """As `reverse.costate_image`, for one cloud: finite at tokens of weight 0."""
    return _reverse(heads, mass, x, w, p, True, plan)[0]


def pairing(heads: Head, x: Tokens, w: Array, lam: Tokens, plan: Plan) -> HeadMasses:
    """As `reverse.pairing`, for one cloud."""
    source = source_of(heads, x, w, x, plan)
    at = _nodes(x, plan)
    given = lam if plan.grid is None else _anterpolate(lam, x, plan.grid)

    def body(carry, block: Head, ones: Array):
        phi = source.read(block, jnp.broadcast_to(at, (ones.shape[0], *at.shape)), None)
        return carry, jnp.einsum("hia,ia->h", phi, given)

    ones = jnp.ones(heads.heads, x.dtype)
    return over_heads(jax.checkpoint(body), None, heads, ones, _block(ones, at, plan))[1]


def _reverse(heads: Head, mass: HeadMasses, x: Tokens, w: Array, lam: Tokens, unit: bool, plan: Plan):
    """The transposes: of the finite system, or, with `unit`, per unit of token mass (λ and the answer)."""
    source = source_of(heads, x, w, x, plan, unit)
    at = _nodes(x, plan)
    # The costate of a token of weight 0 counts; what it sends to the others does not.
    back = w if unit else jnp.ones_like(w)
    given = lam
    if plan.grid is not None:
        given, back = _anterpolate(lam * back[:, None], x, plan.grid), jnp.ones(at.shape[0], x.dtype)

    def body(carry, block: Head, masses: Array):
        by_token, to_source, total = carry
        many = jnp.broadcast_to(at, (masses.shape[0], *at.shape))
        # A shared table hears each head times its mass; a head's own table also carries the gradient of its keys, which takes no mass.
        sent = jnp.broadcast_to(back, many.shape[:2]) if plan.own_tables else masses[:, None] * back
        phi, pull = jax.vjp(lambda b, points, s: s.read(b, points, sent), block, many, source)
        by_head, by_query, by_source = pull(jnp.broadcast_to(given, phi.shape))
        if plan.own_tables:
            by_source = jax.tree.map(lambda leaf: masses[0] * leaf, by_source)
        by_token = by_token + jnp.tensordot(masses, by_query, axes=1)
        to_source = jax.tree.map(jnp.add, to_source, by_source)
        total = total + jnp.tensordot(masses, phi, axes=1)
        return (by_token, to_source, total), (by_head, jnp.einsum("hia,ia->h", phi, given))

    start = (jnp.zeros_like(at), jax.tree.map(jnp.zeros_like, source), jnp.zeros_like(at))
    (by_token, to_source, total), (by_head, pairings) = over_heads(body, start, heads, mass, _block(mass, at, plan))
    if plan.grid is not None:
        lattice = plan.grid
        by_token = jax.vjp(lambda q: _interpolate(total, x, q, lattice), x)[1](lam)[0]
    return by_token + source.to_tokens(to_source, x, w, unit, plan), by_head, pairings


def _nodes(q: Queries, plan: Plan) -> Array:
    """Where the heads are evaluated: the queries, or the nodes of the grid in x."""
    return q if plan.grid is None else around(q).lattice_points(plan.grid)


def _interpolate(values: Array, box: Queries, q: Queries, lattice: Lattice) -> Queries:
    """Values at the nodes of the grid over `box`, read at q."""
    grid = values.reshape(lattice.count, *(lattice.p,) * len(lattice.cells), values.shape[-1])
    return gather(grid, *around(box).locate(q, lattice))


def _anterpolate(charges: Array, q: Queries, lattice: Lattice) -> Array:
    """The transpose of `_interpolate`: (nodes, d)."""
    cell, t = around(q).locate(q, lattice)
    grid: Array = spread(cell, t, charges, lattice.count, lattice.p)
    return grid.reshape(-1, charges.shape[-1])


def _block(mass: Array, at: Array, plan: Plan) -> int:
    return 1 if plan.own_tables else max(1, min(mass.shape[0], LOOK_UPS // at.shape[0]))
