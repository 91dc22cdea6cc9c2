"""The run beside its baselines: held-out error with 95 % Wilson intervals, or held-out risk without classes."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mckean.report.intervals import wilson
from mckean.report.palette import BLUE, FAINT, INK
from mckean.report.schema import Summary
from mckean.report.style import WIDE, figure, grid, styled
from mckean.report.words import integer, number, percent, plain


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    interval: tuple[float, float] | None
    text: str
    own: bool


def bars(summary: Summary) -> list[Bar]:
    """The run first, then each baseline for which the same figure is known; empty if there is nothing to compare."""
    held_out = summary.problem.held_out
    own = summary.accuracy.test if summary.accuracy else None
    entries = [("this run", own, summary.risk.held_out, True)]
    entries += [(base.label, base.test_accuracy, base.held_out_risk, False) for base in summary.baselines]
    if own is not None:
        shares = [(label, share, mine) for label, share, _, mine in entries if share is not None]
        found = [_error_bar(label, share, held_out, mine) for label, share, mine in shares]
    else:
        risks = [(label, risk, mine) for label, _, risk, mine in entries if risk is not None]
        found = [Bar(label, risk, None, number(risk), mine) for label, risk, mine in risks]
    return found if len(found) > 1 and found[0].own else []


def _error_bar(label: str, share: float, held_out: int | None, own: bool) -> Bar:
    if not held_out:
        return Bar(label, 1 - share, None, percent(1 - share), own)
    low, high = wilson(1 - share, held_out)
    return Bar(label, 1 - share, (low, high), f"{percent(1 - share)}  ({100 * low:.1f} to {100 * high:.1f} %)", own)


@styled
def draw(entries: list[Bar]) -> Figure:
    picture = figure(WIDE, 0.75 + 0.42 * len(entries))
    axes = picture.subplots()
    reach = max(entry.interval[1] if entry.interval else entry.value for entry in entries)
    for place, entry in enumerate(entries):
        axes.barh(place, entry.value, height=0.62, color=BLUE if entry.own else FAINT)
        end = entry.value
        if entry.interval is not None:
            low, high = entry.interval
            axes.errorbar(
                entry.value, place, xerr=[[entry.value - low], [high - entry.value]],
                color=INK, elinewidth=1.1, capsize=2.5,
            )  # fmt: skip
            end = high
        axes.annotate(entry.text, (end, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(entries)), [plain(entry.label, 48) for entry in entries])
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.spines["left"].set_visible(False)
    axes.set(xlim=(0, 1.32 * max(reach, 1e-12)), ylim=(len(entries) - 0.5, -0.5))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    if entries[0].interval is not None:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
        axes.set_xlabel("held-out error")
    else:
        axes.set_xlabel("held-out risk")
    grid(axes, "x")
    return picture


def caption(entries: list[Bar], held_out: int | None) -> str:
    best = entries[int(np.argmin([entry.value for entry in entries]))]
    size = f" on {integer(held_out)} held-out prompts" if held_out else ""
    if entries[0].interval is not None:
        text = f"Share of wrong predictions{size}, with 95 % Wilson intervals; shorter is better."
    else:
        text = f"Risk{size}; shorter is better. The run records no spread of it, so there is no interval."
    return f"{text} Lowest: {best.label}."
