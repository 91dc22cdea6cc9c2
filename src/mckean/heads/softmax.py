"""Softmax attention heads."""

import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer

from mckean._arguments import random_key, real
from mckean._shapes import Array, Key, Queries, Token, Tokens
from mckean.errors import Refused
from mckean.heads.attention import TILE, attend, key_density
from mckean.heads.base import Head, as_parameter
from mckean.measures.empirical import Empirical


class Softmax(Head):
    r"""Softmax attention, $\varphi(x, \mu) = V m(x)$ with

        m(x) = ∫ y w(x, y) dμ(y),   w(x, y) = e^{⟨Qx, Ky⟩·scale} / ∫ e^{⟨Qx, Ky'⟩·scale} dμ(y').

    Arguments:
        query, key: Q, K (H, k, d).  value: V (H, d, d).
        scale: multiplies the logits; 1 by default, 1/√k for the transformer's convention.

    Raises `Refused` for shapes that disagree. The map is a probability average: |φ| ≤ |V| max|y|. Evaluated in tiles above 512 atoms.
    Source: mathematics, section 1.

    >>> import jax
    >>> heads = Softmax.normal(heads=3, dim=2, key_dim=1, key=jax.random.key(0))
    >>> heads.query.shape, heads.value.shape, heads.bilinear.shape
    ((3, 1, 2), (3, 2, 2), (3, 2, 2))
    """

    outputs: ClassVar[tuple[str, ...]] = ("value",)

    query: Array
    key: Array
    value: Array
    scale: float = eqx.field(static=True, default=1.0)

    def __init__(self, query: Any, key: Any, value: Any, scale: float = 1.0):
        self.query = as_parameter(query, "query", "H k d")
        self.key = as_parameter(key, "key", "H k d")
        self.value = as_parameter(value, "value", "H d d")
        self.scale = _scale(scale)
        *lead, _, dim = self.query.shape
        if self.key.shape != self.query.shape or self.value.shape != (*lead, dim, dim):
            raise Refused(
                "Softmax heads need query and key of one shape (H, k, d) and value (H, d, d); found query "
                f"{self.query.shape}, key {self.key.shape}, value {self.value.shape}."
            )

    @classmethod
    def normal(
        cls,
        heads: int,
        dim: int,
        key_dim: int,
        *,
        key: Key,
        query_std: float = 1.0,
        key_std: float = 1.0,
        value_std: float = 1.0,
        scale: float = 1.0,
    ) -> "Softmax":
        """I.i.d. Gaussian entries: those of Q and K with standard deviation std/√d, those of V with value_std/√d."""
        q, k, v = jax.random.split(random_key(key), 3)
        shrink = dim**-0.5
        return cls(
            query_std * shrink * jax.random.normal(q, (heads, key_dim, dim)),
            key_std * shrink * jax.random.normal(k, (heads, key_dim, dim)),
            value_std * shrink * jax.random.normal(v, (heads, dim, dim)),
            scale,
        )

    def map(self, x: Token, mu: Empirical) -> Token:
        return self.apply(x[None], mu, tile=None)[0]

    def apply(self, x: Tokens, mu: Empirical, tile: int | None = TILE) -> Tokens:
        q, k = self.logit_factors(x, mu.points)
        return attend(q, k, mu.points, mu.weights, tile=tile) @ self.value.T

    def costate(self, mu: Empirical, p: Tokens, tile: int | None = TILE) -> Tokens:
        # ∇_x φ(x) = V C(x) Aᵀ and D_μφ(x', ·)(y) = w(x', y) V [I + (y − m(x')) (Aᵀx')ᵀ], transposed (mathematics, section 3)
        y, w = mu.points, mu.weights
        q, k = self.logit_factors(y, y)
        g = p @ self.value
        _, pull = jax.vjp(lambda queries: attend(queries, k, y, w, tile=tile), q)
        (dq,) = pull(g)
        by_value, by_key = key_density(q, k, y, w, w[:, None] * g, tile=tile)
        return self.scale * dq @ self.query + by_value + by_key @ self.key

    def logit_factors(self, x: Queries, y: Tokens) -> tuple[Array, Array]:
        """q (M, k) and k (N, k) with logit_ij = ⟨q_i, k_j⟩, the scale included in q."""
        return self.scale * x @ self.query.T, y @ self.key.T

    @property
    def token_dim(self) -> int | None:
        return self.value.shape[-1]

    @property
    def bilinear(self) -> Array:
        """A = scale · QᵀK (H, d, d): the logit of query x on key y is xᵀAy."""
        return self.scale * jnp.einsum("...ka,...kb->...ab", self.query, self.key)


def _scale(value: Any) -> float:
    wanted, advice = (
        "one finite real number for all heads",
        " A scale for each head, or one that is differentiated, belongs into the query.",
    )
    number = real(value, "scale", wanted, advice)
    if isinstance(number, Tracer) or not math.isfinite(number):
        raise Refused(f"`scale` must be {wanted}; found {'a traced value' if isinstance(number, Tracer) else number}.{advice}")
    return number
