"""What a flow keeps: every depth, the last, given depths, or a function of the token measure."""

from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import numpy as np

from mckean._shapes import Array
from mckean.errors import Refused
from mckean.measures.empirical import Empirical, unchecked

Save = Literal["all", "last"] | Callable[[Empirical], Any] | Any


def nothing(x: Array) -> None:
    """Keep no depth but the last."""
    return None


def everything(x: Array) -> Array:
    """Keep the tokens."""
    return x


class Observe(eqx.Module):
    """A function of the token measure; the same function compiles once."""

    function: Callable[[Empirical], Any]
    weights: Array
    batched: bool = eqx.field(static=True)

    def __call__(self, x: Array) -> Any:
        return self.function(unchecked(x, self.weights) if self.batched else unchecked(x[0], self.weights[0]))


def observer(save: Save, w: Array, batched: bool) -> Callable[[Array], Any]:
    """What is kept of the clouds (n, N, d) at each depth."""
    if callable(save):
        return Observe(save, w, batched)
    if isinstance(save, str) and save not in ("all", "last"):
        raise Refused(f"`save` must be 'all', 'last', a list of times or a function of the measure; found {save!r}.")
    return nothing if isinstance(save, str) and save == "last" else everything


def picked(save: Save, times: np.ndarray | None) -> Any:
    """The indices of the depths to keep; `times` is None where the grid is not known while the program is traced."""
    if callable(save):
        return slice(None)
    if isinstance(save, str):
        return slice(None) if save == "all" else slice(-1, None)
    if times is None:
        raise Refused(
            "Times to save must be known when a program is compiled: inside jax.jit, grad or vmap give `horizon` as a number and "
            "a fixed scheme, or save='all'."
        )
    wanted = np.atleast_1d(np.asarray(save, dtype=float))
    nearest = np.abs(times[None, :] - wanted[:, None]).argmin(axis=1)
    off = np.abs(times[nearest] - wanted) > 1e-6 * max(times[-1], 1e-300)
    if off.any():
        raise Refused(
            f"Times to save must be times of the depth grid; found t = {wanted[off][0]:g}, nearest {times[nearest][off][0]:g}. "
            "Choose `steps` so that they are, or save='all'."
        )
    return nearest
