"""What `mckean bench` measured: time against N, time against H, and error beside its bound."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from mckean.report.palette import BLUE, GREEN, GREY, ORANGE
from mckean.report.style import WIDE, figure, grid, legend, log_scale, styled
from mckean.report.words import integer

COLOURS = {"table": BLUE, "tiles": ORANGE}
OTHERS = (GREEN, GREY)
LARGEST_LABELS = 14

Row = Mapping[str, Any]


def drawable(record: Mapping[str, Any]) -> bool:
    """Whether there is anything for one of the three panels."""
    return bool(_rows(record, "scaling") or _rows(record, "many-heads") or _certified(record))


@styled
def draw(record: Mapping[str, Any]) -> Figure:
    """Three panels from the record of bench.json; seconds and relative errors, all axes logarithmic."""
    picture = figure(WIDE, 3.0)
    against_n, against_h, errors = picture.subplots(1, 3)
    _times(against_n, _rows(record, "scaling"), "tokens", "tokens N")
    _times(against_h, _rows(record, "many-heads"), "heads", "heads H")
    against_n.set_ylabel("seconds")
    _errors(errors, _certified(record))
    return picture


def _rows(record: Mapping[str, Any], case: str) -> list[Row]:
    found = [row for one in record["cases"] if one["name"] == case for row in one["rows"]]
    return [row for row in found if row["task"] == "forward"]


def _certified(record: Mapping[str, Any]) -> list[tuple[str, Row]]:
    """Rows of tables, whose error and bound are both known."""
    found = [(one["name"], row) for one in record["cases"] for row in one["rows"]]
    return [(name, row) for name, row in found if row["method"] == "table" and row["error"] and row["bound"]]


def _times(axes: Axes, rows: list[Row], along: str, label: str) -> None:
    if not rows:
        axes.text(0.5, 0.5, "not measured", ha="center", va="center", transform=axes.transAxes, color=GREY)
        axes.set_axis_off()
        return
    methods = list(dict.fromkeys(row["method"] for row in rows))
    spare = iter(OTHERS * len(methods))
    for method in methods:
        mine = sorted((row for row in rows if row["method"] == method), key=lambda row: row["size"][along])
        x = [row["size"][along] for row in mine]
        middle, low, high = ([row["seconds"][key] for row in mine] for key in ("median", "low", "high"))
        colour = COLOURS[method] if method in COLOURS else next(spare)
        scaled = any(row["part"] and row["part"]["factor"] > 1 for row in mine)
        axes.plot(x, middle, color=colour, marker="o", markersize=3, label=f"{method} (from a part)" if scaled else method)
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    log_scale(axes, "x", [row["size"][along] for row in rows])
    axes.xaxis.set_major_locator(LogLocator(numticks=5))  # three panels side by side: no room for ticks at 2 and 5
    log_scale(axes, "y", [row["seconds"][key] for row in rows for key in ("low", "high")])
    axes.set_xlabel(label)
    grid(axes)
    legend(axes, columns=1)


def _errors(axes: Axes, rows: list[tuple[str, Row]]) -> None:
    if not rows:
        axes.set_axis_off()
        return
    places = range(len(rows))
    for place, (_, row) in zip(places, rows, strict=True):
        axes.plot([row["error"], row["bound"]], [place, place], color=GREY, linewidth=0.7)
    axes.plot([row["error"] for _, row in rows], places, "o", color=BLUE, markersize=3, label="error")
    axes.plot([row["bound"] for _, row in rows], places, "|", color=ORANGE, markersize=6, markeredgewidth=1.6, label="bound")
    log_scale(axes, "x", [row[key] for _, row in rows for key in ("error", "bound")])
    axes.set_yticks(list(places), [_named(name, row) for name, row in rows], fontsize=6 if len(rows) > LARGEST_LABELS else 7)
    axes.invert_yaxis()
    axes.set_xlabel("relative to max|V|")
    grid(axes, "x")
    legend(axes)


def _named(case: str, row: Row) -> str:
    size = row["size"]
    what = {"scaling": f"N = {integer(size['tokens'])}", "many-heads": f"H = {integer(size['heads'])}"}.get(case, size["law"])
    return f"{case} {what}"
