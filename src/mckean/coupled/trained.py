"""The trained readouts inside a loss, and their step of training time."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Array, Key
from mckean.objective.readout import Readout
from mckean.training.dynamics import Dynamics


def trained_part(loss: Any) -> Any:
    """The arrays of a loss that training moves: those of its trained readouts; None elsewhere."""
    return _each(lambda readout: eqx.filter(readout, eqx.is_inexact_array), lambda leaf: None, loss)


def with_trained(loss: Any, moved: Any) -> Any:
    """The loss with its trained arrays replaced."""
    return _each(lambda readout, new: eqx.combine(new, readout), lambda leaf: leaf, loss, moved)


def move(dynamics: Dynamics, loss: Any, memory: Any, slope: Any, h: Array, key: Key) -> tuple[Any, Any]:
    """The loss and the memory of its readouts after a step of length h, without noise; `slope` is ∂L/∂(arrays of the loss)."""
    moving = trained_part(loss)
    if not jax.tree.leaves(moving):
        return loss, memory
    ridged = lambda readout, s: eqx.tree_at(lambda r: r.matrix, s, s.matrix + readout.ridge * readout.matrix)  # noqa: E731
    drift = _each(ridged, lambda leaf: None, loss, slope)
    moved, after = dynamics.update(moving, memory, drift, h, jnp.zeros((), h.dtype), key)
    # A readout narrower than the step keeps its dtype.
    moved, after = jax.tree.map(lambda new, old: new.astype(old.dtype), (moved, after), (moving, memory))
    return with_trained(loss, moved), after


def _each(change: Callable[..., Any], otherwise: Callable[[Any], Any], loss: Any, *others: Any) -> Any:
    """`change` of the trained readouts of a loss (and what the other trees hold there), `otherwise` of its other leaves."""
    is_readout = lambda leaf: isinstance(leaf, Readout)  # noqa: E731
    pick = lambda leaf, *rest: change(leaf, *rest) if is_readout(leaf) and leaf.trained else otherwise(leaf)  # noqa: E731
    return jax.tree.map(pick, loss, *others, is_leaf=is_readout)
