"""A linear readout of the terminal measure."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._arguments import as_float, not_negative, random_key
from mckean._shapes import Array, Key
from mckean.errors import Refused
from mckean.measures.empirical import Empirical


def identity(x: Array) -> Array:
    """ψ(x) = x: the readout sees the mean token."""
    return x


class Readout(eqx.Module):
    r"""$R(\mu) = B \int \psi\, d\mu + c \in R^C$: linear in the measure, and exactly affine in ρ after one Euler step.

    Arguments:
        matrix: B (C, m); integers become floats.  bias: c (C,), zero by default.
        features: ψ: R^d → R^m of one token; the identity by default.
        trained: whether `solve` moves B and c together with ρ. That lies outside the theorems' hypotheses.
        ridge: κ ≥ 0 of its own term (κ/2)|B|², in force while it is trained.

    Source: mathematics, section 3.

    >>> import jax.numpy as jnp
    >>> mu = Empirical(jnp.array([[0.0], [4.0]]), [0.75, 0.25])
    >>> second_moment = Readout([[1.0]], features=jnp.square)
    >>> float(second_moment(mu)[0])
    4.0
    """

    matrix: Array
    bias: Array
    features: Callable[[Array], Array] = eqx.field(static=True)
    trained: bool = eqx.field(static=True)
    ridge: float = eqx.field(static=True)

    def __init__(
        self,
        matrix: Any,
        bias: Any = None,
        *,
        features: Callable[[Array], Array] = identity,
        trained: bool = False,
        ridge: float = 0.0,
    ):
        # Integers would truncate the bias and never be trained.
        self.matrix = as_float(matrix, "The entries of a readout's matrix")
        if self.matrix.ndim != 2:
            raise Refused(f"A readout's matrix must have shape (outputs, features); found {self.matrix.shape}.")
        outputs = self.matrix.shape[0]
        given = jnp.zeros(outputs) if bias is None else as_float(bias, "The entries of a readout's bias")
        self.bias = given.astype(self.matrix.dtype)
        if self.bias.shape != (outputs,):
            raise Refused(f"A readout's bias must have shape ({outputs},); found {self.bias.shape}.")
        self.features = features
        self.trained = trained
        self.ridge = not_negative(ridge, "ridge")

    @classmethod
    def normal(cls, outputs: int, features: int, *, key: Key, std: float = 1.0, **options: Any) -> "Readout":
        """B with i.i.d. Gaussian entries of standard deviation std/√m, c = 0."""
        return cls(std * features**-0.5 * jax.random.normal(random_key(key), (outputs, features)), **options)

    def __call__(self, mu: Empirical) -> Array:
        return self.matrix @ mu.integrate(self.features) + self.bias

    def penalty(self) -> Array:
        """(κ/2)|B|²; the bias is free."""
        return 0.5 * self.ridge * jnp.sum(self.matrix**2)
