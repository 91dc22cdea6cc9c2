"""The certified table against the exact sum of every peer, law by law."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mckean.bench import accuracy
from mckean.bench.cases.base import Bench, best, least, rows, told
from mckean.bench.peers import FORWARD, Peer, entries, names
from mckean.bench.record import Findings, Row, Size, Spread
from mckean.bench.sampling import part_of
from mckean.bench.setting import Setting
from mckean.bench.table import CHOSEN, NAME, Table
from mckean.bench.timing import in_turns

SLOWER = 1.5  # times the best exact: peers above it are timed on the first law only


@dataclass(frozen=True)
class AgainstExact:
    """N tokens of R^d, H heads, |A|R² = `exponent`, the table to `rtol`, all in float64.

    pairs: how many (query, key, head) triples of the exact sum are timed.  wanted: least time of the best exact over the table's.
    beyond: (N, |A|R²) of a setting that no table reaches, where the exact sum must be taken and said; None for none.
    """

    dim: int
    tokens: int
    heads: int
    exponent: float
    rtol: float
    laws: tuple[str, ...]
    pairs: float
    wanted: float | None = None
    beyond: tuple[int, float] | None = None

    def measure(self, findings: Findings, bench: Bench) -> None:
        """A row a method and law; the claim is of the worst law. Slow peers are timed on the first law alone."""
        ratios: dict[str, Spread] = {}
        for law in self.laws:
            bench.tell(law)
            size = Size(law, self.tokens, self.heads, self.dim, self.exponent)
            ratio = self._one(Setting(size, bench.seed), findings, bench)
            if ratio is not None:
                ratios[law] = ratio
            bench = replace(bench, peers=_able_to_be_best(findings, bench))
        if ratios:
            law, worst = least(ratios)
            findings.claim(f"best exact over table, worst of {len(ratios)} laws ({law})", worst, at_least=self.wanted)
        if self.beyond is not None:
            findings.notes.append(self._out_of_reach(*self.beyond, bench.seed))

    def _one(self, setting: Setting, findings: Findings, bench: Bench) -> Spread | None:
        table, part = Table(setting, self.rtol), part_of(setting.size, self.pairs)
        exact = entries(setting, bench.peers, part)
        own = [table.forward(), table.with_choice()] if table.taken else []
        timings = in_turns([*own, *exact], bench.rule, findings.notes)
        if not table.taken:
            findings.notes.append(f"{setting.size.law}: no table was taken; {table.found.reason}.")
            findings.rows += [
                Row(setting.size, FORWARD, one.name, timings[one.name], part) for one in exact if one.name in timings
            ]
            return None
        some, right = accuracy.exact_at(setting)
        error = accuracy.relative(table.found.velocity[some], right)
        for row in rows(setting.size, FORWARD, NAME, [*own, *exact], timings):
            if row.method in (NAME, CHOSEN):
                row = replace(row, error=error, bound=table.found.bound, note=table.plan())
            findings.rows.append(row)
        if not part.whole:
            note = f"Exact sums were timed on {told(part)}: their time is linear in both."
            findings.notes += [note] * (note not in findings.notes)
        return timings[best(timings, names(bench.peers))].over(timings[NAME])

    def _out_of_reach(self, tokens: int, exponent: float, seed: int) -> str:
        found = Table(Setting(Size(self.laws[0], tokens, self.heads, self.dim, exponent), seed), self.rtol).found
        return f"At |A|R² = {exponent:g} and N = {tokens:,} the method taken is {found.method}: {found.reason}."


def _able_to_be_best(findings: Findings, bench: Bench) -> list[Peer]:
    """The peers that are worth timing on another law: the sums do not depend on it, so the much slower ones can't become the best."""
    known = {row.method: row.timing.spread.median for row in findings.rows if row.method in names(bench.peers)}
    quick = [peer for peer in bench.peers if known.get(peer.NAME, float("inf")) <= SLOWER * min(known.values(), default=1.0)]
    return quick or list(bench.peers)
