"""Mean-field Langevin dynamics."""

from typing import Any

import jax.numpy as jnp

from mckean._shapes import Key, Scalar
from mckean.training.dynamics import Dynamics, axpy, normal_like


class Langevin(Dynamics):
    r"""Euler–Maruyama for $d\theta_j = -\nabla_\theta(\delta L_\lambda/\delta\rho)(\theta_j)\,ds + \sqrt{2\beta}\,dW_j$:

        θ ← θ − h ∇δL_λ/δρ(θ) + √(2βh) ξ.

    At β = 0 this is the explicit Euler scheme of the Wasserstein gradient flow. First order in h, also weakly: in a quadratic well the stationary
    variance is β/(λ(1 − λh/2)). Source: mathematics, section 4; Theorem 7.1.
    """

    def init(self, theta: Any) -> tuple[()]:
        return ()

    def update(self, theta: Any, memory: Any, drift: Any, h: Scalar, beta: Scalar, key: Key) -> tuple[Any, Any]:
        moved = axpy(-h, drift, theta)
        return axpy(jnp.sqrt(2 * beta * h), normal_like(key, theta), moved), memory
