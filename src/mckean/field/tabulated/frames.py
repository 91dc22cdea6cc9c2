"""Where the tables of a cloud live, what the cloud asks of them, and whether a plan covers that."""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from mckean._shapes import Array, HeadMasses, Queries, Tokens
from mckean.field.tabulated.parts import parts, rank
from mckean.field.tabulated.plan import Lattice, Plan, largest_fall
from mckean.field.tabulated.table import Box, Frame, around
from mckean.heads.base import Head
from mckean.heads.softmax import Softmax

LEAST = 0.02  # every plan covers such exponents in one cell


class Live(NamedTuple):
    """What this cloud asks of the table now: β (k,), the same for a grid in x (d,), the largest exponent (), and its `fall` ()."""

    exponents: Array
    queries: Array
    total: Array
    fall: Array


class Kernel(NamedTuple):
    """One head's keys z (N, k) and arguments u (M, k)."""

    keys: Array
    arguments: Array


def kernel(head: Softmax, x: Tokens, q: Queries) -> Kernel:
    """The low-rank form of one head: logits ⟨scale·Q q, K x⟩."""
    arguments, keys = head.logit_factors(q, x)
    return Kernel(keys, arguments)


def shared_frame(softmax: Softmax, x: Tokens, w: Array, q: Queries, grid: bool) -> tuple[Frame, Live]:
    """The frame of the one table of all heads, and what it asks.

    The arguments of every query of every head lie inside by construction: each head's are bounded by the queries' box (and, where no grid
    reads the box's corners, by the queries' distance from its middle).
    """
    queries, middle_x = around(q), _middle(x)
    a = jax.lax.stop_gradient(softmax.bilinear)  # u = Aᵀ x
    # A grid in x also reads nodes beside queries that lie in a plane.
    half = queries.half if grid else _extent(q)
    reach = jnp.einsum("hab,a->hb", jnp.abs(a), half)
    if not grid:
        radius = jax.lax.stop_gradient(jnp.sqrt(jnp.max(jnp.sum((q - queries.middle[None]) ** 2, axis=1))))
        reach = jnp.minimum(reach, radius * jnp.sqrt(jnp.sum(a * a, axis=1)))
    reach = reach * (1 + 1e-6)  # rounding of the arguments
    middle = jnp.einsum("hab,a->hb", a, queries.middle)
    lowest, highest = jax.lax.stop_gradient((jnp.min(middle - reach, axis=0), jnp.max(middle + reach, axis=0)))
    extent = _extent(x)
    exponents = 0.5 * (highest - lowest) * extent
    frame = _frame(middle_x, extent, 0.5 * (lowest + highest), 0.5 * (highest - lowest), middle_x)
    rad = _radius(x, middle_x)
    along = jnp.minimum(jnp.einsum("hab,b->ha", jnp.abs(a), extent), rad * jnp.sqrt(jnp.sum(a * a, axis=2)))
    total = jnp.sum(2 * exponents + jnp.abs(frame.arguments.middle) * extent)
    return frame, Live(exponents, half * jnp.max(along, axis=0), total, _fall(x, w, frame, extent))


def own_frame(x: Tokens, w: Array, k: Kernel) -> tuple[Frame, Live]:
    """The frame of one head's own table."""
    keys, arguments = _extent(k.keys), _extent(k.arguments)
    exponents = keys * arguments
    frame = _frame(_middle(k.keys), keys, _middle(k.arguments), arguments, _middle(x))
    total = jnp.sum(2 * exponents + jnp.abs(frame.arguments.middle) * keys)
    return frame, Live(exponents, jnp.zeros(0, x.dtype), total, _fall(k.keys, w, frame, keys))


def _frame(key_middle: Array, keys: Array, argument_middle: Array, arguments: Array, centre: Array) -> Frame:
    """Boxes of given half widths, widened where a side is so thin that a point's place in it would be rounding: without extent, say.

    No exponent β_a grows beyond LEAST by that.
    """
    widest = jnp.max(arguments)
    spread = jnp.where(jnp.max(keys) > 0, jnp.max(keys), jnp.where(widest > 0, LEAST / widest, 1.0))
    widest = jnp.maximum(widest, LEAST / spread)
    boxes = (Box(key_middle, jnp.maximum(keys, LEAST / widest)), Box(argument_middle, jnp.maximum(arguments, LEAST / spread)))
    return Frame(*jax.lax.stop_gradient(boxes), centre)


