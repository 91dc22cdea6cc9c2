"""The rules of measurement: compile first, take turns, several rounds, each long enough for the clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mckean.bench.record import Part, Timing

MOST_REPEATS = 1000


@dataclass(frozen=True)
class Rule:
    """rounds: timings of each competitor.  least: seconds that one timing lasts at least, by repeating short calls."""

    rounds: int = 5
    least: float = 0.3


@dataclass(frozen=True)
class Competitor:
    """A call that returns when its work is done. `part` says which part of the whole it does; its seconds are multiplied up by that.

    One that is `needed` fails the case where it fails; another is left out, with a note.
    """

    name: str
    call: Callable[[], Any]
    part: Part | None = None
    needed: bool = True

    @property
    def factor(self) -> float:
        """The whole over the part that is timed."""
        return 1.0 if self.part is None else self.part.factor


def in_turns(competitors: Sequence[Competitor], rule: Rule, notes: list[str]) -> dict[str, Timing]:
    """Seconds of the whole for each competitor by name, timed in turns so that a slow spell of the machine meets all of them."""
    first = _first(competitors, notes)
    able = [one for one in competitors if one.name in first]
    repeats = {one.name: _repeats(seconds(one.call), rule.least) for one in able}
    samples: dict[str, list[float]] = {one.name: [] for one in able}
    for _ in range(rule.rounds):
        for one in able:
            count = repeats[one.name]
            samples[one.name].append(one.factor * seconds(one.call, count) / count)
    return {name: Timing(tuple(values), first[name]) for name, values in samples.items()}


def _first(competitors: Sequence[Competitor], notes: list[str]) -> dict[str, float]:
    """Seconds of each first call, without those that failed and are not needed."""
    found: dict[str, float] = {}
    for one in competitors:
        try:
            found[one.name] = seconds(one.call)
        except Exception as error:
            if one.needed:
                raise
            reason = next(iter(str(error).strip().splitlines()), "no message")
            note = f"{one.name} is left out: {type(error).__name__}: {reason}"
            if note not in notes:
                notes.append(note)
    return found


def seconds(call: Callable[[], Any], times: int = 1) -> float:
    """How long so many calls take."""
    begun = time.perf_counter()
    for _ in range(times):
        call()
    return time.perf_counter() - begun


def _repeats(once: float, least: float) -> int:
    return max(1, min(MOST_REPEATS, math.ceil(least / max(once, 1e-9))))
