"""Exact tiles against the exact peers, over dimensions, sizes, dtypes, forward and backward."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from mckean.bench.cases.base import Bench, best, least, rows, told
from mckean.bench.peers import FORWARD, GRADIENT, arrays_of, entries, names
from mckean.bench.record import Findings, Part, Size, Spread
from mckean.bench.sampling import part_of
from mckean.bench.setting import Setting
from mckean.bench.timing import Rule, in_turns

OWN = "tiles"
LEAST = 0.1  # seconds of one timing: many settings, none of them long


@dataclass(frozen=True)
class Tiles:
    """Each of `dims` × `tokens` × `dtypes`, H heads, |A|R² = `exponent`, forward and with gradient."""

    dims: tuple[int, ...]
    tokens: tuple[int, ...]
    dtypes: tuple[str, ...]
    heads: int
    exponent: float
    pairs: float

    def measure(self, findings: Findings, bench: Bench) -> None:
        """A row a peer, with its time over the tiles'; the claims are of the setting where the best peer does best."""
        few: dict[str, Spread] = {}
        many: dict[str, Spread] = {}
        rule = replace(bench.rule, least=min(bench.rule.least, LEAST))
        for d, n, dtype in product(self.dims, self.tokens, self.dtypes):
            size = Size("ball", n, self.heads, d, self.exponent, dtype)
            for task in (FORWARD, GRADIENT):
                bench.tell(f"d = {d}, N = {n}, {dtype}, {task}")
                ratio = self._one(size, task, findings, bench, rule)
                if ratio is not None:
                    (few if d <= 8 else many)[f"d = {d}, N = {n:,}, {dtype}, {task}"] = ratio
        for group, found, limit in (("d ≤ 8", few, 1.0), ("d > 8", many, 1 / 1.1)):
            if found:
                where, worst = least(found)
                findings.claim(f"best peer over tiles, {group}, least of {len(found)} settings ({where})", worst, at_least=limit)

    def _one(self, size: Size, task: str, findings: Findings, bench: Bench, rule: Rule) -> Spread | None:
        setting, part = Setting(size, bench.seed), part_of(size, self.pairs)
        calls = entries(setting, bench.peers, part, task)
        timings = in_turns(calls, rule, findings.notes)
        right = _reference(setting, part, bench) if task == FORWARD else None
        for row, call in zip(rows(size, task, OWN, calls, timings), [one for one in calls if one.name in timings], strict=True):
            findings.rows.append(row if right is None else replace(row, error=_error(np.asarray(call.call()), right)))
        if not part.whole:
            note = f"N = {size.tokens:,} was timed on {told(part)}."
            findings.notes += [note] * (note not in findings.notes)
        others = [name for name in names(bench.peers) if name != OWN and name in timings]
        return timings[best(timings, others)].over(timings[OWN]) if others else None


def _reference(setting: Setting, part: Part, bench: Bench) -> np.ndarray:
    """The velocity of the part by tiles in float64, from the same numbers."""
    given = arrays_of(setting, part)
    wide = type(given)(*(np.asarray(getattr(given, name), np.float64) for name in ("q", "y", "a", "v", "g")))
    return np.asarray(bench.peers[0].forward(wide)())


def _error(found: np.ndarray, right: np.ndarray) -> float:
    return float(np.linalg.norm(found - right, axis=1).max() / np.linalg.norm(right, axis=1).max())
