"""The costate's size and the tokens' spread along depth, as bands over prompts."""

from matplotlib.figure import Figure

from mckean.report.arrays import Costate
from mckean.report.palette import BLUE, GREEN
from mckean.report.style import WIDE, figure, grid, log_scale, spans_decades, styled
from mckean.report.words import exact, number


@styled
def draw(costate: Costate) -> Figure:
    picture = figure(WIDE, 2.6)
    panels = picture.subplots(1, 2, sharex=True)
    for axes, bands, colour, title in (
        (panels[0], costate.rms, BLUE, "costate, √ Σ wᵢ |pᵢ|²"),
        (panels[1], costate.tokens_rms, GREEN, "tokens' spread, √ Σ wᵢ |xᵢ − mean|²"),
    ):
        low, middle, high = bands
        axes.fill_between(costate.times, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.plot(
            costate.times,
            middle,
            color=colour,
            marker="o" if costate.times.size <= 17 else None,
            markersize=3,
        )
        if spans_decades(bands, 20):
            log_scale(axes, "y", bands)
        elif bands.min() >= 0:
            axes.set_ylim(bottom=0)
        axes.set_title(title)
        axes.set_xlabel("depth t")
        grid(axes)
    return picture


def caption(costate: Costate) -> str:
    first, last = costate.rms[1, 0], costate.rms[1, -1]
    wide, narrow = costate.tokens_rms[1, 0], costate.tokens_rms[1, -1]
    over = f" over {costate.prompts:,} prompts" if costate.prompts else " over prompts"
    return (
        f"Median (line) and 10 to 90 % band{over}. The costate p, how the loss reacts to moving a token, has median size "
        f"{number(first)} at depth 0 and {number(last)} at depth {exact(float(costate.times[-1]))}; the tokens' "
        f"spread goes from {number(wide)} to {number(narrow)}."
    )
