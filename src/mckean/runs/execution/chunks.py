"""Where the training loop comes up for air.

Lines, evaluations and checkpoints come at multiples of fixed numbers of training steps. Between two of those the
steps are cut into chunks of bounded time, after each of which signals are obeyed and progress is shown; numbers
do not depend on these cuts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

AIM_S = 2.0
"""Seconds that a chunk should take: the longest wait before a stop, where one step takes less."""


def next_boundary(step: int, total: int, every: Sequence[int]) -> int:
    """The first training step after `step` that is a multiple of one of `every`, or the last one."""
    return min(total, *((step // period + 1) * period for period in every))


def due(step: int, total: int, every: int) -> bool:
    """Whether what happens each `every` steps, and at the end, happens at `step`."""
    return step % every == 0 or step == total


@dataclass
class Pace:
    """How many steps a chunk holds: one at first, then as many as the last chunk says fit into `aim_s` seconds."""

    aim_s: float = AIM_S
    fitting: int = 1

    def steps(self, most: int) -> int:
        return min(most, self.fitting)

    def add(self, n: int, seconds: float) -> None:
        # A chunk that held the compiling gives one step more, and that one the pace.
        self.fitting = max(1, int(self.aim_s * n / max(seconds, 1e-6)))


@dataclass
class Interval:
    """The steps since the last line of the metrics: their risks, and how long those of this process took."""

    risks: list[float] = field(default_factory=list)
    timed: int = 0
    seconds: float = 0.0

    def add(self, risks: list[float], seconds: float) -> None:
        self.risks += risks
        self.timed += len(risks)
        self.seconds += seconds

    @property
    def risk(self) -> float:
        """Their mean risk."""
        return math.fsum(self.risks) / len(self.risks)

    @property
    def rate(self) -> float:
        """Steps a second."""
        return self.timed / self.seconds if self.seconds > 0.0 else 0.0
