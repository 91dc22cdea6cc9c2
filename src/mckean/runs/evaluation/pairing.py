"""Two predictors on the same prompts: the difference, its interval and a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, stats

from mckean.runs.evaluation.predictions import Predictions

LEVEL = 0.95


def paired(ours: Predictions, theirs: Predictions) -> dict[str, Any] | None:
    """The difference on the same prompts, with a 95 % interval: Tango's and exact McNemar for classes, paired t for losses.

    For classes `difference` is ours minus theirs in accuracy; for numbers, theirs minus ours in mean loss: positive means ours is better.
    None for the losses of a single prompt, which have no spread.
    """
    if ours.correct is not None and theirs.correct is not None:
        better = int(np.sum(ours.correct & ~theirs.correct))
        worse = int(np.sum(~ours.correct & theirs.correct))
        count = len(ours.correct)
        p = float(stats.binomtest(better, better + worse).pvalue) if better + worse else 1.0
        found = {
            "difference": (better - worse) / count,
            "interval": tango(better, worse, count),
            "p_value": p,
            "test": "exact McNemar",
        }
    else:
        gain = theirs.losses - ours.losses
        if len(gain) < 2:
            return None
        better, worse = int(np.sum(gain > 0)), int(np.sum(gain < 0))
        found = _mean_gain(gain)
    return {"better": better, "worse": worse, **found}


def _mean_gain(gain: np.ndarray) -> dict[str, Any]:
    count = len(gain)
    mean, error = float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(count))
    spread = float(stats.t.ppf((1 + LEVEL) / 2, count - 1)) * error
    found = {"difference": mean, "interval": [mean - spread, mean + spread]}
    if np.ptp(gain) > 0 and error > 0:
        return found | {"p_value": float(2 * stats.t.sf(abs(mean) / error, count - 1)), "test": "paired t"}
    # Equal gains have no spread for t; of their 2^n signs two are as far from 0 as what was found.
    return found | {"p_value": 2.0 ** (1 - count) if mean != 0 else 1.0, "test": "exact sign flips"}


def tango(better: int, worse: int, count: int) -> list[float]:
    r"""The score interval for a difference of paired proportions: the Δ with |b − c − nΔ| ≤ z √(n(2q + Δ(1 − Δ))).

    q is the likeliest share of `worse` given Δ, the larger root of 2n q² − (b + c − (2n − b + c)Δ) q − cΔ(1 − Δ) = 0. It has a width also where
    no pair is discordant. Source: Tango, Statistics in Medicine 17, 1998.
    """
    z = float(stats.norm.ppf((1 + LEVEL) / 2))

    def excess(delta: float, side: float) -> float:
        linear = (2 * count - better + worse) * delta - better - worse
        root = np.sqrt(max(linear**2 + 8 * count * worse * delta * (1 - delta), 0.0))
        share = (root - linear) / (4 * count)
        return better - worse - count * delta - side * z * np.sqrt(max(count * (2 * share + delta * (1 - delta)), 0.0))

    middle = (better - worse) / count
    # Off the middle by a little: where no pair speaks against it, its own deviation is 0 and it would count as an end.
    low = -1.0 if middle == -1.0 else _root(lambda delta: excess(delta, 1.0), -1.0, middle - 1e-9)
    high = 1.0 if middle == 1.0 else _root(lambda delta: excess(delta, -1.0), middle + 1e-9, 1.0)
    return [low, high]


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return float(optimize.brentq(function, low, high))  # pyright: ignore[reportArgumentType]
