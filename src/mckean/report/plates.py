"""The figures that a run calls for, each with its name, caption and the section that it stands in."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from mckean.report import selection
from mckean.report.figures import (
    accuracy,
    baselines,
    confusion,
    costate,
    flow,
    heads_cloud,
    heads_norms,
    risk,
)
from mckean.report.folder import Record

PROMPTS = 4


@dataclass(frozen=True)
class Plate:
    name: str
    section: str
    title: str
    figure: Figure
    caption: str


def plates(record: Record) -> list[Plate]:
    """Every figure that the run's files allow, in the order of the page."""
    return [*_history(record), *_comparison(record), *_flow(record), *_costate(record), *_heads(record)]


def _history(record: Record) -> list[Plate]:
    metrics = record.metrics
    sizes = record.summary.problem if record.summary else None
    held_out = sizes.held_out if sizes else None
    found: list[Plate] = []
    if metrics.known("risk")[1].size:
        caption = risk.caption(metrics, prompts=sizes.prompts if sizes else None, held_out=held_out)
        found.append(Plate("risk", "training", "Risk", risk.draw(metrics), caption))
    if metrics.known("test_accuracy")[1].size or metrics.known("train_accuracy")[1].size:
        compared = record.summary.baselines if record.summary else []
        picture = accuracy.draw(metrics, compared, held_out)
        found.append(Plate("accuracy", "training", "Accuracy", picture, accuracy.caption(metrics, compared, held_out)))
    return found


def _comparison(record: Record) -> list[Plate]:
    summary = record.summary
    if summary is None:
        return []
    found: list[Plate] = []
    bars = baselines.bars(summary)
    if bars:
        text = baselines.caption(bars, summary.problem.held_out)
        found.append(Plate("baselines", "baselines", "This run and its baselines", baselines.draw(bars), text))
    classes = summary.problem.classes
    if classes and summary.confusion is not None:
        matrix = np.asarray(summary.confusion, dtype=np.int64)
        if matrix.shape == (len(classes), len(classes)):
            picture = confusion.draw(matrix, classes)
            text = confusion.caption(matrix, classes)
            found.append(Plate("confusion", "baselines", "Which classes are confused", picture, text))
    return found


def shown_prompts(record: Record) -> list[int]:
    """The prompts of the flow pictures: rows of `record.flow` that hold at least one token."""
    if record.flow is None:
        return []
    classes = record.summary is not None and record.summary.problem.classes is not None
    rows = selection.prompts(record.flow, PROMPTS, classes=classes)
    return [row for row in rows if (record.flow.weights[row] > 0).any()]


def _flow(record: Record) -> list[Plate]:
    rows = shown_prompts(record)
    if record.flow is None or not rows:
        return []
    classes = record.summary.problem.classes if record.summary else None
    picture = flow.draw(record.flow, rows, classes=classes)
    return [Plate("flow", "tokens", "Tokens moving through depth", picture, flow.caption(record.flow, rows))]


def _costate(record: Record) -> list[Plate]:
    if record.costate is None:
        return []
    title = "The costate and the tokens' spread"
    return [Plate("costate", "costate", title, costate.draw(record.costate), costate.caption(record.costate))]


def _heads(record: Record) -> list[Plate]:
    if record.heads is None:
        return []
    found = heads_cloud.plane(record.heads)
    cloud, norms = heads_cloud.draw(record.heads, found), heads_norms.draw(record.heads)
    return [
        Plate("heads", "heads", "The head measure", cloud, heads_cloud.caption(record.heads, found)),
        Plate("norms", "heads", "Norms of the parameters", norms, heads_norms.caption(record.heads)),
    ]
