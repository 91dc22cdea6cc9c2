"""Ragged prompts as one array: pads are atoms of weight 0 where they can do no harm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mckean.errors import Refused


def weighted_means(points: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean Σ_j w_ij x_ij of each prompt, (n, d0), over the atoms of positive weight only.

    Atoms of weight 0 are left out before the product, because 0·inf and 0·NaN are NaN.
    """
    present = np.where((weights > 0)[..., None], points, 0.0)
    # Not by einsum or BLAS, whose last bits depend on the processor, and with them would the content hash.
    return (weights[..., None] * present).sum(axis=1)


def pad(
    points: Sequence[NDArray[np.float64]], weights: Sequence[NDArray[np.float64]] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Point sets of different lengths as `points` (n, N, d0) and `weights` (n, N), N the largest length.

    `points[i]` is (N_i, d0); `weights[i]` is (N_i,) and sums to 1, or `weights` is None for 1/N_i each. Pads
    have weight 0, so that they are no part of the measure, and stand at their prompt's weighted mean: they
    still move with the velocity field as test particles, and a test particle inside the convex hull stays as
    tame as the tokens are.

    Raises `Refused` for no prompts, an empty prompt, or shapes that do not fit together.
    """
    if not points:
        raise Refused("At least one prompt must be given; found none.")
    dim = points[0].shape[-1] if points[0].ndim == 2 else -1
    for i, atoms in enumerate(points):
        if atoms.ndim != 2 or atoms.shape[1] != dim or atoms.size == 0:
            raise Refused(
                f"Each prompt must be a non-empty (tokens, coordinates) array with one number of coordinates "
                f"for all; "
                f"prompt {i} has shape {atoms.shape}."
            )
    if weights is None:
        weights = [np.full(len(atoms), 1.0 / len(atoms)) for atoms in points]
    if len(weights) != len(points):
        raise Refused(f"{len(points)} prompts need as many arrays of weights; found {len(weights)}.")
    longest = max(len(atoms) for atoms in points)
    out_points = np.zeros((len(points), longest, dim))
    out_weights = np.zeros((len(points), longest))
    for i, (atoms, mass) in enumerate(zip(points, weights, strict=True)):
        if mass.shape != (len(atoms),):
            raise Refused(f"Prompt {i} has {len(atoms)} tokens and needs as many weights; found an array of shape {mass.shape}.")
        out_points[i, : len(atoms)] = atoms
        out_weights[i, : len(atoms)] = mass
    pads = np.arange(longest) >= np.array([len(atoms) for atoms in points])[:, None]
    means = weighted_means(out_points, out_weights)
    return np.where(pads[..., None], means[:, None, :], out_points), out_weights
