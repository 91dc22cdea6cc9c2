"""The size of the data against the range of the run's number format."""

from __future__ import annotations

from typing import Any

import numpy as np

from mckean.errors import Refused


def check_magnitude(name: str, numbers: Any, precision: str) -> None:
    """Refuse numbers (n, …) whose fourth powers overflow: losses, spreads and their gradients are products of up to four of them."""
    most = float(np.finfo(precision).max) ** 0.25
    sizes = np.abs(np.asarray(numbers, np.float64)).reshape(len(numbers), -1).max(axis=1)
    worst = int(sizes.argmax())
    if sizes[worst] > most:
        raise Refused(
            f"{name} must be at most {most:.2g} in magnitude, so that products of four stay finite in {precision}; "
            f"found {sizes[worst]:.3g} in prompt {worst}: scale the data to the order of 1."
        )
