"""The training loop on the host: chunks of compiled steps, and between them metrics, checkpoints and stops."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from mckean.errors import NumericalFailure
from mckean.runs.configuration.config import Config
from mckean.runs.execution.chunks import Interval, Pace, due, next_boundary
from mckean.runs.execution.contracts import Assembly, Report, Tools
from mckean.runs.execution.journal import Journal
from mckean.runs.execution.progress import Reading
from mckean.runs.execution.stopping import StopRequest
from mckean.runs.store import metrics
from mckean.runs.store.checkpoint import Checkpoint
from mckean.runs.store.checkpoint import save as save_checkpoint
from mckean.runs.store.leaves import first_non_finite, to_leaves

NONFINITE = "nonfinite"
"""The result code of a run that left the finite numbers."""


class LeftFinite(NumericalFailure):
    """A number that is not finite, and its place: training step, training time, quantity."""

    def __init__(self, message: str, where: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.where = dict(where)


@dataclass
class Clock:
    """Seconds and steps of each chunk; the first one holds the compiling."""

    chunks: list[tuple[int, float]] = field(default_factory=list)

    def add(self, n: int, seconds: float) -> None:
        self.chunks.append((n, seconds))

    @property
    def step_s(self) -> float | None:
        """The usual time of a step; None before a chunk without compiling has been seen."""
        later = [seconds / n for n, seconds in self.chunks[1:]]
        return median(later) if later else None

    @property
    def compile_s(self) -> float:
        """What the first chunk took beyond its steps; all of it where no later chunk tells the difference."""
        if not self.chunks:
            return 0.0
        n, seconds = self.chunks[0]
        return max(0.0, seconds - n * (self.step_s or 0.0))

    @property
    def total_s(self) -> float:
        return math.fsum(seconds for _, seconds in self.chunks)


@dataclass(frozen=True)
class Job:
    """All that the loop works with."""

    config: Config
    config_hash: str
    assembly: Assembly
    tools: Tools
    report: Report | None
    journal: Journal
    stop: StopRequest
    clock: Clock
    pending: tuple[float, ...] = ()
    """The risks of steps that are done but not yet in a line of the metrics."""


def first_evaluation(job: Job, state: Any) -> None:
    """The line of training step 0, and a checkpoint from which even the first chunk can be done again."""
    evaluation = evaluate(job, state, step=0, s=0.0)
    risk = evaluation.get("risk")
    if risk is not None:
        record = metrics.line(
            step=0,
            s=0.0,
            risk=risk,
            temperature=job.config.training.temperature,
            evaluation=evaluation,
            rate=0.0,
            wall_s=job.journal.wall_s,
        )
        metrics.append(job.journal.folder.metrics, record)
    checkpoint(job, state, 0)


def train(job: Job, state: Any) -> Any:
    """Advance the state to the last training step.

    Raises Stopped after a checkpoint where a stop was asked for, LeftFinite where the risk or the state is
    no longer finite, with the last good state in a checkpoint.
    """
    output, total = job.config.output, job.config.training.steps
    periods = (output.log_every, output.checkpoint_every, output.evaluate_every)
    step, accuracy = int(state.step), None
    saved = boundary = step
    stepper, base = job.assembly.stepper, state
    pace, interval = Pace(), Interval(list(job.pending))

    def show() -> None:
        step_s = job.clock.step_s
        left = None if step_s is None else step_s * (total - step)
        job.journal.show(Reading(step, total, float(state.time), interval.risk, accuracy, left, step_s))

    while step < total:
        if step == boundary:
            boundary = next_boundary(step, total, periods)
            # What depends on where the heads are, a table say, is planned at boundaries only.
            stepper, base = job.assembly.stepper.settled(state), state
        if job.stop.requested:
            _save_stopped(job, state, base, interval, saved)
            job.stop.check()
        n = pace.steps(boundary - step)
        started = time.monotonic()
        state, records = stepper.advance(state, n)
        risk = np.asarray(records["risk"], dtype=np.float64).tolist()
        seconds = time.monotonic() - started
        step += len(risk)
        if len(risk) < n:
            checkpoint(job, state, step)
            raise _left_finite(job, state, step)
        job.clock.add(n, seconds)
        pace.add(n, seconds)
        interval.add(risk, seconds)
        if step < boundary:
            show()
            continue
        s, evaluation = float(state.time), None
        if due(step, total, output.evaluate_every):
            try:
                evaluation = evaluate(job, state, step=step, s=s)
            except LeftFinite:
                checkpoint(job, state, step)
                raise
            accuracy = evaluation.get("test_accuracy")
            if accuracy is None:
                accuracy = evaluation.get("train_accuracy")
        record = metrics.line(
            step=step,
            s=s,
            risk=interval.risk,
            temperature=float(records["temperature"][-1]),
            evaluation=evaluation,
            rate=interval.rate,
            wall_s=job.journal.wall_s,
        )
        metrics.append(job.journal.folder.metrics, record)
        if due(step, total, output.checkpoint_every):
            checkpoint(job, state, step)
            saved = step
        show()
        interval = Interval()
    return state


def _save_stopped(job: Job, state: Any, base: Any, interval: Interval, saved: int) -> None:
    """Keep the state of a stop; where numbers depend on the boundary that a chunk began from, the state of that boundary."""
    if interval.risks and not job.assembly.stepper.cut_free(state):
        state, interval = base, Interval()
    step = int(state.step)
    if step != saved:
        checkpoint(job, state, step, tuple(interval.risks))


def checkpoint(job: Job, state: Any, step: int, pending: tuple[float, ...] = ()) -> None:
    save_checkpoint(job.journal.folder.checkpoints, Checkpoint(step, job.config_hash, to_leaves(state), pending))


def evaluate(job: Job, state: Any, *, step: int, s: float) -> Mapping[str, float | None]:
    """The evaluation on all prompts; raises LeftFinite where one of its numbers is not finite."""
    evaluation = job.tools.evaluate(job.assembly, state)
    for name, value in evaluation.items():
        if value is not None and not math.isfinite(value):
            raise LeftFinite(
                f"Every evaluated number must be finite; {name} is {value} at training step {step} (s = {s:g}): {_advice(step)}.",
                {"training_step": step, "s": s, "quantity": name},
            )
    return evaluation


def _advice(step: int) -> str:
    if step == 0:
        return "scale the data's numbers to the order of 1, lower model.horizon, or raise model.steps"
    return "lower training.step_size, or raise model.steps"


def _left_finite(job: Job, state: Any, step: int) -> LeftFinite:
    """Look at the step that could not be done: which number leaves the finite ones, and what to change."""
    s = float(state.time)
    attempted, risk = job.tools.attempt(job.assembly.stepper, state)
    place = first_non_finite(attempted)
    if not math.isfinite(risk):
        quantity = "risk"
        what = f"the risk is {risk} though the heads are finite: the tokens left the finite numbers on their way, or did not reach the end"
        fix = "lower training.step_size, or raise model.steps"
    else:
        quantity = f"state{place}"
        what = f"the step makes {quantity} infinite or undefined"
        fix = "lower training.step_size"
    return LeftFinite(
        f"Risk and heads must stay finite; at training step {step} (s = {s:g}) {what}. To go further, {fix}.",
        {"training_step": step, "s": s, "quantity": quantity},
    )
