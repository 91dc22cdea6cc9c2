"""Forward with gradient against forward: the table by its adjoint and by reverse mode, and the exact peers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean.bench import accuracy
from mckean.bench.cases.base import Bench, best, rows, told
from mckean.bench.peers import FORWARD, GRADIENT, entries, names
from mckean.bench.record import Findings, Size
from mckean.bench.sampling import part_of
from mckean.bench.setting import Setting
from mckean.bench.table import BY_AUTODIFF, NAME, Table
from mckean.bench.timing import Competitor, in_turns
from mckean.field import Exact, dispatch
from mckean.field.method import Method


@dataclass(frozen=True)
class Gradient:
    """N tokens of a law in R^d, H heads, |A|R² = `exponent`; tables planned to each of `rtols`, in float64."""

    law: str
    dim: int
    tokens: int
    heads: int
    exponent: float
    rtols: tuple[float, ...]
    pairs: float

    def measure(self, findings: Findings, bench: Bench) -> None:
        """Rows for each tolerance of the plan; the claims are of the first."""
        size = Size(self.law, self.tokens, self.heads, self.dim, self.exponent)
        setting, part = Setting(size, bench.seed), part_of(size, self.pairs)
        for place, rtol in enumerate(self.rtols):
            bench.tell(f"plan to {rtol:g}")
            table = Table(setting, rtol)
            if not table.taken:
                findings.notes.append(f"To {rtol:g} no table was taken; {table.found.reason}.")
                continue
            forward = replace(table.forward(), name=FORWARD)
            exact: list[Competitor] = entries(setting, bench.peers, part, GRADIENT) if place == 0 else []
            both = [table.gradient(), table.gradient_by_autodiff()]
            timings = in_turns([forward, *both, *exact], bench.rule, findings.notes)
            error, note = gradient_error(table), f"plan to {rtol:g}: {table.plan()}"
            found = [
                *(replace(row, method=NAME) for row in rows(size, FORWARD, FORWARD, [forward], timings)),
                *rows(size, GRADIENT, NAME, [*both, *exact], timings),
            ]
            for row in found:
                if row.task == FORWARD:
                    some, right = accuracy.exact_at(setting)
                    row = replace(
                        row, error=accuracy.relative(table.found.velocity[some], right), bound=table.found.bound, note=note
                    )
                elif row.method in (NAME, BY_AUTODIFF):
                    row = replace(row, error=error, note=f"plan to {rtol:g}; the error is of the gradient in the tokens")
                findings.rows.append(row)
            if place == 0:
                faster = best(timings, [one.name for one in both])
                findings.claim(f"forward + gradient over forward ({faster})", timings[faster].over(timings[FORWARD]), at_most=3)
                findings.claim(
                    "best exact over table, with gradient", timings[best(timings, names(bench.peers))].over(timings[faster])
                )
        if not part.whole:
            findings.notes.append(f"Exact sums were timed on {told(part)}.")


def gradient_error(table: Table, queries: int = accuracy.QUERIES) -> float:
    """max_j |∂̂_j − ∂_j| / max_j |∂_j|, where ∂_j is the gradient of Σ_i ⟨g_i, V(x_i)⟩ over sampled queries i in token y_j."""
    setting = table.setting
    some = setting.every(queries)
    q, g = jnp.asarray(setting.tokens[some])[None], jnp.asarray(setting.cotangent[some])

    @eqx.filter_jit
    def of(method: Method, x: jax.Array) -> jax.Array:
        rho, w = setting.rho, setting.mu.weights[None]
        return jax.grad(lambda y: jnp.sum(g * dispatch.field(rho.points, rho.weights, y[None], w, method, q)[0]))(x)

    x = setting.mu.points
    return accuracy.relative(of(table.method, x), of(Exact(tile=accuracy.QUERIES), x))
