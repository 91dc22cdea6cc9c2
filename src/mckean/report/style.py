"""The look of every figure, applied inside a context: the caller's matplotlib settings stay as they are."""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from io import BytesIO
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from mckean.report.palette import CARD, INK, MUTED, RULE
from mckean.report.words import number, power

P = ParamSpec("P")
R = TypeVar("R")

WIDE = 8.6  # inches: the text column of the page, and a double column on paper
HALF = 4.25

_SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # shipped with matplotlib, so that every machine draws the same
    "font.size": 8.5,
    "text.usetex": False,
    "text.parse_math": False,  # a `$` in a name from outside is a character, not a formula
    "text.color": INK,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.labelsize": 8.5,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.unicode_minus": True,
    "figure.facecolor": CARD,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 1.6,
    "legend.borderaxespad": 0.2,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
    "savefig.bbox": None,
    "pdf.fonttype": 42,
    "svg.hashsalt": "mckean",
}


class Picture(Figure):
    """A figure that a notebook shows although no window system knows of it."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        with settings():
            self.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()


@contextmanager
def settings(**more: Any) -> Iterator[None]:
    """The style, inside `with` only."""
    rc: dict[Any, Any] = {**_SETTINGS, **more}
    with mpl.rc_context(rc), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes in the PDF; the page shows it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Make a drawing function draw in the style."""

    @wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        with settings():
            return draw(*args, **kwargs)

    return inside


def figure(width: float, height: float) -> Picture:
    return Picture(figsize=(width, height), layout="constrained")


def grid(axes: Axes, axis: Any = "y") -> None:
    axes.grid(visible=True, axis=axis)


def legend(axes: Axes, columns: int = 4) -> None:
    """A legend in a row above the axes, where no data can be under it."""
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.01), ncols=min(columns, len(handles)), columnspacing=1.4)


def spans_decades(values: object, factor: float = 10.0) -> bool:
    """Whether positive values reach over more than `factor`, so that a logarithmic axis serves them."""
    array = np.asarray(values, dtype=float)
    array = array[np.isfinite(array)]
    return bool(array.size and array.min() > 0 and array.max() > factor * array.min())


def log_scale(axes: Axes, which: str, values: object) -> None:
    """A logarithmic x or y axis whose ticks read 0.01, 1 or 10⁻⁶; ticks at 2 and 5 if it is short."""
    array = np.asarray(values, dtype=float)
    array = array[np.isfinite(array) & (array > 0)]
    decades = math.log10(array.max() / array.min()) if array.size else 1.0
    axis: Axis = axes.yaxis if which == "y" else axes.xaxis
    axes.set(**{f"{which}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.2 else (1.0,), numticks=7))
    axis.set_major_formatter(FuncFormatter(_tick))
    axis.set_minor_formatter(NullFormatter())


def few_ticks(axes: Axes, count: int = 4) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(count))
    axes.yaxis.set_major_locator(MaxNLocator(count))


def _tick(value: float, _position: float | None = None) -> str:
    if value <= 0:
        return ""
    exponent = math.floor(math.log10(value) + 1e-9)
    if -4 < exponent < 4:
        return number(value, 1)
    mantissa = round(value / 10.0**exponent)
    return power(exponent) if mantissa == 1 else f"{mantissa} × {power(exponent)}"
