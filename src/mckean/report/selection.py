"""Which prompts, depths and tokens a picture shows, chosen without chance so that a report can be remade."""

import numpy as np
from numpy.typing import NDArray

from mckean.report.arrays import Flow
from mckean.report.words import number, plain

Indices = NDArray[np.int64]


def prompts(flow: Flow, count: int, *, classes: bool) -> list[int]:
    """Rows of up to `count` prompts: one of each class in turn, one that is predicted wrongly among them."""
    rows = list(range(flow.points.shape[0]))
    if not classes or flow.targets is None or flow.targets.ndim != 1:
        return rows[:count]
    targets = flow.targets
    turn: dict[int, int] = {}
    seen: dict[object, int] = {}
    for row in rows:
        label = targets[row].item()
        turn[row] = seen.get(label, 0)
        seen[label] = turn[row] + 1
    ranked = sorted(rows, key=lambda row: (turn[row], targets[row].item()))
    chosen = ranked[:count]
    if flow.predicted is not None and flow.predicted.shape == targets.shape:
        wrong = [row for row in ranked if flow.predicted[row] != targets[row]]
        if wrong and not set(wrong) & set(chosen):
            chosen[-1] = wrong[0]
    return chosen


def depths(count: int, total: int) -> Indices:
    """Up to `count` of `total` depth indices, first and last among them."""
    return np.unique(np.round(np.linspace(0, total - 1, min(count, total))).astype(np.int64))


def tokens(weights: NDArray[np.float64], count: int) -> Indices:
    """Tokens with mass: all of them, or `count` evenly spaced ones where there are more."""
    there = np.flatnonzero(weights > 0)
    return there if there.size <= count else there[np.linspace(0, there.size - 1, count).astype(np.int64)]


def ranks(values: NDArray[np.float64], steps: int = 8) -> Indices:
    """The colour step of each token: its rank among `values`, cut into `steps` equal groups."""
    order = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return (order * steps // max(values.size, 1)).astype(np.int64)


def label(flow: Flow, row: int, classes: list[str] | None) -> str:
    """What is known of a prompt: its number, target, and prediction."""
    parts = [f"prompt {int(flow.index[row])}"]
    for word, values in (("target", flow.targets), ("predicted", flow.predicted)):
        if values is not None and values.ndim == 1 and values.shape[0] > row:
            parts.append(f"{word} {_value(values[row].item(), classes)}")
    return ", ".join(parts)


def is_wrong(flow: Flow, row: int) -> bool:
    if flow.targets is None or flow.predicted is None or flow.targets.shape != flow.predicted.shape:
        return False
    return bool(np.any(flow.targets[row] != flow.predicted[row]))


def _value(value: object, classes: list[str] | None) -> str:
    if not isinstance(value, int | float):
        return plain(value, 14)
    if classes is not None and float(value).is_integer() and 0 <= value < len(classes):
        return plain(classes[int(value)], 14)
    return number(float(value))
