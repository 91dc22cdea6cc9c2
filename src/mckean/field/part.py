"""The part of an evaluation that is done in one place: some of the heads, asked about some of the tokens, in the presence of all.

Everything is a part of itself: where `part` is None, all of it is done here.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Array, Index
from mckean.heads.base import Head


class Part(eqx.Module):
    """Rows `start`, …, `start + count` of the queries; rows past the last are copies of it, whose answers nobody uses.

    `heads` are all heads of the measure: the box of a table is made for them, so that every part reads the same table.
    """

    heads: Head
    start: Index
    count: int = eqx.field(static=True)
    parts: int = eqx.field(static=True)

    def own(self, rows: Array) -> Array:
        """This part's rows of an array (…, M, d): (…, count, d)."""
        beyond = self.parts * self.count - rows.shape[-2]
        if self.parts == 1 and not beyond:
            return rows
        filled = jnp.pad(rows, [*[(0, 0)] * (rows.ndim - 2), (0, beyond), (0, 0)], mode="edge") if beyond else rows
        return jax.lax.dynamic_slice_in_dim(filled, self.start, self.count, axis=-2)

    def put(self, rows: Array, like: Array) -> Array:
        """The transpose of `own`, for rows that are 0 past the last: those of this part in an array of zeros like `like`."""
        if rows.shape == like.shape and self.parts == 1:
            return rows
        whole = jnp.zeros((*like.shape[:-2], self.parts * self.count, like.shape[-1]), rows.dtype)
        return jax.lax.dynamic_update_slice_in_dim(whole, rows, self.start, axis=-2)[..., : like.shape[-2], :]


def own(part: Part | None, rows: Array) -> Array:
    """The rows (…, M, d) that are asked about here."""
    return rows if part is None else part.own(rows)


def put(part: Part | None, rows: Array, like: Array) -> Array:
    """Answers at the rows asked about here, in their places among all."""
    return rows if part is None else part.put(rows, like)


def every(part: Part | None, heads: Any) -> Any:
    """All heads of the measure."""
    return heads if part is None else part.heads
