r"""Between particles and the Chebyshev nodes of a grid of cells: `gather` reads a grid at points, `spread` is its transpose.

A grid T has shape (cells, p, …, p, c): c numbers at the p^k nodes of each cell. With Lagrange polynomials ℓ and in-cell coordinates
t in [-1, 1]^k,

    gather(T)_m = Σ_i ℓ_i1(t_m1) ⋯ ℓ_ik(t_mk) T[cell_m, i],     spread(q)[cell, i] = Σ_{m in cell} ℓ_i(t_m) q_m.

Each is the other's transpose, and the derivative of both in t is `slope`; the three close the reverse mode, without ever holding p^k numbers
a point. Points are done in groups so that what a group needs stays in the cache; the polynomials are computed outside that loop,
because XLA would otherwise compute them again for every node.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from mckean._shapes import Array
from mckean.field.tabulated.bounds import nodes

GROUP = 2048


def polynomials(t: Array, p: int) -> Array:
    """ℓ_k(t) (..., p), exact to rounding at and beyond the nodes."""
    z = nodes(p)
    factors = [t - float(zk) for zk in z]
    columns = []
    for k in range(p):
        others = [factors[m] for m in range(p) if m != k]
        value = jnp.full_like(t, 1.0 / float(np.prod([z[k] - z[m] for m in range(p) if m != k])))
        for factor in others:
            value = value * factor
        columns.append(value)
    return jnp.stack(columns, axis=-1)


def derivatives(t: Array, p: int) -> Array:
    """ℓ_k'(t) (..., p)."""
    z = nodes(p)
    columns = []
    for k in range(p):
        others = [m for m in range(p) if m != k]
        value, slope = jnp.ones_like(t), jnp.zeros_like(t)
        for m in others:
            slope = slope * (t - float(z[m])) + value
            value = value * (t - float(z[m]))
        columns.append(slope / float(np.prod([z[k] - z[m] for m in others])))
    return jnp.stack(columns, axis=-1)


def _grouped(tree, count: int):
    """Arrays (count, ...) as (groups, GROUP, ...), the last group filled with points of cell 0 and charge 0."""
    size = min(GROUP, count)
    groups = -(-count // size)

    def one(leaf: Array) -> Array:
        pad = [(0, groups * size - count)] + [(0, 0)] * (leaf.ndim - 1)
        return jnp.pad(leaf, pad).reshape(groups, size, *leaf.shape[1:])

    return jax.tree.map(one, tree)


def _rows(grid: Array, cell: Array, index: tuple[int, ...]) -> Array:
    """The last axis of nodes and the charges of each point's cell: (m, p, c)."""
    part = grid[(slice(None), *index)]
    return part.reshape(part.shape[0], -1)[cell].reshape(cell.shape[0], *part.shape[1:])


def _contract(grid: Array, cell: Array, weights: list[Array], index: tuple[int, ...] = ()) -> Array:
    axis = len(index)
    if axis == len(weights) - 1:
        return jnp.sum(weights[axis][:, :, None] * _rows(grid, cell, index), axis=1)
    total = jnp.zeros((cell.shape[0], grid.shape[-1]), grid.dtype)
    for i in range(weights[axis].shape[1]):
        total = total + weights[axis][:, i, None] * _contract(grid, cell, weights, (*index, i))
    return total


@jax.custom_vjp
def gather(grid: Array, cell: Array, t: Array, back: Array | None = None) -> Array:
    """The grid at points (m, c). `back` (m,) multiplies what each point sends back to the grid in reverse mode (None: 1)."""
    p, count = grid.shape[1], cell.shape[0]
    columns = [polynomials(t[:, a], p) for a in range(t.shape[1])]
    body = lambda _, part: (None, _contract(grid, part[0], part[1]))  # noqa: E731
    _, out = jax.lax.scan(body, None, _grouped((cell, columns), count))
    return out.reshape(-1, grid.shape[-1])[:count]


def _gather_forward(grid, cell, t, back=None):
    return gather(grid, cell, t, back), (grid, cell, t, back)


def _gather_backward(saved, g):
    grid, cell, t, back = saved
    sent = g if back is None else g * back[:, None]
    to_grid = spread(cell, t, sent, grid.shape[0], grid.shape[1])
    return to_grid, None, slope(grid, cell, t, g), None if back is None else jnp.zeros_like(back)


gather.defvjp(_gather_forward, _gather_backward)


@partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def spread(cell: Array, t: Array, charges: Array, cells: int, p: int) -> Array:
    """The transpose of `gather`: charges (m, c) of points, on the nodes (cells, p, …, p, c)."""
    axes, count = t.shape[1], cell.shape[0]
    columns = [polynomials(t[:, a], p) for a in range(axes)]

    def body(total: Array, part):
        where, weights, rows = part
        m = rows.shape[0]
        rows = rows.reshape(m, *(1,) * axes, -1)
        for a in reversed(range(axes)):
            rows = weights[a].reshape(m, *(1,) * a, p, *(1,) * (axes - a)) * rows
        return total.at[where].add(rows, mode="promise_in_bounds"), None

    zero = jnp.zeros((cells, *(p,) * axes, charges.shape[-1]), charges.dtype)
    return jax.lax.scan(body, zero, _grouped((cell, columns, charges), count))[0]


def _spread_forward(cell, t, charges, cells, p):
    return spread(cell, t, charges, cells, p), (cell, t, charges)


def _spread_backward(cells, p, saved, g):
    cell, t, charges = saved
    return None, slope(g, cell, t, charges), gather(g, cell, t)


spread.defvjp(_spread_forward, _spread_backward)


def slope(grid: Array, cell: Array, t: Array, charges: Array) -> Array:
    """∂/∂t_m of ⟨charges_m, gather(grid)_m⟩, (m, k)."""
    p, (count, axes) = grid.shape[1], t.shape
    columns = [polynomials(t[:, a], p) for a in range(axes)]
    slopes = [derivatives(t[:, a], p) for a in range(axes)]

    def walk(where: Array, q: Array, weights, tangents, index: tuple[int, ...] = ()) -> list[Array]:
        """The contraction over the axes from len(index) on: its value, then its derivative along each of them."""
        axis = len(index)
        if axis == axes - 1:
            row = jnp.sum(_rows(grid, where, index) * q[:, None, :], axis=2)
            return [jnp.sum(weights[axis] * row, axis=1), jnp.sum(tangents[axis] * row, axis=1)]
        totals = [jnp.zeros_like(q[:, 0])] * (axes - axis + 1)
        for i in range(p):
            value, *rest = walk(where, q, weights, tangents, (*index, i))
            terms = [weights[axis][:, i] * value, tangents[axis][:, i] * value, *(weights[axis][:, i] * r for r in rest)]
            totals = [total + term for total, term in zip(totals, terms, strict=True)]
        return totals

    def body(_, part):
        where, weights, tangents, q = part
        return None, jnp.stack(walk(where, q, weights, tangents)[1:], axis=1)

    _, out = jax.lax.scan(body, None, _grouped((cell, columns, slopes, charges), count))
    return out.reshape(-1, axes)[:count]
