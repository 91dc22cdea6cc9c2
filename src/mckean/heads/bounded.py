"""Heads whose outputs are bounded on all of Θ."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._arguments import positive
from mckean._shapes import Token, Tokens
from mckean.errors import Refused
from mckean.heads.attention import TILE
from mckean.heads.base import Head
from mckean.heads.block import Block
from mckean.measures.empirical import Empirical

ADVICE = " One number bounds all heads; leave the head unwrapped for no bound."


class Bounded(Head):
    r"""A head whose output parameters pass through $v \mapsto c\tanh(v/c)$, elementwise.

    θ ↦ φ_θ(x, μ) is then bounded on all of Θ for tokens in a ball, which is what Holley–Stroock needs. With `inner_bound` the
    other parameters (Q and K of attention, w and b of a hidden unit) are bounded in the same way, which the constants uniform in θ need.
    |θ|² in the confinement is that of the parameters before the bound.

    Arguments:
        head: any batch whose kind names its `outputs` (Softmax: value; Perceptron: output; a Block: those of its parts).
        bound: finite c > 0.  inner_bound: finite c > 0 for all other parameters, or None (unbounded).

    Source: mathematics, section 1.
    """

    head: Head
    bound: float = eqx.field(static=True, converter=lambda c: positive(c, "bound", "positive and finite", ADVICE))
    inner_bound: float | None = eqx.field(
        static=True,
        default=None,
        converter=lambda c: None if c is None else positive(c, "inner_bound", "positive and finite", ADVICE),
    )

    def __check_init__(self):
        _squash(self.head, self.bound, self.inner_bound)

    def map(self, x: Token, mu: Empirical) -> Token:
        return self.bounded.map(x, mu)

    def apply(self, x: Tokens, mu: Empirical, tile: int | None = TILE) -> Tokens:
        return self.bounded.apply(x, mu, tile)

    def costate(self, mu: Empirical, p: Tokens, tile: int | None = TILE) -> Tokens:
        return self.bounded.costate(mu, p, tile)

    @property
    def token_dim(self) -> int | None:
        return self.head.token_dim

    @property
    def bounded(self) -> Head:
        """The head with its parameters after the bound."""
        return _squash(self.head, self.bound, self.inner_bound)


def _squash(head: Head, bound: float, inner: float | None) -> Head:
    if isinstance(head, Block):
        # Not by the constructor, which compares batches: this may be one head, without its axis H.
        parts = (_squash(head.attention, bound, inner), _squash(head.perceptron, bound, inner))
        return eqx.tree_at(lambda block: (block.attention, block.perceptron), head, parts)
    if not head.outputs:
        raise Refused(
            f"{type(head).__name__} does not say which of its fields are outputs, so they cannot be bounded; "
            "give the class `outputs = ('field name', ...)`."
        )
    fields = [f.name for f in dataclasses.fields(head) if not f.metadata.get("static", False)]
    limits = {name: bound if name in head.outputs else inner for name in fields}
    new = {
        name: jax.tree.map(lambda v, c=limit: c * jnp.tanh(v / c), getattr(head, name))
        for name, limit in limits.items()
        if limit is not None
    }
    names = list(new)
    return eqx.tree_at(lambda h: [getattr(h, name) for name in names], head, [new[name] for name in names])
