"""The first lines of a report: what came out, how sure it is, and whether it may be trusted."""

from dataclasses import dataclass
from typing import Literal

from mckean.report.folder import Record
from mckean.report.intervals import wilson
from mckean.report.schema import Paired, Summary
from mckean.report.words import duration, exact, integer, listed, number, percent, points, probability

Tone = Literal["good", "bad", "open"]


@dataclass(frozen=True)
class Verdict:
    tone: Tone
    word: str
    sentence: str


@dataclass(frozen=True)
class Tile:
    label: str
    value: str
    note: str


def verdict(record: Record) -> Verdict:
    """Trusted, UNTRUSTED, or not finished; a finished run is trusted only if its computation succeeded too."""
    manifest, summary = record.manifest, record.summary
    if manifest.status == "failed":
        reason = manifest.result.message if manifest.result else "No reason was recorded."
        return Verdict("bad", "failed", f"The run failed{_where(record)}. {reason}".strip())
    if summary is None:
        done = f" after {integer(int(record.metrics['step'][-1]))} training steps" if len(record.metrics) else ""
        if manifest.status == "running":
            return Verdict("open", "running", f"The run had not ended{done} when this page was made; no result yet.")
        reason = manifest.result.message if manifest.result else f"The run was stopped{done}."
        return Verdict("open", manifest.status, f"{reason} It has no result yet.")
    failing = list(dict.fromkeys(check.name for check in summary.checks if check.verdict == "fails"))
    if summary.trust == "UNTRUSTED" or failing:
        cause = f"the self-check {listed(failing)} fails" if len(failing) == 1 else f"the self-checks {listed(failing)} fail"
        cause = cause if failing else summary.result.message or f"the result is {summary.result.code}"
        return Verdict("bad", "UNTRUSTED", f"Do not use these numbers: {cause}.".replace("..", "."))
    held = f"All {len(summary.checks)} self-checks hold." if summary.checks else "No self-check was recorded."
    state = "" if manifest.status == "done" else f" The folder still says “{manifest.status}”."
    return Verdict("good", "trusted", f"{summary.result.message or held}{state}")


def tiles(record: Record) -> list[Tile]:
    """The headline numbers."""
    summary, metrics = record.summary, record.metrics
    found: list[Tile] = []
    if summary is None:
        last = metrics.last("risk")
        if last is not None:
            found.append(Tile("risk, last recorded", number(last), f"at s = {exact(metrics.last('s'))}"))
        if metrics.last("test_accuracy") is not None:
            found.append(Tile("held-out accuracy, last recorded", percent(metrics.last("test_accuracy")), ""))
        found.append(Tile("time spent", duration(record.manifest.wall_s or metrics.last("wall_s")), ""))
        return found
    if summary.accuracy is not None and summary.accuracy.test is not None:
        found.append(_accuracy(summary, summary.accuracy.test))
    risk = summary.risk
    start = f"{number(risk.initial)} before training" if risk.initial is not None else ""
    found.append(Tile("risk, training prompts", number(risk.final), start))
    if risk.held_out is not None:
        size = f"{integer(summary.problem.held_out)} prompts" if summary.problem.held_out else ""
        found.append(Tile("risk, held out", number(risk.held_out), size))
    holds = sum(check.verdict == "holds" for check in summary.checks)
    if summary.checks:
        found.append(Tile("self-checks that hold", f"{holds} of {len(summary.checks)}", ""))
    total = summary.timing.total_s if summary.timing.total_s is not None else record.manifest.wall_s
    parts = f"{duration(summary.timing.train_s)} of it training" if summary.timing.train_s is not None else ""
    found.append(Tile("time", duration(total), parts))
    return found


def _accuracy(summary: Summary, share: float) -> Tile:
    size = summary.problem.held_out
    if not size:
        return Tile("held-out accuracy", percent(share), "")
    low, high = wilson(share, size)
    note = f"95 % interval {100 * low:.1f} to {100 * high:.1f} %, {integer(round(share * size))} of {integer(size)}"
    return Tile("held-out accuracy", percent(share), note)


def comparisons(summary: Summary) -> list[str]:
    """A sentence for each paired test, and one for each baseline that failed."""
    failed = [
        f"There is no comparison with {base.label}, which failed: {base.failed}" for base in summary.baselines if base.failed
    ]
    return [comparison(paired, summary) for paired in summary.paired] + failed


def comparison(paired: Paired, summary: Summary) -> str:
    """The paired test in a sentence, with what may be concluded from it."""
    label = next((base.label for base in summary.baselines if base.name == paired.against), paired.against)
    low, high = paired.interval
    counts = f"{integer(paired.better)} {_times(paired.better)}"
    against = f"{integer(paired.worse)} {_times(paired.worse)}"
    if summary.accuracy is None:
        found = (
            f"the loss of this run is the lower one {counts}, and the higher one {against}. It is lower by {number(paired.difference)} "
            f"in the mean (95 % interval {number(low)} to {number(high)}"
        )
    else:
        found = (
            f"this run is right where the other is wrong {counts}, and wrong where the other is right {against}. The difference in "
            f"accuracy is {points(paired.difference)} points (95 % interval {points(low)} to {points(high)}"
        )
    text = f"Against {label}, prompt by prompt on the held-out set: {found}; {paired.test}, {probability(paired.p_value)}): "
    # Both the test and the interval must agree before a difference is claimed.
    if paired.p_value < 0.05 and low > 0:
        return text + "this run is better."
    if paired.p_value < 0.05 and high < 0:
        return text + "this run is worse."
    return text + "no difference is shown at this sample size."


def _times(count: int) -> str:
    return "time" if count == 1 else "times"


def _where(record: Record) -> str:
    place = record.manifest.result.where if record.manifest.result else None
    return f" at {', '.join(f'{key} = {value}' for key, value in place.items())}" if place else ""
