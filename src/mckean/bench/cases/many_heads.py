"""Time against the number of heads, forward and with gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mckean.bench import accuracy
from mckean.bench.cases.base import Bench, told
from mckean.bench.peers import FORWARD, GRADIENT, entries
from mckean.bench.record import Findings, Part, Row, Size, Timing
from mckean.bench.sampling import part_of
from mckean.bench.setting import Setting
from mckean.bench.table import NAME, Table
from mckean.bench.timing import Competitor, in_turns

EXACT_PAIRS = 3e9  # (query, key, head) triples that an exact reference may take: some ten seconds


@dataclass(frozen=True)
class ManyHeads:
    """N tokens in a ball of R^d, |A|R² = `exponent`, the table to `rtol`, for several H, all timed in turns; exact tiles for one head of them."""

    dim: int
    tokens: int
    heads: tuple[int, ...]
    exponent: float
    rtol: float
    pairs: float

    def measure(self, findings: Findings, bench: Bench) -> None:
        """Claims: H_max over H_min, and the seconds of H_max forward and with gradient."""
        tables = {h: self._table(h, bench) for h in self.heads}
        taken = [h for h, table in tables.items() if table.taken]
        findings.notes += [f"H = {h:,}: {tables[h].found.reason}." for h in self.heads if h not in taken]
        if not taken:
            return
        first = tables[taken[0]].setting
        part = part_of(first.size, self.pairs)
        tiles = entries(first, bench.peers[:1], part)
        bench.tell(FORWARD)
        forward = in_turns([*(_named(tables[h].forward(), h) for h in taken), *tiles], bench.rule, findings.notes)
        findings.notes.append(f"Tiles were timed on {told(part)}, and are linear in H too.")
        for h in taken:
            bench.tell(f"error at {h} heads")
            findings.rows += self._rows(tables[h], forward[str(h)], tiles[0].name, forward[tiles[0].name], part, findings)
        bench.tell(GRADIENT)
        gradient = in_turns([_named(tables[h].gradient(), h) for h in taken], bench.rule, findings.notes)
        findings.rows += [Row(tables[h].setting.size, GRADIENT, NAME, gradient[str(h)]) for h in taken]
        few, many = taken[0], taken[-1]
        findings.claim(f"H = {many:,} over H = {few:,}, forward", forward[str(many)].over(forward[str(few)]), at_most=8)
        findings.claim(f"H = {many:,}, forward", forward[str(many)].spread, at_most=2, unit="s")
        findings.claim(f"H = {many:,}, forward and gradient", gradient[str(many)].spread, at_most=6, unit="s")

    def _table(self, heads: int, bench: Bench) -> Table:
        bench.tell(f"{heads} heads")
        return Table(Setting(Size("ball", self.tokens, heads, self.dim, self.exponent), bench.seed), self.rtol)

    def _rows(self, table: Table, timing: Timing, name: str, exact: Timing, part: Part, findings: Findings) -> list[Row]:
        size = table.setting.size
        error, bound = self._error(table, findings)
        own = Row(size, FORWARD, NAME, timing, error=error, bound=bound, note=table.plan())
        factor = size.tokens / part.queries * size.heads / part.heads
        scaled = Timing(tuple(value * factor / part.factor for value in exact.samples), exact.first)
        return [own, Row(size, FORWARD, name, scaled, replace(part, factor=factor), ratio=scaled.over(timing))]

    def _error(self, table: Table, findings: Findings) -> tuple[float, float]:
        size = table.setting.size
        if accuracy.QUERIES * size.tokens * size.heads <= EXACT_PAIRS:
            some, right = accuracy.exact_at(table.setting)
        else:
            some, right, bound = accuracy.fine_at(table.setting)
            findings.notes.append(
                f"H = {size.heads:,}: the error is against a table whose own bound is {bound:.1e}; the sum would take too long."
            )
        return accuracy.relative(table.found.velocity[some], right), table.found.bound


def _named(competitor: Competitor, heads: int) -> Competitor:
    return replace(competitor, name=str(heads))
