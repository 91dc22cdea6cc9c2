"""The data of the page's moving picture: positions as 16-bit integers, small enough to travel inside the page."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mckean.report import selection
from mckean.report.arrays import Flow

TOKENS = 300
DEPTHS = 65
LEVELS = 65534  # positions are 0 … 65534 within the range; 65535 marks what is not a finite number
ABSENT = 65535


def payload(flow: Flow, rows: Sequence[int], classes: list[str] | None) -> dict[str, Any]:
    """What the script in the page draws; in one dimension the first coordinate is depth itself.

    `data` of each prompt is base64 of little-endian uint16, (depths, tokens, 2).
    """
    shown = selection.depths(DEPTHS, flow.times.size)
    times = flow.times[shown]
    clouds = [_cloud(flow, row, shown) for row in rows]
    low, high = _box([points for points, _ in clouds], square=flow.points.shape[3] > 1)
    return {
        "times": [float(time) for time in times],
        "line": flow.points.shape[3] == 1,
        "low": low.tolist(),
        "high": high.tolist(),
        "prompts": [
            {
                "label": selection.label(flow, row, classes),
                "tokens": points.shape[1],
                "areas": np.round(weights / weights.max(), 4).tolist(),
                "colours": selection.ranks(points[0, :, -1 if flow.points.shape[3] == 1 else 0]).tolist(),
                "data": _encode(points, low, high),
            }
            for row, (points, weights) in zip(rows, clouds, strict=True)
        ],
    }


def _cloud(flow: Flow, row: int, shown: selection.Indices) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    keep = selection.tokens(flow.weights[row], TOKENS)
    points = flow.points[row][shown][:, keep, :2]
    if points.shape[2] == 1:
        depth = np.broadcast_to(flow.times[shown][:, None, None], points.shape)
        points = np.concatenate([depth, points], axis=2)
    return points, flow.weights[row, keep]


def _box(clouds: list[NDArray[np.float64]], *, square: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    everything = np.concatenate([points.reshape(-1, 2) for points in clouds])
    everything = everything[np.isfinite(everything).all(axis=1)]
    if not everything.size:
        return np.full(2, -1.0), np.full(2, 1.0)
    middle = (everything.min(axis=0) + everything.max(axis=0)) / 2
    half = 0.55 * np.maximum(np.ptp(everything, axis=0), 1e-9)
    half = np.full(2, half.max()) if square else half
    return middle - half, middle + half


def _encode(points: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> str:
    finite = np.isfinite(points).all(axis=2, keepdims=True)
    scaled = np.where(finite, (points - low) / (high - low), 0.0)
    levels = np.where(finite, np.round(scaled * LEVELS), ABSENT)
    return base64.b64encode(levels.astype("<u2").tobytes()).decode("ascii")
