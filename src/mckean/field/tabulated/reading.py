r"""All heads read one table: Σ_h mass_h V_h m(A_hᵀx) at points x, and its transpose.

A block of heads and a group of points are done together, small enough to stay in the cache; nothing of size H·N is ever held, forward or
backward. The reverse pass reads the table again.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from mckean._shapes import Array
from mckean.field.tabulated.interpolation import by_axis, contract, deposit, differentiate
from mckean.field.tabulated.table import Table

TOGETHER = 4096  # arguments read at a time
POINTS = 1024  # of which so many points, for as many heads as fit


class Transposed(NamedTuple):
    """Of ⟨λ, ·⟩: in the table's grid and the points (times the heads' masses); for each head alone in A, V and the pairing; and the sum."""

    grid: Array
    points: Array
    bilinear: Array
    value: Array
    pairing: Array
    total: Array


@jax.custom_vjp
def read(table: Table, bilinear: Array, value: Array, mass: Array, points: Array) -> Array:
    """Σ_h mass_h V_h m(A_hᵀ x) (m, d); A, V (H, d, d)."""
    groups, heads = _groups(points), _blocks((bilinear, value, mass), points.shape[0])

    def block(total: Array, some):
        a, v, weights = some

        def group(_, x: Array):
            _, _, _, m = _look(table, a, x)
            return None, jnp.einsum("h,hab,hmb->ma", weights, v, m)

        return total + jax.lax.scan(group, None, groups)[1], None

    total, _ = jax.lax.scan(block, jnp.zeros_like(groups), heads)
    return total.reshape(-1, points.shape[1])[: points.shape[0]]


def _forward(table, bilinear, value, mass, points):
    return read(table, bilinear, value, mass, points), (table, bilinear, value, mass, points)


def _backward(saved, lam):
    table, bilinear, value, mass, points = saved
    back = transpose(table, bilinear, value, mass, points, lam, jnp.ones_like(points[:, 0]))
    to_table = jax.tree.map(jnp.zeros_like, table)
    to_table = Table(back.grid, to_table.barycentres, to_table.frame, table.lattice)
    each = mass[:, None, None]
    return to_table, each * back.bilinear, each * back.value, back.pairing, back.points


read.defvjp(_forward, _backward)


def transpose(table: Table, bilinear: Array, value: Array, mass: Array, points: Array, lam: Array, back: Array) -> Transposed:
    """The transpose of `read` at λ (m, d). `back` (m,) multiplies what each point sends to the table."""
    count, dim = points.shape
    groups, heads = _groups(points), _blocks((bilinear, value, mass), count)
    size = groups.shape[1]
    pad = groups.shape[0] * size - count
    lams = jnp.pad(lam, ((0, pad), (0, 0))).reshape(groups.shape)
    backs = jnp.pad(back, (0, pad)).reshape(groups.shape[:2])
    per_unit = jnp.asarray(table.lattice.cells, points.dtype)[None] / table.frame.arguments.half[None]

    def block(carry, some):
        a, v, weights = some
        grid, by_point, total = carry

        def group(carry, part):
            grid, by_a, by_v, pairing = carry
            x, g, sent = part
            (cell, place, polynomials), read_, barycentre, m = _look(table, a, x)
            g_m = jnp.einsum("ma,hab->hmb", g, v)
            mass_here = read_[:, -1:]
            flat = g_m.reshape(-1, dim)
            offset = m.reshape(-1, dim) - barycentre
            charges = jnp.concatenate([flat, -jnp.sum(flat * offset, axis=1, keepdims=True)], axis=1) / mass_here
            slopes = by_axis(place, table.lattice.p, 1)
            du = (differentiate(table.grid, cell, charges, polynomials, slopes) * per_unit).reshape(m.shape)
            scaled = (weights[:, None] * sent[None]).reshape(-1, 1)
            grid = deposit(grid, cell, polynomials, scaled * charges)
            phi = jnp.einsum("hab,hmb->hma", v, m)
            by_a = by_a + jnp.einsum("ma,hmb->hab", x, du)
            by_v = by_v + jnp.einsum("ma,hmb->hab", g, m)
            pairing = pairing + jnp.einsum("ma,hma->h", g, phi)
            return (grid, by_a, by_v, pairing), (
                jnp.einsum("h,hab,hmb->ma", weights, a, du),
                jnp.einsum("h,hma->ma", weights, phi),
            )

        start = (grid, jnp.zeros_like(a), jnp.zeros_like(v), jnp.zeros_like(weights))
        (grid, *by_head), (here, sums) = jax.lax.scan(group, start, (groups, lams, backs))
        return (grid, by_point + here, total + sums), tuple(by_head)

    start = (jnp.zeros_like(table.grid), jnp.zeros_like(groups), jnp.zeros_like(groups))
    (grid, by_point, total), by_head = jax.lax.scan(block, start, heads)
    by_a, by_v, pairing = (leaf.reshape(-1, *leaf.shape[2:])[: mass.shape[0]] for leaf in by_head)
    flat = lambda leaf: leaf.reshape(-1, dim)[:count]  # noqa: E731
    return Transposed(grid, flat(by_point), by_a, by_v, pairing, flat(total))


def pair(table: Table, bilinear: Array, value: Array, points: Array, lam: Array) -> Array:
    """Σ_i ⟨λ_i, V_h m(A_hᵀ x_i)⟩ for each head (H,)."""
    count = bilinear.shape[0]
    groups = _groups(points)
    lams = jnp.pad(lam, ((0, groups.shape[0] * groups.shape[1] - points.shape[0]), (0, 0))).reshape(groups.shape)

    def block(some):
        a, v, _ = some

        def group(total: Array, part):
            x, g = part
            _, _, _, m = _look(table, a, x)
            return total + jnp.einsum("ma,hab,hmb->h", g, v, m), None

        return jax.lax.scan(group, jnp.zeros_like(a[:, 0, 0]), (groups, lams))[0]

    blocks = _blocks((bilinear, value, jnp.ones_like(bilinear[:, 0, 0])), points.shape[0])
    return jax.lax.map(block, blocks).reshape(-1)[:count]


def _look(table: Table, a: Array, x: Array):
    """What heads (h, d, d) read at points (m, d): places, numbers, barycentres (h m, …), and m (h, m, d)."""
    u = jnp.einsum("ma,hab->hmb", x, a)
    cell, place = table.frame.arguments.locate(u.reshape(-1, x.shape[1]), table.lattice)
    polynomials = by_axis(place, table.lattice.p)
    numbers = contract(table.grid, cell, polynomials)
    barycentre = table.barycentres[cell]
    m = barycentre + numbers[:, :-1] / numbers[:, -1:]
    return (cell, place, polynomials), numbers, barycentre, m.reshape(u.shape)


def _groups(points: Array) -> Array:
    """(groups, size, d), filled up with the last point, which lies where a table reads."""
    size = min(POINTS, points.shape[0])
    groups = -(-points.shape[0] // size)
    return jnp.pad(points, ((0, groups * size - points.shape[0]), (0, 0)), mode="edge").reshape(groups, size, -1)


def _blocks(heads: tuple[Array, ...], points: int) -> tuple[Array, ...]:
    """Arrays (H, …) as (blocks, h, …), filled up with heads of mass 0."""
    count = heads[0].shape[0]
    size = max(1, min(count, TOGETHER // min(POINTS, points)))
    blocks = -(-count // size)
    pad = blocks * size - count

    a, v, mass = heads

    def filled(leaf: Array) -> Array:
        # A copy of the last head keeps its arguments inside the table's box; only its mass is 0.
        return jnp.concatenate([leaf, jnp.broadcast_to(leaf[-1:], (pad, *leaf.shape[1:]))]) if pad else leaf

    parts = (filled(a), filled(v), jnp.pad(mass, (0, pad)))
    return tuple(part.reshape(blocks, size, *part.shape[1:]) for part in parts)
