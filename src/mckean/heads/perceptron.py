"""Hidden units."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._arguments import random_key
from mckean._shapes import Array, Key, Token, Tokens
from mckean.errors import Refused
from mckean.heads.attention import TILE
from mckean.heads.base import Head, as_parameter
from mckean.measures.empirical import Empirical


class Perceptron(Head):
    r"""A hidden unit, $\varphi(x, \mu) = a\,\sigma(\langle w, x\rangle + b)$: the token measure is not looked at.

    Arguments:
        weight: w (H, d).  bias: b (H,).  output: a (H, d).
        activation: σ, elementwise and smooth where the theorems ask for it; tanh by default.

    Raises `Refused` for shapes that disagree. Source: mathematics, section 1.
    """

    outputs: ClassVar[tuple[str, ...]] = ("output",)

    weight: Array
    bias: Array
    output: Array
    activation: Callable[[Array], Array] = eqx.field(static=True, default=jnp.tanh)

    def __init__(self, weight: Any, bias: Any, output: Any, activation: Callable[[Array], Array] = jnp.tanh):
        self.weight = as_parameter(weight, "weight", "H d")
        self.bias = as_parameter(bias, "bias", "H")
        self.output = as_parameter(output, "output", "H d")
        self.activation = activation
        if self.output.shape != self.weight.shape or self.bias.shape != self.weight.shape[:-1]:
            raise Refused(
                "Hidden units need weight and output of one shape (H, d) and bias (H,); found weight "
                f"{self.weight.shape}, bias {self.bias.shape}, output {self.output.shape}."
            )

    @classmethod
    def normal(
        cls,
        heads: int,
        dim: int,
        *,
        key: Key,
        weight_std: float = 1.0,
        bias_std: float = 1.0,
        output_std: float = 1.0,
        activation: Callable[[Array], Array] = jnp.tanh,
    ) -> "Perceptron":
        """I.i.d. Gaussian entries: those of w and a with standard deviation std/√d, b with bias_std."""
        w, b, a = jax.random.split(random_key(key), 3)
        shrink = dim**-0.5
        return cls(
            weight_std * shrink * jax.random.normal(w, (heads, dim)),
            bias_std * jax.random.normal(b, (heads,)),
            output_std * shrink * jax.random.normal(a, (heads, dim)),
            activation,
        )

    def map(self, x: Token, mu: Empirical) -> Token:
        return self.output * self.activation(jnp.dot(self.weight, x) + self.bias)

    def apply(self, x: Tokens, mu: Empirical, tile: int | None = TILE) -> Tokens:
        return self.activation(x @ self.weight + self.bias)[:, None] * self.output[None]

    def costate(self, mu: Empirical, p: Tokens, tile: int | None = TILE) -> Tokens:
        _, pull = jax.vjp(lambda x: self.apply(x, mu), mu.points)
        return pull(p)[0]

    @property
    def token_dim(self) -> int | None:
        return self.weight.shape[-1]
