"""One training step of the coupled system, in a process of its own so that its peak memory can be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from typing import Any

from mckean.bench.cases.base import Bench
from mckean.bench.record import Findings, Part, Row, Size, Spread, Timing

TASK = "training step"


@dataclass(frozen=True)
class Step:
    """One prompt of N tokens in R², H heads, L Euler steps in depth; `rtol` of the table, None for the exact sum."""

    tokens: int
    heads: int
    depth: int
    exponent: float
    rtol: float | None
    rounds: int = 5
    seed: int = 0


@dataclass(frozen=True)
class Training:
    """A step of the stated size by the table, and a small one by the exact sum, whose time grows like N²·H·L.

    Memory is the peak of the whole process (bytes in the record, GiB in the claim): Python, JAX and the compiler included.
    """

    step: Step
    small: Step

    def measure(self, findings: Findings, bench: Bench) -> None:
        """Claims: peak memory, seconds, and the exact sum's seconds over them."""
        bench.tell("a step by the table")
        given = {"rounds": bench.rule.rounds, "seed": bench.seed}
        step, small = replace(self.step, **given), replace(self.small, **given)
        mine = alone(step)
        timing = Timing(tuple(mine["samples"]), mine["first"])
        findings.rows.append(
            Row(_size(step), TASK, mine["method"], timing, note=f"L = {step.depth}, peak memory {mine['peak'] / 2**30:.2f} GiB")
        )
        findings.notes.append(
            f"Peak memory of the process: {mine['peak'] / 2**20:,.0f} MiB, of which {mine['before'] / 2**20:,.0f} MiB before the first step."
        )
        findings.claim("peak memory", Spread(*[mine["peak"] / 2**30] * 3), at_most=2, unit="GiB")
        findings.claim("a training step", timing.spread, unit="s")
        bench.tell("a small step by the exact sum")
        theirs = alone(small)
        factor = (step.tokens / small.tokens) ** 2 * step.heads / small.heads * step.depth / small.depth
        exact = Timing(tuple(factor * value for value in theirs["samples"]), theirs["first"])
        # Each in its own process, one after the other: there are no rounds to pair.
        ratio = Spread(
            exact.spread.median / timing.spread.median,
            exact.spread.low / timing.spread.high,
            exact.spread.high / timing.spread.low,
        )
        findings.rows.append(
            Row(
                _size(step),
                TASK,
                "tiles",
                exact,
                Part(small.tokens, small.heads, factor),
                ratio=ratio,
                note=f"L = {step.depth}",
            )
        )
        findings.notes.append(
            f"The exact step was timed at N = {small.tokens:,}, H = {small.heads}, L = {small.depth} and multiplied by {factor:,.0f}, "
            "its law being N²·H·L."
        )
        findings.claim("exact step over table", ratio, at_least=100)


def alone(step: Step) -> dict[str, Any]:
    """`mckean.bench.one_step` in a new process: samples and first call in seconds, memory in bytes."""
    done = subprocess.run(
        [sys.executable, "-m", "mckean.bench.one_step", json.dumps(asdict(step))],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    if done.returncode:
        last = next(iter(reversed(done.stderr.strip().splitlines())), f"exit code {done.returncode}")
        raise RuntimeError(f"the process of a training step ended early: {last}")
    return json.loads(done.stdout.splitlines()[-1])


def _size(step: Step) -> Size:
    return Size("ball", step.tokens, step.heads, 2, step.exponent)
