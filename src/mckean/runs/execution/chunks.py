"""Where the training loop comes up for air.

The boundaries are multiples of fixed numbers of training steps and depend on nothing else, above all not on
the clock: a run that was stopped goes on through the same chunks as one that was not, so that the same
programs run on the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence


def next_boundary(step: int, total: int, every: Sequence[int]) -> int:
    """The first training step after `step` that is a multiple of one of `every`, or the last one."""
    return min(total, *((step // period + 1) * period for period in every))


def due(step: int, total: int, every: int) -> bool:
    """Whether what happens each `every` steps, and at the end, happens at `step`."""
    return step % every == 0 or step == total
