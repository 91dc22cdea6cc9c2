"""The tokens' flow: small multiples prompts × depth, with every token's whole path in the last column."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from mckean.report import selection
from mckean.report.arrays import Flow
from mckean.report.palette import CARD, FAINT, MUTED, ORANGE, RAMP_LIGHT
from mckean.report.style import WIDE, few_ticks, figure, styled
from mckean.report.words import exact, listed

TOKENS = 400
Floats = NDArray[np.float64]


@styled
def draw(flow: Flow, rows: Sequence[int], *, classes: list[str] | None = None, columns: int = 5, named: bool = True) -> Figure:
    """Rows are prompts, columns depths; the dots' area is the tokens' weight, their colour the rank of x₁ at t = 0."""
    if flow.points.shape[3] == 1:
        return _draw_line(flow, rows, classes=classes, named=named)
    shown = selection.depths(columns, flow.times.size)
    picture = figure(WIDE, 0.55 + 1.3 * len(rows))
    grid = picture.subplots(len(rows), shown.size + 1, sharex=True, sharey=True, squeeze=False)
    limits = _limits(flow, rows)
    for line, row in enumerate(rows):
        keep = selection.tokens(flow.weights[row], TOKENS)
        paths = flow.points[row][:, keep, :2]
        area = _areas(flow.weights[row, keep])
        colours = _colours(paths[0, :, 0])
        for column, depth in enumerate(shown):
            axes = grid[line, column]
            if line == 0:
                axes.set_title(f"t = {exact(float(flow.times[depth]))}")
            axes.scatter(*paths[depth].T, s=area, c=colours, linewidths=0.3, edgecolors=CARD)
        _paths(grid[line, -1], paths, colours, area)
        if named:
            _name(grid[line, 0], flow, row, classes)
    grid[0, -1].set_title("paths")
    for axes in grid.flat:
        axes.set(xlim=limits[0], ylim=limits[1], aspect="equal")
        few_ticks(axes, 3)
    picture.supxlabel("first coordinate", fontsize=8.5)
    picture.supylabel("second coordinate", fontsize=8.5)
    return picture


def caption(flow: Flow, rows: Sequence[int]) -> str:
    dimension = flow.points.shape[3]
    counts = [int(np.count_nonzero(flow.weights[row] > 0)) for row in rows]
    text = (
        f"Tokens of {len(rows)} of the {flow.points.shape[0]} prompts that the run kept, "
        f"{_range(counts)} tokens each, from depth t = 0 to t = {exact(float(flow.times[-1]))}."
    )
    if dimension == 1:
        text += " Each line is the path of one token."
    else:
        text += (
            f" Coordinates 1 and 2 of {dimension}, one scale for all panels; area is weight; last column: whole "
            "paths, ending in a dot."
        )
    text += " Colour is the rank of the first coordinate at t = 0, so that a token can be followed."
    if max(counts) > TOKENS:
        text += f" At most {TOKENS} tokens of a prompt are drawn."
    wrong = [f"prompt {int(flow.index[row])}" for row in rows if selection.is_wrong(flow, row)]
    if wrong and flow.targets is not None and flow.targets.dtype.kind in "iub":
        text += f" Predicted wrongly: {listed(wrong)}."
    if not np.isfinite(flow.points).all():
        text += " Positions that are not finite numbers are left out."
    return text


def _draw_line(flow: Flow, rows: Sequence[int], *, classes: list[str] | None, named: bool) -> Figure:
    """In one dimension depth itself is the second axis."""
    picture = figure(WIDE, 2.7)
    grid = picture.subplots(1, len(rows), sharex=True, sharey=True, squeeze=False)[0]
    for axes, row in zip(grid, rows, strict=True):
        keep = selection.tokens(flow.weights[row], TOKENS)
        paths = flow.points[row][:, keep, 0]
        colours = _colours(paths[0])
        lines = [np.column_stack([flow.times, paths[:, token]]) for token in range(keep.size)]
        axes.add_collection(LineCollection(lines, colors=colours, linewidths=0.9, alpha=0.75))
        end = np.full(keep.size, flow.times[-1])
        axes.scatter(end, paths[-1], s=_areas(flow.weights[row, keep]), c=colours, linewidths=0.3, edgecolors=CARD)
        axes.autoscale_view()
        if named:
            axes.set_title(selection.label(flow, row, classes).replace(", ", "\n"))
        axes.set_xlabel("depth t")
        few_ticks(axes, 4)
    grid[0].set_ylabel("token x")
    return picture


def _name(axes: Axes, flow: Flow, row: int, classes: list[str] | None) -> None:
    colour = ORANGE if classes is not None and selection.is_wrong(flow, row) else MUTED
    axes.set_ylabel(selection.label(flow, row, classes).replace(", ", "\n"), fontsize=7.5, color=colour)


def _paths(axes: Axes, paths: Floats, colours: list[str], area: Floats) -> None:
    lines = [paths[:, token] for token in range(paths.shape[1])]
    axes.add_collection(LineCollection(lines, colors=FAINT, linewidths=0.6))
    axes.scatter(*paths[-1].T, s=0.4 * area, c=colours, linewidths=0)


def _areas(weights: Floats) -> Floats:
    """Marker areas in pt², in proportion to weight, so that a cloud covers about the same ground for every N."""
    return weights / weights.max() * float(np.clip(1600 / weights.size, 2.0, 40.0))


def _colours(values: Floats) -> list[str]:
    return [RAMP_LIGHT[step] for step in selection.ranks(values, len(RAMP_LIGHT))]


def _limits(flow: Flow, rows: Sequence[int]) -> list[tuple[float, float]]:
    """One range for both axes of all panels, of equal length so that angles are true."""
    live = flow.points[list(rows)][..., :2].swapaxes(1, 2)[flow.weights[list(rows)] > 0].reshape(-1, 2)
    live = live[np.isfinite(live).all(axis=1)]
    if not live.size:
        return [(-1.0, 1.0), (-1.0, 1.0)]
    middle = (live.max(axis=0) + live.min(axis=0)) / 2
    half = 0.55 * max(float(np.ptp(live, axis=0).max()), 1e-9)
    return [(float(centre) - half, float(centre) + half) for centre in middle]


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"
