"""What every kind of case is given, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mckean.bench.peers import Peer
from mckean.bench.record import Findings, Part, Row, Size, Spread, Timing
from mckean.bench.timing import Competitor, Rule


@dataclass(frozen=True)
class Bench:
    """How a case is measured: the rules of timing, the seed of data and heads, and the peers of the exact sum.

    tell: is called with a short word before each piece of work, for people who wait.
    """

    rule: Rule
    seed: int
    peers: Sequence[Peer]
    tell: Callable[[str], None] = lambda _word: None


class Kind(Protocol):
    """A kind of case at given sizes."""

    def measure(self, findings: Findings, bench: Bench) -> None:
        """Add rows, claims and notes to the findings as they are known."""
        ...


def rows(size: Size, task: str, own: str, competitors: Sequence[Competitor], timings: Mapping[str, Timing]) -> list[Row]:
    """A row a competitor, with its time over that of the case's own method."""
    return [
        Row(
            size,
            task,
            one.name,
            timings[one.name],
            one.part,
            ratio=None if one.name == own else timings[one.name].over(timings[own]),
        )
        for one in competitors
        if one.name in timings
    ]


def best(timings: Mapping[str, Timing], among: Sequence[str]) -> str:
    """The name of least median among those that were timed."""
    return min((name for name in among if name in timings), key=lambda name: timings[name].spread.median)


def least(ratios: Mapping[str, Spread]) -> tuple[str, Spread]:
    """The setting of the smallest median, and its spread."""
    name = min(ratios, key=lambda key: ratios[key].median)
    return name, ratios[name]


def told(part: Part) -> str:
    """How much of the sum was timed, in words."""
    if part.whole:
        return "the whole sum"
    return f"{part.queries:,} queries × {part.heads:,} heads, times {part.factor:,.4g}"
