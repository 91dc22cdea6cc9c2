"""Histograms of each parameter's norm over the heads, before and after training."""

import math

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from mckean.report.arrays import Heads
from mckean.report.palette import BLUE, GREY
from mckean.report.style import HALF, figure, styled
from mckean.report.words import number

Floats = NDArray[np.float64]
GROUPS = 9


@styled
def draw(heads: Heads) -> Figure:
    names = list(heads.after)[:GROUPS]
    columns = min(2 if len(names) <= 6 else 3, len(names))
    rows = math.ceil(len(names) / columns)
    picture = figure(HALF, max(3.9, 1.25 * rows) if rows > 1 else 2.4)
    grid = picture.subplots(rows, columns, squeeze=False)
    for place, name in enumerate(names):
        axes = grid.flat[place]
        before, after = (norms(leaves[name], heads.layered) for leaves in (heads.before, heads.after))
        both = np.concatenate([before, after])
        edges = np.histogram_bin_edges(both[np.isfinite(both)], bins=int(np.clip(math.sqrt(after.size), 8, 24)))
        for values, weights, filled in (
            (after, heads.weights_after, True),
            (before, heads.weights_before, False),
        ):
            mass = np.resize(weights.ravel(), values.size)
            height, _ = np.histogram(values, edges, weights=mass / mass.sum())
            if filled:
                axes.stairs(height, edges, color=BLUE, fill=True, alpha=0.55, label="after")
            else:
                axes.stairs(height, edges, color=GREY, linewidth=1.3, label="before")
        axes.set_title(short(name))
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlim(left=min(0.0, float(edges[0])))
    for axes in list(grid.flat)[len(names) :]:
        axes.set_axis_off()
    handles, labels = grid.flat[0].get_legend_handles_labels()
    picture.legend(handles[::-1], labels[::-1], loc="outside upper left", ncols=2)
    picture.supxlabel("Frobenius norm of one head's parameter", fontsize=8.5, color=GREY)
    return picture


def caption(heads: Heads) -> str:
    """How far each group of parameters has moved, in its root mean square norm over the heads."""
    changes = []
    for name in list(heads.after)[:GROUPS]:
        first, last = (float(np.sqrt(np.mean(norms(leaves[name], heads.layered) ** 2))) for leaves in (heads.before, heads.after))
        changes.append(f"{short(name)} {number(first, 2)} → {number(last, 2)}")
    text = f"Share of head mass over the norm of each parameter; root mean squares: {', '.join(changes)}."
    left = len(heads.after) - GROUPS
    return f"{text} {left} more parameters are not drawn." if left > 0 else text


def norms(leaf: Floats, layered: bool) -> Floats:
    """The Frobenius norm of each head's part, (H,) or (layers × H,)."""
    rows = int(np.prod(leaf.shape[: 2 if layered else 1]))
    return np.linalg.norm(leaf.reshape(rows, -1), axis=1)


def short(name: str) -> str:
    """A parameter's name without the wrappers around it: attention.query, or query."""
    return ".".join(name.split(".")[-2:])
