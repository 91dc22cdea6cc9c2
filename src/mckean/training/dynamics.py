"""What a dynamics of the heads is."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Array, Key, Scalar


class Dynamics(eqx.Module):
    """One step of training time. Abstract: `Langevin`, `Inertial` and `Optax` are the final classes."""

    def init(self, theta: Any) -> Any:
        """The memory that travels with the atoms (velocities, moments), a pytree of arrays or ()."""
        raise NotImplementedError

    def update(self, theta: Any, memory: Any, drift: Any, h: Scalar, beta: Scalar, key: Key) -> tuple[Any, Any]:
        """The atoms and their memory after a step of length h down the drift, at temperature β."""
        raise NotImplementedError

    def check(self, temperature: float) -> None:
        """Refuse a temperature that this dynamics cannot have."""


def normal_like(key: Key, tree: Any) -> Any:
    """Independent standard normal numbers with the shapes of a pytree; one key a leaf."""
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(key, len(leaves))
    return structure.unflatten([jax.random.normal(k, jnp.shape(x), x.dtype) for k, x in zip(keys, leaves, strict=True)])


def axpy(a: Array | float, x: Any, y: Any) -> Any:
    """a·x + y, leaf by leaf."""
    return jax.tree.map(lambda u, v: a * u + v, x, y)
