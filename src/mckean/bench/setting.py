"""The tokens and heads of a size, as arrays that every peer takes and as the library's measures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from mckean.bench import laws
from mckean.bench.record import Size
from mckean.heads import Softmax
from mckean.measures import Empirical


@dataclass(frozen=True)
class Setting:
    """Tokens x (N, d) of a law with R = max|x| = 1 and equal masses; heads with random A_h, |A_h| R² = `exponent` in the spectral norm, and
    V_h with entries N(0, 1), of mass 1/H. The field is V(x) = (1/H) Σ_h V_h m(A_hᵀx).
    """

    size: Size
    seed: int

    @cached_property
    def tokens(self) -> NDArray[np.floating]:
        """(N, d)."""
        return laws.draw(self.size.law, self.size.tokens, self.size.dim, self.seed).astype(self.size.dtype)

    @cached_property
    def bilinear(self) -> NDArray[np.floating]:
        """A (H, d, d): the logit of query x on key y is xᵀAy."""
        a = self._rng(1).normal(size=(self.size.heads, self.size.dim, self.size.dim))
        a *= self.size.exponent / np.linalg.norm(a, 2, axis=(1, 2))[:, None, None]
        return a.astype(self.size.dtype)

    @cached_property
    def value(self) -> NDArray[np.floating]:
        """V (H, d, d)."""
        return self._rng(2).normal(size=(self.size.heads, self.size.dim, self.size.dim)).astype(self.size.dtype)

    @cached_property
    def cotangent(self) -> NDArray[np.floating]:
        """g (N, d), entries N(0, 1): gradients are those of Σ_i ⟨g_i, V(x_i)⟩ / N."""
        return self._rng(3).normal(size=(self.size.tokens, self.size.dim)).astype(self.size.dtype)

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, stream, self.size.heads, self.size.dim, self.size.tokens])

    @cached_property
    def rho(self) -> Empirical:
        """The head measure."""
        return Empirical(heads(jnp.asarray(self.bilinear), jnp.asarray(self.value)))

    @cached_property
    def mu(self) -> Empirical:
        """The token measure."""
        return Empirical(jnp.asarray(self.tokens))

    def every(self, count: int) -> NDArray[np.integer]:
        """`count` token indices, evenly spaced, the first among them."""
        return np.unique(np.linspace(0, self.size.tokens - 1, min(count, self.size.tokens)).astype(int))


def heads(bilinear, value) -> Softmax:
    """Softmax heads of full rank with given A and V (H, d, d)."""
    eye = jnp.broadcast_to(jnp.eye(bilinear.shape[-1], dtype=bilinear.dtype), bilinear.shape)
    return Softmax(jnp.swapaxes(bilinear, -1, -2), eye, value)
