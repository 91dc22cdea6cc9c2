"""Intervals for shares: how far an accuracy measured on finitely many prompts can be off."""

import math

Z95 = 1.959963984540054  # two-sided 95 % quantile of the normal law


def wilson(share: float, size: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of a share observed on `size` independent prompts.

    (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n); with size 0 it is all of [0, 1].
    """
    if size <= 0:
        return 0.0, 1.0
    z2 = Z95 * Z95
    middle = share + z2 / (2 * size)
    half = Z95 * math.sqrt(max(share * (1 - share), 0.0) / size + z2 / (4 * size * size))
    scale = 1 + z2 / size
    # Between the share and the ends of [0, 1] also after rounding: at a share of 0 or 1 the interval ends there.
    return min(share, max(0.0, (middle - half) / scale)), max(share, min(1.0, (middle + half) / scale))
