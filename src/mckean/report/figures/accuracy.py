"""Accuracy against training time, with the baselines as horizontal lines."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from mckean.report.intervals import wilson
from mckean.report.metrics import Metrics
from mckean.report.palette import BLUE, GREY, ORANGE
from mckean.report.schema import Baseline
from mckean.report.style import HALF, figure, grid, legend, styled
from mckean.report.words import integer, percent, plain


@styled
def draw(metrics: Metrics, baselines: Sequence[Baseline], held_out: int | None) -> Figure:
    picture = figure(HALF, 3.2)
    axes = picture.subplots()
    s, values = metrics.known("train_accuracy")
    if values.size:
        axes.plot(s, values, color=BLUE, label="training")
    s, values = metrics.known("test_accuracy")
    if values.size:
        if held_out:
            low, high = np.array([wilson(float(value), held_out) for value in values]).T
            axes.fill_between(s, low, high, color=ORANGE, alpha=0.16, linewidth=0)
        axes.plot(s, values, color=ORANGE, linestyle=(0, (4, 1.5)), label="held out")
    known = [(base, base.test_accuracy) for base in baselines if base.test_accuracy is not None]
    for place, (base, share) in enumerate(known):
        dash = ((0, (1, 1.6)), (0, (6, 1.5, 1, 1.5)), (0, (6, 2)))[place % 3]
        axes.axhline(share, color=GREY, linewidth=1.2, linestyle=dash, label=plain(base.name))
    axes.set(xlabel="training time s", ylabel="accuracy")
    axes.set_ylim(top=min(1.02, axes.get_ylim()[1] + 0.01))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value, 0)))
    grid(axes)
    legend(axes, 2)
    return picture


def caption(metrics: Metrics, baselines: Sequence[Baseline], held_out: int | None) -> str:
    last = metrics.last("test_accuracy")
    text = "The share of prompts predicted rightly during training."
    if last is not None:
        text += f" The last held-out value is {percent(last)}"
        text += f" of {integer(held_out)} prompts; the band is its 95 % Wilson interval, point by point." if held_out else "."
    if any(base.test_accuracy is not None for base in baselines):
        text += " Horizontal lines: the baselines' held-out accuracy at the end of their training."
    return text
