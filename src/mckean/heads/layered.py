"""Heads that change with depth."""

from typing import ClassVar

import jax

from mckean._shapes import Index, Token
from mckean.errors import Refused
from mckean.heads.base import Head
from mckean.measures.empirical import Empirical


class Layered(Head):
    """One batch of heads a depth layer: ρ_t is piecewise constant in t on `layers` equal intervals of [0, T].

    Argument: heads, any batch whose arrays carry a layer axis before the head axis: (layers, H, ...). `Empirical(Layered(heads))` has
    weights (layers, H), one probability vector a layer. The number of layers must divide the number of depth steps.
    Source: mathematics, sections 2 and 3.
    """

    atom_axes: ClassVar[int] = 2

    heads_by_layer: Head

    def __init__(self, heads: Head):
        shapes = {leaf.shape[:2] for leaf in jax.tree.leaves(heads)}
        if len(shapes) != 1 or len(next(iter(shapes))) != 2:
            raise Refused(f"Layered heads need arrays (layers, H, ...) throughout; found leading axes {sorted(shapes)}.")
        self.heads_by_layer = heads

    @classmethod
    def repeat(cls, heads: Head, layers: int) -> "Layered":
        """The same heads in every layer: the tied measure written as a layered one."""
        return cls(jax.tree.map(lambda leaf: jax.numpy.repeat(leaf[None], layers, axis=0), heads))

    def map(self, x: Token, mu: Empirical) -> Token:
        raise Refused("Layered heads have no map of their own; take one layer's heads with `.layer(index)`.")

    def layer(self, index: int | Index) -> Head:
        """The batch of heads of one layer, arrays (H, ...)."""
        return jax.tree.map(lambda leaf: leaf[index], self.heads_by_layer)

    @property
    def layers(self) -> int:
        """The number of depth layers."""
        return jax.tree.leaves(self)[0].shape[0]
