"""How a flow ended, and whether its cloud still stands for a density: what is looked at on the host, after the flow."""

from typing import Any

import equinox as eqx
import numpy as np

from mckean._shapes import Array
from mckean.field.choice import Choice
from mckean.field.concentration import effective_sample_size
from mckean.field.sharding import Sharded, looked_at
from mckean.field.tabulated.guarded import Note
from mckean.measures.empirical import Empirical
from mckean.result import Result
from mckean.tokens.grid import Grid, at_layer
from mckean.tokens.schemes import Scheme

TRACED = Result("traced", {}, "Look at whether `.final` is finite, or call mk.transport outside.")


def verdict(first_bad: int, grid: Grid, scheme: Scheme) -> Result:
    """The result of a flow whose first bad depth step is `first_bad` (past the last where there is none)."""
    if first_bad <= grid.steps:
        return Result(
            "nonfinite_tokens",
            {"t": float(grid.times[first_bad]), "depth step": first_bad},
            "Shorten `horizon`, bound the heads (mk.Bounded), or raise `steps` if the scheme rather than the flow is unstable.",
        )
    if scheme.adaptive and bool(grid.overrun):
        return Result(
            "depth_step_limit",
            {"t": float(grid.times[-1]), "depth step": grid.steps},
            "Raise `steps` or loosen `rtol`; a flow that blows up needs ever smaller steps.",
        )
    return Result()


def concentration(
    rho: Empirical, grid: Grid, x0: Array, x: Array, w: Array, result: Result
) -> tuple[dict[str, float] | None, tuple[str, ...]]:
    """The effective sample size of the attention at both ends of the flow, and the warning that it asks for."""
    ends = [(x0, 0)] + ([(x, grid.steps - 1)] if result.ok else [])
    measured = []
    for points, index in ends:
        here = at_layer(rho, int(grid.layer[index]))
        ess = _ess(here.points, points, w)
        if ess is None:
            return None, ()
        measured.append(looked_at(ess))
    values = np.concatenate([m[np.isfinite(m)] for m in measured])
    uniform = float(np.min(1 / np.sum(looked_at(w) ** 2, axis=-1)))
    last = measured[-1][np.isfinite(measured[-1])]
    if not len(last) or not len(values):
        return None, ()  # no sampled query has both weight and a finite attention
    ess = {"median": float(np.median(last)), "least": float(values.min()), "uniform": uniform}
    # 100 atoms average with an error of a tenth of their spread; few atoms that share the mass evenly are no concern.
    limit = min(100.0, uniform / 2)
    if ess["median"] >= limit:
        return ess, ()
    return ess, (
        f"At t = {float(grid.times[-1]) if result.ok else 0.0:g} the attention averages over {ess['median']:.3g} atoms (median effective "
        f"sample size; uniform attention has {uniform:.3g}): the cloud no longer stands for a density. Take more tokens, or smaller |A| or T.",
    )


def account(choice: Choice, notes: Note) -> dict[str, Any]:
    """How the field was evaluated along a flow: the method, why, evaluations by the table and all, and the largest relative bound."""
    where = {"devices": choice.method.shape} if isinstance(choice.method, Sharded) else {}
    if choice.plan is None:
        return {"method": type(choice.method.core).__name__, "reason": choice.reason, **where}
    used = looked_at(notes.tabulated)
    bound, rtol = float(np.max(looked_at(notes.bound))), choice.rtol
    told = {
        "method": "Tabulated",
        "reason": choice.reason,
        "rtol": rtol,
        "bound": bound,
        "tabulated": int(used.sum()),
        "evaluations": int(used.size),
        **where,
    }
    if not used.all():
        told["note"] = "tokens outgrew the table's plan; there the exact sum was taken"
    elif bound > rtol:
        told["note"] = (
            "heads cancel along the flow, so that the bound relative to max|V| is above rtol; the accuracy is better than the bound"
        )
    return told


@eqx.filter_jit
def _ess(heads, points, w):
    return effective_sample_size(heads, points, w)
