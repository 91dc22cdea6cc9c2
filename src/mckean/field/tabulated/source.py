"""What the heads of a cloud read: one table for all, or the cloud itself, from which each head makes its own."""

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Array, Queries, Tokens
from mckean.field.tabulated.frames import kernel, own_frame, shared_frame, softmax_of
from mckean.field.tabulated.parts import parts
from mckean.field.tabulated.plan import Plan
from mckean.field.tabulated.table import Table, build, moments, transform
from mckean.heads.base import Head
from mckean.heads.perceptron import Perceptron
from mckean.heads.softmax import Softmax
from mckean.measures.empirical import unchecked


class SharedTable(eqx.Module):
    """All heads read one table, at u = A_hᵀx."""

    table: Table

    def read(self, block: Head, points: Array, sent: Array | None) -> Array:
        """φ_h (h, m, d) at each head's points (h, m, d); `sent` (h, m) multiplies what they send back to the table in reverse mode."""
        softmax, units = _parts(block)
        u = jnp.einsum("hab,hma->hmb", softmax.bilinear, points)
        flat = None if sent is None else sent.reshape(-1)
        m = self.table(u.reshape(-1, u.shape[-1]), flat).reshape(points.shape)
        return _values(softmax, units, m, points)

    def to_tokens(self, cotangent: "SharedTable", x: Tokens, w: Array, unit: bool, plan: Plan) -> Tokens:
        """What came back to the table, carried to the tokens; with `unit`, per unit of their mass."""
        frame = self.table.frame
        mass = jnp.ones_like(w) if unit else None
        charges = moments(x, x, w, frame, plan)
        _, to_charges = jax.vjp(lambda c: transform(c, frame, plan).grid, charges)
        _, to_points = jax.vjp(lambda y: moments(y, y, w, frame, plan, mass), x)
        return to_points(to_charges(cotangent.table.grid)[0])[0]


class OwnTables(eqx.Module):
    """Each head, one at a time, makes a table of its keys K_h y and reads it at Q_h x."""

    x: Tokens
    w: Array
    plan: Plan = eqx.field(static=True)
    unit: bool = eqx.field(static=True)

    def read(self, block: Head, points: Array, sent: Array | None) -> Array:
        """As `SharedTable.read`, for a block of one head."""
        softmax, units = _parts(block)
        head: Softmax = jax.tree.map(lambda leaf: leaf[0], softmax)
        k = kernel(head, self.x, points[0])
        frame, _ = own_frame(self.x, k)
        table = build(k.keys, self.x, self.w, frame, self.plan, self.unit)
        m = table(k.arguments, None if sent is None else sent[0])
        return _values(softmax, units, m[None], points)

    def to_tokens(self, cotangent: "OwnTables", x: Tokens, w: Array, unit: bool, plan: Plan) -> Tokens:
        """What came back to the cloud."""
        return cotangent.x


def source_of(heads: Head, x: Tokens, w: Array, q: Queries, plan: Plan, unit: bool = False) -> SharedTable | OwnTables:
    """What these heads read in the presence of this cloud. With `unit`, derivatives in the tokens are per unit of their mass."""
    if plan.own_tables:
        return OwnTables(x, w, plan, unit)
    frame, _ = shared_frame(softmax_of(heads), x, q, plan.grid is not None)
    return SharedTable(build(x, x, w, frame, plan))


def _parts(block: Head) -> tuple[Softmax, list[Perceptron]]:
    found = parts(block)
    assert found is not None  # a plan is made only for heads that have a table
    return found


def _values(softmax: Softmax, units: list[Perceptron], m: Array, points: Array) -> Array:
    """V_h m and the hidden units beside it, which do not look at the measure."""
    phi = jnp.einsum("hmb,hab->hma", m, softmax.value)
    nobody = unchecked(points[0], jnp.ones(points.shape[1], points.dtype))
    for unit in units:
        phi = phi + jax.vmap(lambda one, q: one.apply(q, nobody, None))(unit, points)
    return phi
