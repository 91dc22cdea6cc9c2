"""Time against the number of tokens, and its exponent."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mckean.bench import accuracy
from mckean.bench.cases.base import Bench, rows
from mckean.bench.fit import exponent
from mckean.bench.peers import FORWARD, entries
from mckean.bench.record import Findings, Size, Spread
from mckean.bench.sampling import part_of
from mckean.bench.setting import Setting
from mckean.bench.table import NAME, Table
from mckean.bench.timing import in_turns


@dataclass(frozen=True)
class Scaling:
    """The table to `rtol` and exact tiles for several N (of a ball in R^d, H heads, |A|R² = `exponent`), in float64."""

    dim: int
    tokens: tuple[int, ...]
    heads: int
    exponent: float
    rtol: float
    pairs: float

    def measure(self, findings: Findings, bench: Bench) -> None:
        """A pair of rows for each N; the claim is the exponent of the table's median times, with its 95 % interval."""
        times: dict[str, dict[int, float]] = {}
        for n in self.tokens:
            bench.tell(f"{n} tokens")
            size = Size("ball", n, self.heads, self.dim, self.exponent)
            setting, part = Setting(size, bench.seed), part_of(size, self.pairs)
            table = Table(setting, self.rtol)
            if not table.taken:
                findings.notes.append(f"N = {n:,}: {table.found.reason}.")
                continue
            calls = [table.forward(), *entries(setting, bench.peers[:1], part)]
            timings = in_turns(calls, bench.rule, findings.notes)
            some, right = accuracy.exact_at(setting)
            error = accuracy.relative(table.found.velocity[some], right)
            for row in rows(size, FORWARD, NAME, calls, timings):
                if row.method == NAME:
                    row = replace(row, error=error, bound=table.found.bound, note=table.plan())
                findings.rows.append(row)
                times.setdefault(row.method, {})[n] = row.timing.spread.median
        for method, known in times.items():
            if len(known) > 1:
                slope: Spread = exponent(list(known), list(known.values()))
                findings.claim(f"exponent of time in N, {method}", slope, at_most=1.05 if method == NAME else None, unit="")
