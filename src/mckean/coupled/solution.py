"""The result of `solve`."""

from typing import Any

import equinox as eqx

from mckean._shapes import Array
from mckean.coupled.stepper import State
from mckean.measures.empirical import Empirical
from mckean.objective.problem import Problem
from mckean.result import Result


class Solution(eqx.Module):
    """The coupled system at the end of training.

    Attributes:
        rho: the trained head measure.  initial: ρ at s = 0.
        times: training times s (S+1,), the start included.
        risk: L(ρ_s) there (S+1,), the data term: with minibatches each entry but the last is the step's own minibatch.
        temperature: β there (S+1,).
        observed: what `observe` gave, stacked, or None.
        problem: the problem with its trained readout.
        state: the whole state, to go on from (`solve(..., state=...)`).
        stats, result: sizes and how the solve ended.
    """

    rho: Empirical
    initial: Empirical
    times: Array
    risk: Array
    temperature: Array
    observed: Any
    problem: Problem
    state: State
    stats: dict[str, Any]
    result: Result = eqx.field(static=True)

    def __repr__(self) -> str:
        s = self.stats
        return "\n".join(
            [
                f"Solution: {s['heads']} heads trained for {s['steps']} steps to s = {float(self.times[-1]):g} by {s['dynamics']}, "
                f"{s['prompts']} prompts of {s['tokens']} tokens, {s['dtype']}",
                f"  risk {float(self.risk[0]):.6g} → {float(self.risk[-1]):.6g}; β = {float(self.temperature[-1]):g}",
                f"  result: {self.result.message}",
                *(f"  outside the theorems' hypotheses: {text}" for text in s["outside"]),
            ]
        )
