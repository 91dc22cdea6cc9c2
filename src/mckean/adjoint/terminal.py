r"""Where the adjoint starts: the derivative of the loss in the terminal measure.

Mass form: P_i = ∂ℓ/∂x_i, the plain gradient. Costate form: $p_T(x) = \nabla_x (\delta\ell/\delta\mu)(x)$, with δℓ/δμ(x) the derivative of ℓ in the
mass of an atom added at x; P_i = w_i p_T(x_i), and p_T is finite at atoms of weight 0.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Array, PromptMasses, Prompts
from mckean.measures.empirical import unchecked
from mckean.objective.problem import Problem


def start(problem: Problem, x: Prompts, w: PromptMasses, targets: Any) -> tuple[Array, Prompts, Any]:
    """(ℓ_i (n,), ∂ℓ_i/∂x (n, N, d), Σ_i ∂ℓ_i/∂(arrays of the loss)) at the terminal clouds."""
    moving, rest = eqx.partition(problem.loss, eqx.is_inexact_array)

    def total(parameters: Any, points: Prompts) -> tuple[Array, Array]:
        loss = eqx.combine(parameters, rest)
        each = jax.vmap(lambda xi, wi, yi: loss(unchecked(xi, wi), yi))(points, w, targets)
        return jnp.sum(each), each

    (_, losses), (by_loss, by_token) = jax.value_and_grad(total, argnums=(0, 1), has_aux=True)(moving, x)
    return losses, by_token, by_loss


def costate(problem: Problem, x: Prompts, w: PromptMasses, targets: Any) -> Prompts:
    """p_T (n, N, d) by its formula, without division by a weight."""

    def one(xi: Array, wi: Array, yi: Any) -> Array:
        def grown(z: Array, mass: Array) -> Array:
            cloud = unchecked(jnp.concatenate([xi, z]), jnp.concatenate([wi, mass]))
            return problem.loss(cloud, yi)

        none = jnp.zeros_like(wi)
        return jax.grad(lambda z: jnp.sum(jax.grad(grown, argnums=1)(z, none)))(xi)

    return jax.vmap(one)(x, w, targets)