def _fall(z: Array, w: Array, frame: Frame, extent: Array) -> Array:
    r"""How far below the shift of a table the largest term of its sum can lie, as an exponent, at any u of the box: e^{-fall} ≤ Z, nearly.

    A table's exponents are shifted by Σ_a |ũ_a| h_a, ũ = u − ū, and the masses by the largest of ⟨ū, z_j⟩. In each orthant of ũ, of signs s, take
    the token furthest towards the box's corner there: its term is off by at most Σ_a U_a (h_a − s_a z_a) + max_j ⟨ū, z_j⟩ − ⟨ū, z⟩ − log w,
    of which every part is non-negative. A ball asks for 2 − √2 of what an unknown cloud of its box might, in the plane.
    """
    z = jax.lax.stop_gradient(z) - frame.keys.middle[None]
    tilted = z @ frame.arguments.middle
    log_mass = jnp.where(w > 0, jnp.log(jnp.maximum(w, jnp.finfo(w.dtype).tiny)), -jnp.inf)
    top = jnp.max(jnp.where(w > 0, tilted, -jnp.inf))
    reach = frame.arguments.half
    falls = []
    for signs in itertools.product((-1.0, 1.0), repeat=z.shape[1]):
        towards = z @ (jnp.asarray(signs, z.dtype) * reach) + tilted + log_mass
        falls.append(jnp.sum(reach * extent) + top - jnp.max(towards))
    return jax.lax.stop_gradient(jnp.max(jnp.stack(falls)))


def _extent(points: Array) -> Array:
    """Half widths, 0 where there is none."""
    return jax.lax.stop_gradient(0.5 * (jnp.max(points, axis=0) - jnp.min(points, axis=0)))


def _middle(points: Array) -> Array:
    return around(points).middle


def live(heads: Head, x: Tokens, w: Array, q: Queries, grid: bool = True) -> Live:
    """What the cloud asks of a table."""
    softmax = softmax_of(heads)
    if not rank(softmax)[1]:
        return shared_frame(softmax, x, w, q, grid)[1]
    each = jax.lax.map(lambda head: own_frame(x, w, kernel(head, x, q))[1], softmax)
    return Live(jnp.max(each.exponents, axis=0), each.queries[0], jnp.max(each.total), jnp.max(each.fall))


def fits(asked: Live, plan: Plan) -> Array:
    """Whether the plan's bound holds for this cloud."""
    bits = 8 * asked.total.dtype.itemsize

    def within(values: Array, lattice: Lattice) -> Array:
        most = jnp.asarray([cells * lattice.length for cells in lattice.cells], values.dtype)
        return jnp.all(values <= most * (1 + 1e-9 if bits == 64 else 1 + 1e-5))

    good = within(asked.exponents, plan.keys) & within(asked.exponents, plan.boxes) & (asked.fall <= largest_fall(bits))
    return good if plan.grid is None else good & within(asked.queries, plan.grid)


def scale(heads: Head, mass: HeadMasses, x: Tokens) -> Array:
    """Σ_h mass_h |V_h| · max|y − ȳ|, the unit of a plan's error."""
    return _size(heads, mass) * _radius(x, around(x).middle)


def bound(heads: Head, mass: HeadMasses, x: Tokens, plan: Plan) -> Array:
    """The certificate: the error of V at no query exceeds it in norm, whatever the tokens and masses are."""
    away = jnp.sqrt(jnp.sum(around(x).middle ** 2))
    return plan.error * scale(heads, mass, x) + 16 * jnp.finfo(x.dtype).eps * _size(heads, mass) * away


def _size(heads: Head, mass: HeadMasses) -> Array:
    """Σ_h mass_h |V_h|, Frobenius."""
    value = softmax_of(heads).value
    return jnp.sum(mass * jnp.sqrt(jnp.sum(value * value, axis=(1, 2))))


def _radius(x: Tokens, middle: Array) -> Array:
    return jax.lax.stop_gradient(jnp.sqrt(jnp.max(jnp.sum((x - middle[None]) ** 2, axis=1))))


def softmax_of(heads: Head) -> Softmax:
    """The softmax part of heads that have a table."""
    found = parts(heads)
    assert found is not None  # the plan was made for heads that have a table
    return found[0]
