r"""Between particles and the Chebyshev nodes of a grid of cells: `gather` reads a grid at points, `spread` is its transpose.

A grid T has shape (cells, p, …, p, c): c numbers at the p^k nodes of each cell. With Lagrange polynomials ℓ and in-cell coordinates
t in [-1, 1]^k,

    gather(T)_m = Σ_i ℓ_i1(t_m1) ⋯ ℓ_ik(t_mk) T[cell_m, i],     spread(q)[cell, i] = Σ_{m in cell} ℓ_i(t_m) q_m.

Each is the other's transpose, and the derivative of both in t is `slope`; the three close the reverse mode, without ever holding p^k numbers
a point. Points are done in groups, so that what a group needs stays in the cache.
"""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from mckean._shapes import Array
from mckean.field.tabulated.bounds import nodes

GROUP = 2048


@cache
def to_lagrange(p: int) -> np.ndarray:
    """C (2, p, p): ℓ_k(t) = Σ_m T_m(t) C[0, m, k] and ℓ_k'(t) = Σ_m T_m(t) C[1, m, k], in Chebyshev polynomials T_m."""
    values = np.cos(np.outer(np.arccos(nodes(p)), np.arange(p))).T * 2 / p
    values[0] /= 2
    slopes = np.polynomial.chebyshev.chebder(values, axis=0)
    return np.stack([values, np.concatenate([slopes, np.zeros((p - len(slopes), p))])])


def polynomials(t: Array, p: int, order: int = 0) -> Array:
    """ℓ_k(t) (..., p), or their derivatives for order 1.

    By a product with T_m(t): a product is not fused into what follows, where it would be computed again for every node.
    """
    return jnp.stack(chebyshev(t, p), axis=-1) @ jnp.asarray(to_lagrange(p)[order], t.dtype)


def chebyshev(t: Array, p: int) -> list[Array]:
    """T_m(t) for m < p, each from two of half its degree."""
    known = {0: jnp.ones_like(t), 1: t}
    for m in range(2, p):
        half = m // 2
        known[m] = 2 * known[half] * known[m - half] - (1.0 if m % 2 == 0 else t)
    return [known[m] for m in range(p)]


def grouped(tree, most: int = GROUP):
    """Arrays (count, ...) as (groups, size, ...), the last group filled with zeros: points of cell 0 and charge 0."""
    count = jax.tree.leaves(tree)[0].shape[0]
    size = min(most, count)
    groups = -(-count // size)

    def one(leaf: Array) -> Array:
        pad = [(0, groups * size - count)] + [(0, 0)] * (leaf.ndim - 1)
        return jnp.pad(leaf, pad).reshape(groups, size, *leaf.shape[1:])

    return jax.tree.map(one, tree)


def by_axis(t: Array, p: int, order: int = 0) -> list[Array]:
    """`polynomials` along each axis of t (m, k)."""
    return [polynomials(t[:, a], p, order) for a in range(t.shape[1])]


def _rows(grid: Array, cell: Array, index: tuple[int, ...]) -> Array:
    """The last axis of nodes and the charges of each point's cell: (m, p, c)."""
    part = grid[(slice(None), *index)]
    return part.reshape(part.shape[0], -1)[cell].reshape(cell.shape[0], *part.shape[1:])


def contract(grid: Array, cell: Array, weights: list[Array], index: tuple[int, ...] = ()) -> Array:
    """The numbers (m, c) of one group of points from their polynomials; the axes before `index` are fixed."""
    axis = len(index)
    if axis == len(weights) - 1:
        return jnp.sum(weights[axis][:, :, None] * _rows(grid, cell, index), axis=1)
    total = jnp.zeros((cell.shape[0], grid.shape[-1]), grid.dtype)
    for i in range(weights[axis].shape[1]):
        total = total + weights[axis][:, i, None] * contract(grid, cell, weights, (*index, i))
    return total


def deposit(grid: Array, cell: Array, weights: list[Array], charges: Array) -> Array:
    """The grid with the charges (m, c) of one group of points added."""
    m, axes, p = charges.shape[0], len(weights), grid.shape[1]
    rows = charges.reshape(m, *(1,) * axes, -1)
    for a in reversed(range(axes)):
        rows = weights[a].reshape(m, *(1,) * a, p, *(1,) * (axes - a)) * rows
    return grid.at[cell].add(rows, mode="promise_in_bounds")


def differentiate(grid: Array, cell: Array, charges: Array, weights: list[Array], slopes: list[Array]) -> Array:
    """∂/∂t of ⟨charges, contract(grid)⟩ for one group of points, (m, k)."""
    return jnp.stack(_walk(grid, cell, charges, weights, slopes, ())[1:], axis=1)


def _walk(grid, cell, charges, weights, slopes, index: tuple[int, ...]) -> list[Array]:
    """The contraction over the axes from len(index) on: its value, then its derivative along each of them."""
    axis = len(index)
    if axis == len(weights) - 1:
        row = jnp.sum(_rows(grid, cell, index) * charges[:, None, :], axis=2)
        return [jnp.sum(weights[axis] * row, axis=1), jnp.sum(slopes[axis] * row, axis=1)]
    totals = [jnp.zeros_like(charges[:, 0])] * (len(weights) - axis + 1)
    for i in range(weights[axis].shape[1]):
        value, *rest = _walk(grid, cell, charges, weights, slopes, (*index, i))
        terms = [weights[axis][:, i] * value, slopes[axis][:, i] * value, *(weights[axis][:, i] * r for r in rest)]
        totals = [total + term for total, term in zip(totals, terms, strict=True)]
    return totals


@jax.custom_vjp
def gather(grid: Array, cell: Array, t: Array, back: Array | None = None) -> Array:
    """The grid at points (m, c). `back` (m,) multiplies what each point sends back to the grid in reverse mode (None: 1)."""
    p, count = grid.shape[1], t.shape[0]

    def body(_, part):
        where, place = part
        return None, contract(grid, where, by_axis(place, p))

    _, out = jax.lax.scan(body, None, grouped((cell, t)))
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
    axes = t.shape[1]

    def body(total: Array, part):
        where, place, rows = part
        return deposit(total, where, by_axis(place, p), rows), None

    zero = jnp.zeros((cells, *(p,) * axes, charges.shape[-1]), charges.dtype)
    return jax.lax.scan(body, zero, grouped((cell, t, charges)))[0]


def _spread_forward(cell, t, charges, cells, p):
    return spread(cell, t, charges, cells, p), (cell, t, charges)


def _spread_backward(cells, p, saved, g):
    cell, t, charges = saved
    return None, slope(g, cell, t, charges), gather(g, cell, t)


spread.defvjp(_spread_forward, _spread_backward)


def slope(grid: Array, cell: Array, t: Array, charges: Array) -> Array:
    """∂/∂t_m of ⟨charges_m, gather(grid)_m⟩, (m, k)."""
    p, (count, axes) = grid.shape[1], t.shape

    def body(_, part):
        where, place, q = part
        return None, differentiate(grid, where, q, by_axis(place, p), by_axis(place, p, 1))

    _, out = jax.lax.scan(body, None, grouped((cell, t, charges)))
    return out.reshape(-1, axes)[:count]
