"""The exponent of a power law of the time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from mckean.bench.record import Spread


def exponent(sizes: Sequence[float], times: Sequence[float]) -> Spread:
    """The slope p of log(time) = p·log(size) + c by least squares, with its 95 % interval by Student's t of the residuals.

    A number without unit. Two sizes give no interval: it is then ±∞.
    """
    fitted = stats.linregress(np.log(sizes), np.log(times))
    slope, error = float(fitted.slope), float(fitted.stderr)  # pyright: ignore[reportAttributeAccessIssue]
    free = len(sizes) - 2
    reach = float(stats.t.ppf(0.975, free)) * error if free > 0 else float("inf")
    return Spread(slope, slope - reach, slope + reach)
