r"""One table of m(u) = Σ_j w_j y_j e^{⟨u, z_j⟩} / Σ_j w_j e^{⟨u, z_j⟩}, for keys z_j in R^k (k ≤ 3) and values y_j in R^d.

The charges (w_j (y_j − ȳ), w_j) are spread on Chebyshev nodes of key cells, carried to Chebyshev nodes of boxes in u by one dense product
an axis, with factors e^{u_a z_a}, and read there. The geometry (boxes, centres, scalings) takes no part in derivatives: what it changes is
only the error.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Array
from mckean.field.tabulated.bounds import nodes
from mckean.field.tabulated.interpolation import gather, spread
from mckean.field.tabulated.plan import Lattice, Plan, largest_fall


class Box(eqx.Module):
    """A box in R^k: middle and half widths (k,), none of them zero."""

    middle: Array
    half: Array

    def locate(self, points: Array, lattice: Lattice) -> tuple[Array, Array]:
        """The cell (m,) of each point and its coordinates in [-1, 1] there (m, k)."""
        counts = jnp.asarray(lattice.cells, points.dtype)[None]
        place = (points - self.middle[None]) / self.half[None]
        scaled = 0.5 * (place + 1) * counts
        index = jax.lax.stop_gradient(jnp.clip(jnp.floor(scaled), 0, counts - 1))
        cell = jnp.zeros(points.shape[0], jnp.int32)
        for a, count in enumerate(lattice.cells):
            cell = cell * count + index[:, a].astype(jnp.int32)
        return cell, 2 * (scaled - index) - 1

    def axis(self, a: int, lattice: Lattice) -> Array:
        """The coordinates of all nodes along axis a, (cells, p)."""
        cells = lattice.cells[a]
        left = jnp.arange(cells, dtype=self.half.dtype)[:, None]
        place = (2 * left + 1 + jnp.asarray(nodes(lattice.p), self.half.dtype)[None]) / cells - 1
        return self.middle[a] + self.half[a] * place

    def lattice_points(self, lattice: Lattice) -> Array:
        """Every node, (nodes, k), cell by cell: the order in which a grid is stored."""
        k, p = len(lattice.cells), lattice.p
        axes = [self.axis(a, lattice) for a in range(k)]
        columns = []
        for a in range(k):
            shape = [1] * (2 * k)
            shape[a], shape[k + a] = lattice.cells[a], p
            columns.append(jnp.broadcast_to(axes[a].reshape(shape), (*lattice.cells, *(p,) * k)).reshape(-1))
        return jnp.stack(columns, axis=1)


def around(points: Array) -> Box:
    """The box of a cloud; a side without extent gets a thousandth of the longest. Not differentiated."""
    low, high = jax.lax.stop_gradient((jnp.min(points, axis=0), jnp.max(points, axis=0)))
    half = 0.5 * (high - low)
    longest = jnp.where(jnp.max(half) > 0, jnp.max(half), 1.0)
    return Box(0.5 * (low + high), jnp.maximum(half, 1e-3 * longest))


class Frame(eqx.Module):
    """Where a table lives: the boxes of keys and of u, and the centre ȳ of the values."""

    keys: Box
    arguments: Box
    centre: Array

    def tilt(self, z: Array, w: Array) -> Array:
        """e^{⟨ū, z_j − z̄⟩}, divided by its largest over atoms of positive mass: the middle of the u-box is then at rest. (N,)"""
        exponent = (z - self.keys.middle[None]) @ self.arguments.middle
        top = jnp.max(jnp.where(w > 0, exponent, -jnp.inf))
        # Only atoms of mass 0 can lie above it: they stay finite.
        most = largest_fall(8 * exponent.dtype.itemsize)
        return jnp.exp(jnp.minimum(exponent - jax.lax.stop_gradient(top), most))


class Table(eqx.Module):
    """Charges on the nodes of the boxes in u (boxes, p, …, p, d + 1), normalised, and each box's barycentre (boxes, d)."""

    grid: Array
    barycentres: Array
    frame: Frame
    lattice: Lattice = eqx.field(static=True)

    def __call__(self, u: Array, back: Array | None = None) -> Array:
        """m (m, d) at the arguments u (m, k). `back` multiplies what each argument sends back to the table in reverse mode."""
        arguments, barycentres = jax.lax.stop_gradient((self.frame.arguments, self.barycentres))
        cell, t = arguments.locate(u, self.lattice)
        read = gather(self.grid, cell, t, back)
        return barycentres[cell] + read[:, :-1] / read[:, -1:]


