"""Underdamped mean-field Langevin dynamics."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Key, Scalar
from mckean.errors import Refused
from mckean.training.dynamics import Dynamics, axpy, normal_like


class Inertial(Dynamics):
    r"""$d\theta = v\,ds,\quad dv = -\gamma v\,ds - \nabla_\theta(\delta L_\lambda/\delta\rho)\,ds + \sqrt{2\gamma\beta}\,dW$, γ = `friction`.

    One gradient a step: the velocity is kicked, then damped and driven by the exact Ornstein–Uhlenbeck step, then the atoms drift,

        v ← e^{−γh} (v − h ∇δL_λ/δρ(θ)) + √(β(1 − e^{−2γh})) ξ,   θ ← θ + h v.

    The stationary law is that of `Langevin` up to O(h), with velocities N(0, β). At β = 0 it is gradient descent with momentum e^{−γh}.
    Source: mathematics, section 4.
    """

    friction: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        if not self.friction > 0:
            raise Refused(f"`friction` must be positive; found {self.friction}.")

    def init(self, theta: Any) -> Any:
        return jax.tree.map(jnp.zeros_like, theta)

    def update(self, theta: Any, memory: Any, drift: Any, h: Scalar, beta: Scalar, key: Key) -> tuple[Any, Any]:
        keep = jnp.exp(-self.friction * h)
        noise = jnp.sqrt(beta * (1 - keep**2))
        kicked = axpy(-h, drift, memory)
        velocity = jax.tree.map(lambda v, z: keep * v + noise * z, kicked, normal_like(key, theta))
        return axpy(h, velocity, theta), velocity
