"""Optax optimisers on the particles."""

from typing import Any

import equinox as eqx
import jax
import optax

from mckean._shapes import Key, Scalar
from mckean.errors import Refused
from mckean.training.dynamics import Dynamics, axpy


class Optax(Dynamics):
    """Any optax gradient transformation, fed with ∇_θ δL_λ/δρ: the mean-field scaling, so that one learning rate serves every H.

    The optimiser is built with learning rate 1, and `step_size` multiplies its updates: `mk.Optax(optax.adam(1.0))`. It is a way to find a
    minimiser, not the flow of the theorems, and has no temperature.
    """

    optimiser: optax.GradientTransformation = eqx.field(static=True)

    def __check_init__(self):
        if isinstance(self.optimiser, type) or not (hasattr(self.optimiser, "init") and hasattr(self.optimiser, "update")):
            name = self.optimiser if isinstance(self.optimiser, str) else getattr(self.optimiser, "__name__", None)
            found = repr(self.optimiser) if name is None else name
            call = f"mk.Optax(optax.{name or 'adam'}(1.0))"
            raise Refused(f"mk.Optax takes an optax transformation, with `init` and `update`; found {found}. Write {call}.")

    def init(self, theta: Any) -> Any:
        return self.optimiser.init(theta)

    def update(self, theta: Any, memory: Any, drift: Any, h: Scalar, beta: Scalar, key: Key) -> tuple[Any, Any]:
        # Optax adds integer step counts to floats, which strict dtype promotion would refuse.
        with jax.numpy_dtype_promotion("standard"):
            updates, memory = self.optimiser.update(drift, memory, theta)
        return axpy(h, updates, theta), memory

    def check(self, temperature: float) -> None:
        if temperature > 0:
            raise Refused(
                f"An optax optimiser is not a Langevin dynamics, so its temperature must be 0; found {temperature}. "
                "Use mk.Langevin() or mk.Inertial() for β > 0."
            )
