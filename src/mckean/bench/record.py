"""What a measurement leaves behind: plain values that become JSON, with no JAX."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any


def plain(value: Any) -> Any:
    """Values that JSON has: a number that is not finite is null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Spread:
    """The median of some values, and the smallest and largest of them."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: tuple[float, ...]) -> Spread:
        """Of at least one value."""
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True)
class Timing:
    """Seconds of one evaluation: a value a round (`samples`), and of the first call, which compiles (`first`)."""

    samples: tuple[float, ...]
    first: float

    @property
    def spread(self) -> Spread:
        """Median, least and largest, in seconds."""
        return Spread.of(self.samples)

    def over(self, other: Timing) -> Spread:
        """This time divided by another's of the same rounds: a number without unit."""
        return Spread.of(tuple(mine / theirs for mine, theirs in zip(self.samples, other.samples, strict=True)))


@dataclass(frozen=True)
class Part:
    """A part of a sum that is too long to be timed whole: so many of its N queries and of its H heads. `factor` is whole over part."""

    queries: int
    heads: int
    factor: float

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self.factor == 1.0


@dataclass(frozen=True)
class Size:
    """N tokens of R^d under a law whose radius is 1, H heads of spectral norm |A|R² = `exponent`, in a dtype."""

    law: str
    tokens: int
    heads: int
    dim: int
    exponent: float
    dtype: str = "float64"


@dataclass(frozen=True)
class Row:
    """One method on one setting.

    task: "forward", "forward + gradient" or "training step".  method: its name in tables.
    timing: seconds of the whole task, scaled up from `part` where the sum was timed in part.
    error: max_i |V̂(x_i) − V(x_i)| / max_i |V(x_i)| on sampled queries.  bound: the certificate of the same number.
    ratio: its time over that of the case's own method (the table; exact tiles in "tiles"), round by round.
    """

    size: Size
    task: str
    method: str
    timing: Timing
    part: Part | None = None
    error: float | None = None
    bound: float | None = None
    ratio: Spread | None = None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain values; `seconds` holds median, low and high."""
        plain = asdict(self)
        timing = plain.pop("timing")
        return {
            **plain,
            "seconds": asdict(self.timing.spread),
            "samples": list(timing["samples"]),
            "first_call": self.timing.first,
        }


@dataclass(frozen=True)
class Claim:
    """A figure with what was wanted of it: "at least" or "at most" a `limit`, in the unit of `measured`; None where nothing was."""

    what: str
    measured: Spread
    at_least: float | None = None
    at_most: float | None = None
    unit: str = "×"

    @property
    def holds(self) -> bool | None:
        """Whether the median meets the limit."""
        if self.at_least is not None:
            return self.measured.median >= self.at_least
        return None if self.at_most is None else self.measured.median <= self.at_most

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "holds": self.holds}


@dataclass
class Findings:
    """What a case has found so far: kept where it fails later."""

    case: str
    about: str
    stated_size: bool
    rows: list[Row] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    failure: str | None = None

    def claim(
        self, what: str, measured: Spread, *, at_least: float | None = None, at_most: float | None = None, unit: str = "×"
    ) -> None:
        """Add a figure; its limit belongs to the stated size and is left out at any other."""
        if not self.stated_size:
            at_least = at_most = None
        self.claims.append(Claim(what, measured, at_least, at_most, unit))

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return plain(
            {
                "name": self.case,
                "about": self.about,
                "stated_size": self.stated_size,
                "rows": [row.as_json() for row in self.rows],
                "claims": [claim.as_json() for claim in self.claims],
                "notes": self.notes,
                "seconds": self.seconds,
                "failure": self.failure,
            }
        )
