"""The confusion matrix of the held-out prompts: target by row, prediction by column."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from mckean.report.palette import BLUE, CARD, INK, ORANGE, RULE
from mckean.report.style import figure, styled
from mckean.report.words import integer, percent, plain


@styled
def draw(matrix: NDArray[np.int64], classes: list[str]) -> Figure:
    """Opacity is the share of the row; right predictions blue, wrong ones orange."""
    count = len(matrix)
    side = float(np.clip(1.2 + 0.36 * count, 2.8, 8.0))
    picture = figure(side, side)
    axes = picture.subplots()
    totals = np.maximum(matrix.sum(axis=1), 1)
    for row, column in np.argwhere(matrix > 0):
        share = matrix[row, column] / totals[row]
        right = row == column
        # Few errors would vanish beside the diagonal: a tenth of the row is already the full colour.
        alpha = 0.15 + 0.75 * share if right else 0.22 + 0.68 * min(1.0, 10 * share)
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=BLUE if right else ORANGE, alpha=alpha, linewidth=0))
        if count <= 20:
            axes.text(
                column, row, integer(int(matrix[row, column])), ha="center", va="center", fontsize=7.5,
                color=CARD if alpha > 0.6 else INK,
            )  # fmt: skip
    names = [plain(name, 10) for name in classes]
    step = max(1, count // 20)
    ticks = list(range(0, count, step))
    axes.set_xticks(ticks, [names[i] for i in ticks], rotation=90 if max(map(len, names)) > 3 else 0)
    axes.set_yticks(ticks, [names[i] for i in ticks])
    axes.set(
        xlim=(-0.5, count - 0.5),
        ylim=(count - 0.5, -0.5),
        aspect="equal",
        xlabel="predicted",
        ylabel="target",
    )
    axes.hlines(np.arange(count + 1) - 0.5, -0.5, count - 0.5, color=RULE, linewidth=0.5, zorder=0)
    axes.vlines(np.arange(count + 1) - 0.5, -0.5, count - 0.5, color=RULE, linewidth=0.5, zorder=0)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return picture


def caption(matrix: NDArray[np.int64], classes: list[str]) -> str:
    total, right = int(matrix.sum()), int(np.trace(matrix))
    text = (
        f"Held-out prompts by target (row) and prediction (column): {integer(right)} of {integer(total)} on the "
        "diagonal. Depth of colour is the share of the row, for errors (orange) ten times as strong."
    )
    wrong = matrix - np.diag(np.diag(matrix))
    if wrong.max(initial=0) == 1:
        text += " No class is taken for the same other class more than once."
    elif wrong.any():
        row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
        text += (
            f" The most frequent error: {plain(classes[row])} taken for {plain(classes[column])}, "
            f"{integer(int(wrong[row, column]))} times ({percent(wrong[row, column] / max(matrix[row].sum(), 1))})."
        )
    return text
