"""What `method=None` takes, against the exact sum and the table that it chooses between."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax

from mckean.bench.cases.base import Bench, best, least, rows
from mckean.bench.peers import FORWARD
from mckean.bench.record import Findings, Size, Spread
from mckean.bench.setting import Setting
from mckean.bench.table import NAME, Table
from mckean.bench.timing import Competitor, in_turns
from mckean.field import Exact, certified_velocity, dispatch, velocity
from mckean.field.choice import AUTOMATIC_RTOL

OWN, EXACT = "method=None", "exact"


@dataclass(frozen=True)
class Choice:
    """Settings (d, N, H, |A|R²) on both sides of the crossover, with tokens in a ball and float64."""

    settings: tuple[tuple[int, int, int, float], ...]

    def measure(self, findings: Findings, bench: Bench) -> None:
        """Rows of the three; the claim is the worst of `velocity(method=None)` over the better of the two compiled."""
        over: dict[str, Spread] = {}
        for dim, tokens, heads, exponent in self.settings:
            size = Size("ball", tokens, heads, dim, exponent)
            bench.tell(f"d = {dim}, N = {tokens:,}, H = {heads}, |A|R² = {exponent:g}")
            setting = Setting(size, bench.seed)
            calls = [_chosen(setting), _exact(setting), *_table(setting)]
            timings = in_turns(calls, bench.rule, findings.notes)
            findings.rows += rows(size, FORWARD, OWN, calls, timings)
            better = timings[best(timings, (EXACT, NAME))]
            found = certified_velocity(setting.rho, setting.mu)
            name = f"d = {dim}, N = {tokens:,}, H = {heads}, |A|R² = {exponent:g}: {found.method}"
            over[name] = timings[OWN].over(better)
            findings.notes.append(f"{name}, {over[name].median:.2f} × the better ({found.reason}).")
        # The slowest choice is that of the smallest inverse.
        where, _ = least({name: Spread(1 / s.median, 1 / s.high, 1 / s.low) for name, s in over.items()})
        findings.claim(f"method=None over the better of exact and table, most of {len(over)} ({where})", over[where], at_most=1.5)


def _chosen(setting: Setting) -> Competitor:
    rho, mu = setting.rho, setting.mu
    return Competitor(OWN, lambda: jax.block_until_ready(velocity(rho, mu)))


def _exact(setting: Setting) -> Competitor:
    rho, x, w = setting.rho, setting.mu.points[None], setting.mu.weights[None]
    compiled = eqx.filter_jit(dispatch.field)
    return Competitor(EXACT, lambda: jax.block_until_ready(compiled(rho.points, rho.weights, x, w, Exact())))


def _table(setting: Setting) -> list[Competitor]:
    """The table to the first error of `method=None` that it reaches."""
    for rtol in AUTOMATIC_RTOL[64]:
        table = Table(setting, rtol)
        if table.taken:
            return [table.forward()]
    return []
