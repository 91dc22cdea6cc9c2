"""Empirical measures: weighted atoms over any pytree."""

import numbers
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from mckean._arguments import as_float
from mckean.errors import Refused

Points = TypeVar("Points")
TOLERANCE = {"float64": 1e-9, "float32": 1e-5}


class Empirical(eqx.Module, Generic[Points]):
    r"""A probability measure with weighted atoms, $\mu = \sum_i w_i \delta_{x_i}$.

    `points` is any pytree of arrays with a leading atom axis: an (N, d) array of tokens, or a batch of heads. `weights` (N,)
    default to 1/N; they are non-negative and sum to 1, or are refused. A *batch* of measures (ragged prompts) has one more
    leading axis: points (n, N, d), weights (n, N), where an atom of weight 0 pads; a batch always states its weights. A layered
    head measure (`Layered`) is such a batch too, one measure a layer.

    Arguments:
        points: pytree of arrays (N, ...) or (n, N, ...). Finite, also where the weight is 0.
        weights: (N,) or (n, N).
        normalize: divide the weights by their sum (over the atoms) instead of refusing them.

    Raises `Refused` when shapes disagree, a weight is negative or not finite, the weights do not sum to 1, or a coordinate is not
    finite. Inside `jax.jit` values are unknown and only shapes are checked; mass derivatives use `with_weights`, which checks
    nothing. Source: mathematics, section 1.

    >>> mu = Empirical(jnp.array([[0.0], [4.0]]), [0.75, 0.25])
    >>> float(mu.mean()[0]), float(mu.integrate(lambda x: x[0] ** 2))
    (1.0, 4.0)
    """

    points: Points
    weights: Array

    def __init__(self, points: Points, weights: Any = None, *, normalize: bool = False):
        if isinstance(points, list | tuple) and all(np.isscalar(leaf) for leaf in jax.tree.leaves(points)):
            try:
                # nested lists of numbers are an array written out
                points = np.asarray(points, dtype=float)  # pyright: ignore[reportAssignmentType]
            except (TypeError, ValueError) as error:
                if not all(isinstance(leaf, numbers.Real) for leaf in jax.tree.leaves(points)):
                    raise Refused("Points must be real numbers; found a list that holds something else.") from error
                raise Refused(f"Points given as nested lists of numbers must have one shape (N, d); {error}.") from error
        points = jax.tree.map(lambda leaf: as_float(leaf, "Points"), points)
        leaves = jax.tree.leaves(points)
        if not leaves:
            raise Refused("A measure needs atoms: `points` has no array in it; pass an (N, d) array or a batch of heads.")
        axes = 1 if weights is None else np.ndim(weights)
        if weights is None:
            axes = getattr(points, "atom_axes", 1)
        if getattr(points, "atom_axes", axes) > axes:
            raise Refused(f"Layered heads need one probability vector a layer, weights (layers, H); found {axes} axis.")
        if axes not in (1, 2):
            raise Refused(f"Weights have one axis (atoms) or two (batch, atoms); found {axes} axes.")
        shapes = {leaf.shape[:axes] for leaf in leaves}
        if len(shapes) != 1 or len(next(iter(shapes))) != axes:
            raise Refused(
                f"Every array of `points` must share its first {axes} axes (the atoms); found shapes "
                f"{sorted({leaf.shape for leaf in leaves})}."
            )
        (shape,) = shapes
        if 0 in shape:
            raise Refused(f"A measure needs at least one atom; found atoms of shape {shape}.")
        dtype = leaves[0].dtype
        if weights is None:
            weights = jnp.full(shape, 1.0 / shape[-1], dtype=dtype)
        weights = as_float(weights, "Weights").astype(dtype)
        if weights.shape != shape:
            raise Refused(
                f"One weight an atom: points hold atoms of shape {shape}, weights have shape {weights.shape}. "
                "A batch of measures (n, N, d) states weights (n, N)."
            )
        if normalize:
            _refuse_negative(weights)  # before the sum that hides the sign
            weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
        _refuse_bad_values(points, weights)
        self.points = points
        self.weights = weights

    @property
    def size(self) -> int:
        """The number of atoms (of each measure, in a batch), those of weight 0 included."""
        return self.weights.shape[-1]

    @property
    def batch(self) -> int | None:
        """The number of measures of a batch, or None for a single measure."""
        return self.weights.shape[0] if self.weights.ndim == 2 else None

    def mean(self) -> Any:
        r"""$\int x\, d\mu$, leaf by leaf: (N, d) points give (d,), a batch (n, N, d) gives (n, d)."""
        return jax.tree.map(self._integral, self.points)

    def integrate(self, f: Callable[[Any], Any]) -> Any:
        r"""$\int f\, d\mu$ for a function of one atom, array- or pytree-valued. A batch gives one integral a measure."""
        each = jax.vmap(f)
        values = (each if self.batch is None else jax.vmap(each))(self.points)
        return jax.tree.map(self._integral, values)

    def with_points(self, points: Any) -> "Empirical":
        """The same masses at other points; nothing is checked."""
        return unchecked(points, self.weights)

    def with_weights(self, weights: Array) -> "Empirical":
        """The same points with other masses, normalised or not; nothing is checked."""
        return unchecked(self.points, weights)

    def __getitem__(self, index: Any) -> "Empirical":
        """The measure (or sub-batch) at `index` of a batch."""
        if self.batch is None:
            raise Refused("Indexing picks a measure out of a batch; this is a single measure: index its .points instead.")
        return unchecked(jax.tree.map(lambda leaf: leaf[index], self.points), self.weights[index])

    def _integral(self, values: Array) -> Array:
        if not jnp.issubdtype(values.dtype, jnp.inexact):
            values = values.astype(self.weights.dtype)  # an indicator or a count, whose integral is a number between
        weights = self.weights.astype(values.dtype)
        return jnp.einsum("...i,...ik->...k", weights, values.reshape(*weights.shape, -1)).reshape(
            weights.shape[:-1] + values.shape[weights.ndim :]
        )


def unchecked(points: Any, weights: Array) -> Empirical:
    """A measure, or an unnormalised mass, whose values are known to be good (or are being differentiated)."""
    mu = object.__new__(Empirical)
    object.__setattr__(mu, "points", points)
    object.__setattr__(mu, "weights", weights)
    return mu


def _refuse_negative(weights: Array) -> None:
    if not isinstance(weights, Tracer) and np.asarray(weights).min() < 0:
        raise Refused(f"Weights must be non-negative; found {np.asarray(weights).min():.6g}.")


def _refuse_bad_values(points: Any, weights: Array) -> None:
    leaves = jax.tree.leaves(points)
    if any(isinstance(leaf, Tracer) for leaf in [*leaves, weights]):
        return
    mass = np.asarray(weights)
    if not np.all(np.isfinite(mass)):
        raise Refused("Weights must be finite; found a weight that is not (with normalize=True: weights that sum to 0).")
    _refuse_negative(weights)
    total = mass.astype(np.float64).sum(axis=-1)
    worst = float(np.ravel(total)[np.argmax(np.abs(np.ravel(total) - 1))])
    if abs(worst - 1) > TOLERANCE.get(mass.dtype.name, 1e-2):
        raise Refused(f"Weights must sum to 1; found a sum of {worst:.9g}. Pass normalize=True to divide by the sum.")
    for leaf in leaves:
        if not np.all(np.isfinite(np.asarray(leaf))):
            raise Refused("Coordinates must be finite, also at atoms of weight 0; found one that is not.")
