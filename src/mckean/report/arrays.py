"""The arrays of a run folder (`results/*.npz`), as frozen records whose shapes have been checked."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mckean.errors import Refused, StorageFailure

Array = NDArray[np.generic]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Flow:
    """Tokens through depth for m prompts: times (L+1,), points (m, L+1, N, d), weights (m, N), weight 0 pads."""

    times: Floats
    points: Floats
    weights: Floats
    index: NDArray[np.int64]
    targets: Array | None = None
    predicted: Array | None = None


@dataclass(frozen=True)
class Heads:
    """Heads before and after training: leaves (H, ...), or (layers, H, ...) if `layered`; weights (H,)."""

    before: dict[str, Floats]
    after: dict[str, Floats]
    weights_before: Floats
    weights_after: Floats
    layered: bool = False


@dataclass(frozen=True)
class Costate:
    """Quantiles 10, 50, 90 % over prompts, (3, L+1): of the costate's size and of the tokens' spread.

    `prompts` is how many prompts the quantiles are over, where the file says it.
    """

    times: Floats
    rms: Floats
    tokens_rms: Floats
    prompts: int | None = None


def load(path: Path) -> dict[str, Array]:
    """All arrays of an .npz file. Raises `StorageFailure` if it is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise StorageFailure(
            f"{path} must be a whole .npz file, but it cannot be read ({error}); resume or repeat the run."
        ) from error


def flow_from(arrays: Mapping[str, Array], name: str) -> Flow:
    points, times, weights = (_take(arrays, key, name) for key in ("points", "times", "weights"))
    if points.ndim != 4 or times.shape != points.shape[1:2] or weights.shape != (points.shape[0], points.shape[2]):
        raise Refused(
            f"{name} must hold points (m, L+1, N, d), times (L+1,) and weights (m, N), but their shapes are "
            f"{points.shape}, {times.shape} and {weights.shape}; repeat the run."
        )
    prompts = points.shape[0]
    index = np.asarray(arrays.get("index", np.arange(prompts)), dtype=np.int64)
    labels = {key: arrays[key] for key in ("targets", "predicted") if key in arrays}
    return Flow(times, points, weights, index, labels.get("targets"), labels.get("predicted"))


def heads_from(arrays: Mapping[str, Array], name: str, *, layered: bool) -> Heads:
    before_weights = _take(arrays, "weights_before", name)
    after_weights = _take(arrays, "weights_after", name)
    before = leaves(arrays, "before.", before_weights.shape[-1], layered=layered)
    after = leaves(arrays, "after.", after_weights.shape[-1], layered=layered)
    if not before or before.keys() != after.keys():
        raise Refused(
            f"{name} must hold the same parameters before and after training, but it holds "
            f"{sorted(before)} and {sorted(after)}; repeat the run."
        )
    return Heads(before, after, before_weights, after_weights, layered)


def costate_from(arrays: Mapping[str, Array], name: str) -> Costate:
    times, rms, spread = (_take(arrays, key, name) for key in ("times", "rms", "tokens_rms"))
    if rms.shape != (3, times.size) or spread.shape != (3, times.size):
        raise Refused(
            f"{name} must hold rms and tokens_rms of shape (3, {times.size}), but found {rms.shape} and "
            f"{spread.shape}; repeat the run."
        )
    prompts = int(arrays["prompts"]) if "prompts" in arrays else None
    return Costate(times, rms, spread, prompts)


def leaves(arrays: Mapping[str, Array], prefix: str, heads: int, *, layered: bool) -> dict[str, Floats]:
    """The parameters under `prefix` that have one entry a head; what all heads share (a scale) is left out."""
    axis = 1 if layered else 0
    found = {key.removeprefix(prefix): np.asarray(value) for key, value in arrays.items() if key.startswith(prefix)}
    return {
        key: value.astype(float)
        for key, value in found.items()
        if value.ndim > axis and value.shape[axis] == heads and value.dtype.kind in "fiu"
    }


def _take(arrays: Mapping[str, Array], key: str, name: str) -> Floats:
    if key not in arrays:
        raise Refused(f"{name} must hold the array `{key}`, but it holds {sorted(arrays)}; repeat the run.")
    return np.asarray(arrays[key], dtype=float)