def moments(z: Array, y: Array, w: Array, frame: Frame, plan: Plan, mass: Array | None = None) -> Array:
    """The charges on the nodes of the key cells; with `mass`, those of other masses in the scale of w."""
    cell, t = frame.keys.locate(z, plan.keys)
    mass = (w if mass is None else mass) * frame.tilt(z, w)
    charges = jnp.concatenate([mass[:, None] * (y - frame.centre[None]), mass[:, None]], axis=1)
    return spread(cell, t, charges, plan.keys.count, plan.keys.p)


def transform(charges: Array, frame: Frame, plan: Plan) -> Table:
    """From key cells to boxes in u: dense products with e^{(u_a − ū_a)(z_a − z̄_a)}, one an axis; then normalised and recentred."""
    keys, boxes = plan.keys, plan.boxes
    k, c = len(keys.cells), charges.shape[-1]
    order = [*(axis for a in range(k) for axis in (a, k + a)), 2 * k]
    total = charges.reshape(*keys.cells, *(keys.p,) * k, c).transpose(order)
    total = total.reshape(*(cells * keys.p for cells in keys.cells), c)
    for a in range(k):
        u = frame.arguments.axis(a, boxes) - frame.arguments.middle[a]
        z = (frame.keys.axis(a, keys) - frame.keys.middle[a]).reshape(-1)
        # The largest exponent of the box's middle: constant in a box, so that it drops out of the quotient.
        shift = jnp.abs(jnp.mean(u, axis=1, keepdims=True)) * frame.keys.half[a]
        factor = jnp.exp(u[:, :, None] * z[None, None] - shift[:, :, None]).reshape(-1, z.shape[0])
        total = jnp.moveaxis(jnp.tensordot(factor, total, axes=(1, a)), 0, a)
    split = [n for cells in boxes.cells for n in (cells, boxes.p)]
    total = total.reshape(*split, c).transpose(*range(0, 2 * k, 2), *range(1, 2 * k, 2), 2 * k)
    total = total.reshape(boxes.count, *(boxes.p,) * k, c)
    flat = jax.lax.stop_gradient(total).reshape(boxes.count, -1, c)
    top = jnp.max(flat[:, :, -1], axis=1)
    scale = 1 / top
    centres = jnp.sum(flat[:, :, :-1] * scale[:, None, None], axis=1) / jnp.sum(flat[:, :, -1] * scale[:, None], axis=1)[:, None]
    each = (slice(None), *(None,) * k)
    total = total * scale[(*each, None)]
    numerator = total[..., :-1] - centres[each] * total[..., -1:]
    grid = jnp.concatenate([numerator, total[..., -1:]], axis=-1)
    return Table(grid, centres + frame.centre[None], frame, boxes)


def build(z: Array, y: Array, w: Array, frame: Frame, plan: Plan, unit: bool = False) -> Table:
    """The table of a cloud: keys z (N, k), values y (N, d), masses w (N,). With `unit`, derivatives are per unit of an atom's mass."""
    charges = moments(z, y, w, frame, plan)
    if unit:
        density = moments(z, y, w, frame, plan, jnp.ones_like(w))
        charges = jax.lax.stop_gradient(charges) + (density - jax.lax.stop_gradient(density))
    return transform(charges, frame, plan)
