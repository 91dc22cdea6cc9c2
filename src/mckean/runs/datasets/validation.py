"""Arrays of a user's file checked one by one, each fault with a sentence of its own; then a `PromptSet`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mckean.errors import Refused
from mckean.runs.datasets.dataset import PromptSet
from mckean.runs.datasets.padding import weighted_means

SUM_TOLERANCE = 1e-6
"""A row of weights this close to 1 is one that was rounded (float32 keeps 7 digits): divided by its sum."""


def prompt_set(arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> PromptSet:
    """The prompts in `prefix + "points"`, `prefix + "weights"` and `prefix + "targets"`.

    Weights within 1e-6 of summing to 1 are divided by their sum; without weights every atom of a prompt
    weighs 1/N. Non-finite coordinates are accepted where the weight is 0, and those atoms are put at their
    prompt's mean. Raises `Refused`, naming the array and the first place where it is wrong.
    """
    points = _points(_get(arrays, prefix + "points"), prefix + "points")
    name = prefix + "weights"
    uniform = np.full(points.shape[:2], 1.0 / points.shape[1])
    weights = _weights(arrays[name], points.shape[:2], name) if name in arrays else uniform
    points = _fill_pads(points, weights, prefix, has_weights=name in arrays)
    targets = _targets(_get(arrays, prefix + "targets"), len(points), prefix + "targets")
    return PromptSet(points, weights, targets)


def check_labels(targets: NDArray[np.int64], names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Class names: `names`, or "0", "1", …; training labels must be 0..C−1, each at least once, C ≥ 2."""
    present = np.unique(targets)
    expected = np.arange(len(present))
    if not np.array_equal(present, expected):
        gap = int(np.flatnonzero(present != expected)[0])
        raise Refused(
            f"targets must use every class 0, 1, …, C−1 in training; label {gap} does not occur but "
            f"{present[gap]} does: renumber them, numpy.unique(targets, return_inverse=True)[1]."
        )
    if len(present) < 2:
        raise Refused("targets must hold at least two classes; found one: there is nothing to tell apart.")
    if names is None:
        return tuple(str(label) for label in present)
    if len(names) != len(present):
        raise Refused(f"classes must name the {len(present)} classes of targets; found {len(names)} names.")
    if len(set(names)) != len(names) or not all(name.strip() for name in names):
        raise Refused("classes must be different, non-empty names; found one twice or an empty one.")
    return names


def _get(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        found = ", ".join(sorted(arrays)) or "no arrays at all"
        raise Refused(f"The data file must hold an array {name!r}; found {found}.")
    return arrays[name]


def _numbers(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    if array.dtype.kind not in "fiu":
        raise Refused(f"{name} must be real numbers; found type {array.dtype}.")
    with np.errstate(over="ignore"):  # extended precision beyond float64 becomes inf, refused by the caller
        return array.astype(np.float64)


def _points(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    if array.ndim != 3:
        raise Refused(
            f"{name} must have three axes (prompt, token, coordinate); found shape {array.shape}: "
            f"prompts of one token need points[:, None, :], tokens of one coordinate points[:, :, None]."
        )
    for axis, length in zip(("prompt", "token", "coordinate"), array.shape, strict=True):
        if length == 0:
            raise Refused(f"{name} must hold at least one {axis}; found shape {array.shape}.")
    return _numbers(array, name)


def _weights(array: NDArray[Any], shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    if array.shape != shape:
        raise Refused(f"{name} must have one entry for each atom of the points, shape {shape}; found {array.shape}.")
    weights = _numbers(array, name)
    if not np.isfinite(weights).all():
        prompt, token = np.argwhere(~np.isfinite(weights))[0]
        raise Refused(f"{name} must be finite; found {weights[prompt, token]} at prompt {prompt}, token {token}.")
    if (weights < 0).any():
        prompt, token = np.argwhere(weights < 0)[0]
        raise Refused(f"{name} must be 0 or more; found {weights[prompt, token]:g} at prompt {prompt}, token {token}.")
    with np.errstate(over="ignore"):  # a sum that overflows is refused as one that is not 1
        sums = weights.sum(axis=1, keepdims=True)
    if (sums == 0).any():
        raise Refused(
            f"{name} must give each prompt at least one token of positive weight; those of prompt "
            f"{int(np.argmin(sums))} are all 0: leave that prompt out."
        )
    wrong = np.flatnonzero(np.abs(sums[:, 0] - 1.0) > SUM_TOLERANCE)
    if wrong.size:
        raise Refused(
            f"{name} must sum to 1 over each prompt's tokens; those of prompt {wrong[0]} sum to "
            f"{sums[wrong[0], 0]:.9g}: divide each row by its sum."
        )
    return weights / sums


def _fill_pads(
    points: NDArray[np.float64], weights: NDArray[np.float64], prefix: str, *, has_weights: bool
) -> NDArray[np.float64]:
    bad = np.logical_not(np.isfinite(points).all(axis=2))
    wrong = np.argwhere(bad & (weights > 0))
    if wrong.size:
        prompt, token = wrong[0]
        advice = "only tokens of weight 0 may be" if has_weights else f"store {prefix}weights that are 0 where a token is a pad"
        raise Refused(f"{prefix}points must be finite; those of prompt {prompt}, token {token} are not: {advice}.")
    if bad.any():
        points = np.where(np.expand_dims(bad, 2), weighted_means(points, weights)[:, None, :], points)
    return points


def _targets(array: NDArray[Any], size: int, name: str) -> NDArray[np.int64] | NDArray[np.float64]:
    if array.dtype.kind not in "fiu":
        raise Refused(f"{name} must be integers (classes) or floats (numbers to predict); found type {array.dtype}.")
    if array.ndim == 0 or len(array) != size:
        raise Refused(f"{name} must have one entry a prompt, {size} in all; found shape {array.shape}.")
    if array.dtype.kind == "f":
        if array.ndim > 2 or 0 in array.shape:
            raise Refused(f"Float {name} must have shape (n,) or (n, q) with q at least 1; found {array.shape}.")
        numbers = _numbers(array, name)
        if not np.isfinite(numbers).all():
            raise Refused(f"{name} must be finite; those of prompt {np.argwhere(~np.isfinite(numbers))[0][0]} are not.")
        return numbers.reshape(size, -1)
    if array.ndim != 1:
        raise Refused(
            f"Integer {name} are class labels and must have shape (n,); found {array.shape}: "
            f"use argmax(axis=1) of one-hot rows, or floats for regression."
        )
    if int(array.min()) < 0:
        raise Refused(f"Class labels in {name} must be 0 or more; found {array.min()}.")
    if int(array.max()) > np.iinfo(np.int64).max:
        raise Refused(f"Class labels in {name} must be small integers 0, 1, …, C−1; found {array.max()}.")
    return array.astype(np.int64)
