"""Risk against training time, with the temperature below it where that was annealed."""

import numpy as np
from matplotlib.figure import Figure

from mckean.report.metrics import Metrics
from mckean.report.palette import BLUE, GREY, ORANGE
from mckean.report.style import HALF, figure, grid, legend, log_scale, spans_decades, styled
from mckean.report.words import exact, integer, number


@styled
def draw(metrics: Metrics) -> Figure:
    annealed = is_annealed(metrics)
    picture = figure(HALF, 3.5 if annealed else 3.2)
    if annealed:
        axes, lower = picture.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    else:
        axes, lower = picture.subplots(), None
    drawn = []
    for name, label, colour, dash in (
        ("risk", "training", BLUE, "-"),
        ("held_out_risk", "held out", ORANGE, (0, (4, 1.5))),
    ):
        s, values = metrics.known(name)
        if values.size:
            axes.plot(s, values, color=colour, linestyle=dash, label=label, marker=_marker(s.size), markersize=3)
            drawn.append(values)
    everything = np.concatenate(drawn) if drawn else np.empty(0)
    if spans_decades(everything):
        log_scale(axes, "y", everything)
    elif everything.size and everything.min() >= 0:
        axes.set_ylim(bottom=0)
    axes.set_ylabel("risk")
    grid(axes)
    legend(axes)
    bottom = axes
    if lower is not None:
        s, values = metrics.known("temperature")
        lower.plot(s, values, color=GREY)
        if spans_decades(values):
            log_scale(lower, "y", values)
        lower.set_ylabel("temperature β")
        grid(lower)
        bottom = lower
    bottom.set_xlabel("training time s")
    return picture


def caption(metrics: Metrics, *, prompts: int | None, held_out: int | None) -> str:
    s, values = metrics.known("risk")
    if not values.size:
        return "No finite value of the risk was recorded."
    change = "fell" if values[-1] < values[0] else "rose" if values[-1] > values[0] else "stayed"
    text = (
        f"The data term of the risk {change} from {number(values[0])} to {number(values[-1])} between s = "
        f"{exact(s[0])} and s = {exact(s[-1])} ({integer(int(metrics['step'][-1]))} training steps, "
        f"{values.size} recorded values"
    )
    text += f", {integer(prompts)} training prompts)." if prompts else ")."
    if metrics.known("held_out_risk")[1].size:
        text += f" Dashed: {integer(held_out)} held-out prompts." if held_out else " Dashed: held-out prompts."
    if is_annealed(metrics):
        text += " Below: the temperature β, which was lowered along the way."
    return text


def is_annealed(metrics: Metrics) -> bool:
    values = metrics.known("temperature")[1]
    return bool(values.size > 1 and np.ptp(values) > 1e-9 * np.max(np.abs(values)))


def _marker(count: int) -> str | None:
    return "o" if count <= 12 else None
