r"""The grid in x: values at the Chebyshev nodes of the cells of a box, read at the queries, and its transpose.

Where there are few cells, the interpolant is taken in Chebyshev polynomials, V(x) = Σ_{m_1 … m_d} T_m1(x_1) ⋯ T_md(x_d) c_m, with all cells of
an axis one after the other and T zero outside the point's own: the first axis is a matrix product and the others are sums over leading
axes with the points last, which a processor does in whole vectors. That takes less time than to gather the p^d numbers of each point's
cell, as is done where there are many cells.
"""

import jax
import jax.numpy as jnp

from mckean._shapes import Array, Queries
from mckean.field.tabulated.costs import FEW_CELLS
from mckean.field.tabulated.interpolation import chebyshev, gather, grouped, spread, to_lagrange
from mckean.field.tabulated.plan import Lattice
from mckean.field.tabulated.table import around

GROUP_NUMBERS = 2**17  # numbers held for a group of points: they stay in the cache


def interpolate(values: Array, box: Queries, q: Queries, lattice: Lattice) -> Array:
    """Values (nodes, c) at the nodes of the grid over the points `box`, read at q (m, d)."""
    if lattice.count > FEW_CELLS:
        grid = values.reshape(lattice.count, *(lattice.p,) * len(lattice.cells), values.shape[-1])
        return gather(grid, *around(box).locate(q, lattice))
    c, per_axis = values.shape[-1], _per_axis(lattice)
    first = _coefficients(values, lattice).reshape(per_axis[0], -1).T

    @jax.checkpoint
    def group(place: Array) -> Array:
        weights = _weights(place, lattice)
        total = (first @ weights[0]).reshape(*per_axis[1:], c, -1)
        for weight in weights[1:]:
            total = jnp.sum(weight.reshape(weight.shape[0], *(1,) * (total.ndim - 2), -1) * total, axis=0)
        return total.T

    places = grouped(_places(box, q), _group_size(lattice, c))
    return jax.lax.map(group, places).reshape(-1, c)[: q.shape[0]]


def anterpolate(charges: Array, box: Queries, q: Queries, lattice: Lattice) -> Array:
    """The transpose of `interpolate` in its values: charges (m, c) at q to (nodes, c)."""
    if lattice.count > FEW_CELLS:
        cell, t = around(box).locate(q, lattice)
        spread_: Array = spread(cell, t, charges, lattice.count, lattice.p)
        return spread_.reshape(-1, charges.shape[-1])
    c, per_axis = charges.shape[-1], _per_axis(lattice)

    def group(total: Array, part) -> tuple[Array, None]:
        place, given = part
        weights, rows = _weights(place, lattice), given.T
        for weight in reversed(weights[1:]):
            rows = weight.reshape(weight.shape[0], *(1,) * (rows.ndim - 1), -1) * rows[None]
        return total + weights[0] @ rows.reshape(-1, rows.shape[-1]).T, None

    size = _group_size(lattice, c)
    parts = grouped((_places(box, q), charges), size)
    columns = lattice.nodes // per_axis[0] * c
    total, _ = jax.lax.scan(group, jnp.zeros((per_axis[0], columns), charges.dtype), parts)
    return _to_nodes(total.reshape(*per_axis, c), lattice)


def _per_axis(lattice: Lattice) -> tuple[int, ...]:
    return tuple(cells * lattice.p for cells in lattice.cells)


def _group_size(lattice: Lattice, c: int) -> int:
    return max(64, GROUP_NUMBERS // (c * max(_per_axis(lattice)) * max(1, lattice.nodes // _per_axis(lattice)[0])) * 16)


def _places(box: Queries, q: Queries) -> Array:
    """The points in units of the box, in [-1, 1]^d."""
    frame = around(box)
    return (q - frame.middle[None]) / frame.half[None]


def _weights(place: Array, lattice: Lattice) -> list[Array]:
    """T_m(x_a) of all cells along each axis, (cells · p, points)."""
    found = []
    for a, cells in enumerate(lattice.cells):
        scaled = 0.5 * (place[:, a] + 1) * cells
        index = jax.lax.stop_gradient(jnp.clip(jnp.floor(scaled), 0, cells - 1))
        near = jnp.stack(chebyshev(2 * (scaled - index) - 1, lattice.p))
        if cells > 1:
            here = (index[None] == jnp.arange(cells, dtype=index.dtype)[:, None]).astype(place.dtype)
            near = (here[:, None] * near[None]).reshape(cells * lattice.p, -1)
        found.append(near)
    return found


def _coefficients(values: Array, lattice: Lattice) -> Array:
    """From values cell by cell, the order of a grid, to coefficients of Chebyshev polynomials, one axis after the other: (n_1, …, n_d, c)."""
    k = len(lattice.cells)
    matrix = jnp.asarray(to_lagrange(lattice.p)[0], values.dtype)
    total = values.reshape(*lattice.cells, *(lattice.p,) * k, -1)
    for a in range(k):
        total = jnp.moveaxis(jnp.tensordot(matrix, total, axes=(1, k + a)), 0, k + a)
    order = [*(axis for a in range(k) for axis in (a, k + a)), 2 * k]
    return total.transpose(order).reshape(*_per_axis(lattice), -1)


def _to_nodes(totals: Array, lattice: Lattice) -> Array:
    """The transpose of `_coefficients`: (nodes, c)."""
    k = len(lattice.cells)
    matrix = jnp.asarray(to_lagrange(lattice.p)[0], totals.dtype)
    split = totals.reshape(*(n for cells in lattice.cells for n in (cells, lattice.p)), -1)
    total = split.transpose(*range(0, 2 * k, 2), *range(1, 2 * k, 2), 2 * k)
    for a in range(k):
        total = jnp.moveaxis(jnp.tensordot(matrix, total, axes=(0, k + a)), 0, k + a)
    return total.reshape(lattice.nodes, -1)
