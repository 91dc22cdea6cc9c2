r"""Losses ℓ(μ_T, y): differentiable functionals of the terminal measure.

Any function `loss(mu_T: Empirical, target) -> scalar` serves; these are the usual ones. A loss must treat μ as a measure, through its
weights. Squared error and cross-entropy are convex in the prediction, as the theorems of section 8 ask; the distances below are not
smooth where atoms meet, and say so.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from mckean._shapes import Array
from mckean.errors import Refused
from mckean.measures.empirical import Empirical
from mckean.objective.readout import Readout


class SquaredError(eqx.Module):
    """ℓ(μ, y) = ½ |R(μ) − y|², for a target y (C,)."""

    readout: Readout

    def __call__(self, mu: Empirical, target: Any) -> Array:
        prediction = self.readout(mu)
        residual = prediction - jnp.reshape(target, self.readout.bias.shape).astype(prediction.dtype)
        return 0.5 * jnp.sum(residual**2)


class CrossEntropy(eqx.Module):
    """ℓ(μ, y) = log Σ_c e^{R_c(μ)} − R_y(μ), for a class y in 0 … C − 1."""

    readout: Readout

    def __call__(self, mu: Empirical, target: Any) -> Array:
        scores = self.readout(mu)
        return jax.nn.logsumexp(scores) - scores[target]

    def check_targets(self, targets: Any) -> None:
        """Refuse targets that are not one class a prompt; out of range, JAX would take the nearest class without a word."""
        classes = self.readout.bias.shape[0]
        wanted = f"Cross-entropy needs one class a prompt, integers (n,) in 0 … {classes - 1}"
        if not hasattr(targets, "dtype"):
            raise Refused(f"{wanted}; found targets of type {type(targets).__name__}.")
        if not jnp.issubdtype(targets.dtype, jnp.integer) or targets.ndim != 1:
            raise Refused(
                f"{wanted}; found {targets.dtype.name} targets of shape {targets.shape}. "
                "Cast classes with .astype(int), and one-hot rows with .argmax(axis=1)."
            )
        if not isinstance(targets, Tracer):
            given = np.asarray(targets)
            wrong = given[(given < 0) | (given >= classes)]
            if wrong.size:
                raise Refused(
                    f"{wanted}; found the class {wrong[0]}. Number the classes from 0, or give the readout more outputs."
                )


class Potential(eqx.Module):
    """ℓ(μ) = ∫ f dμ for a potential f of one token; a target, if there is one, is its second argument."""

    potential: Callable[..., Array] = eqx.field(static=True)
    targeted: bool = eqx.field(static=True, default=False)

    def __call__(self, mu: Empirical, target: Any) -> Array:
        return mu.integrate((lambda x: self.potential(x, target)) if self.targeted else self.potential)


class EnergyDistance(eqx.Module):
    """ℓ(μ, ν) = 2 E|X − Y| − E|X − X'| − E|Y − Y'| ≥ 0, zero iff μ = ν; the target ν is an `Empirical`.

    |x − x'| has no derivative where atoms coincide; there the derivative is taken as 0, so that gradients are finite but the loss is not
    smooth: rates that ask for smoothness (Taylor slopes, order of the adjoint) hold only away from coincidences.
    """

    def __call__(self, mu: Empirical, target: Empirical) -> Array:
        return _discrepancy(mu, target, lambda r2: -_safe_root(r2))


class MMD(eqx.Module):
    """Squared maximum mean discrepancy with the Gaussian kernel e^{−|x − y|²/(2ℓ²)}, ℓ = `bandwidth`; smooth."""

    bandwidth: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        if not self.bandwidth > 0:
            raise Refused(f"`bandwidth` must be positive; found {self.bandwidth}.")

    def __call__(self, mu: Empirical, target: Empirical) -> Array:
        return _discrepancy(mu, target, lambda r2: jnp.exp(-r2 / (2 * self.bandwidth**2)))


def _discrepancy(mu: Empirical, nu: Empirical, kernel: Callable[[Array], Array]) -> Array:
    """E k(X, X') − 2 E k(X, Y) + E k(Y, Y')."""

    def mean(a: Empirical, b: Empirical) -> Array:
        r2 = jnp.sum((a.points[:, None] - b.points[None]) ** 2, axis=-1)
        return a.weights @ kernel(r2) @ b.weights

    return mean(mu, mu) - 2 * mean(mu, nu) + mean(nu, nu)


def _safe_root(r2: Array) -> Array:
    positive = r2 > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, r2, 1.0)), 0.0)
