"""The report's figures for results held in memory: `mk.plot.flow(flow)`, `heads`, `risk`, `animate`.

Anything with the named attributes will do. Each function returns a matplotlib figure in the report's style and
leaves the caller's matplotlib settings alone.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, PillowWriter
from matplotlib.figure import Figure
from numpy.typing import NDArray

from mckean.errors import Refused, StorageFailure
from mckean.report import arrays
from mckean.report.figures import flow as flow_figure
from mckean.report.figures import heads_cloud
from mckean.report.figures import risk as risk_figure
from mckean.report.metrics import COLUMNS, Metrics
from mckean.report.palette import CARD, FAINT, MUTED, RAMP_LIGHT
from mckean.report.selection import ranks, tokens
from mckean.report.style import few_ticks, figure, settings
from mckean.report.words import exact

__all__ = ["Animation", "animate", "flow", "heads", "risk"]

Floats = NDArray[np.float64]
log = logging.getLogger("mckean.plot")


class FlowLike(Protocol):
    """times (L+1,), points (L+1, N, d), weights (N,)."""

    @property
    def times(self) -> Any: ...
    @property
    def points(self) -> Any: ...
    @property
    def weights(self) -> Any: ...


class MeasureLike(Protocol):
    """points: a tree of arrays with a leading axis of heads; weights (H,)."""

    @property
    def points(self) -> Any: ...
    @property
    def weights(self) -> Any: ...


class SolutionLike(Protocol):
    """times (n,), risk (n,)."""

    @property
    def times(self) -> Any: ...
    @property
    def risk(self) -> Any: ...


@dataclass(frozen=True)
class Animation:
    """A film that was written: its path, its format (`mp4` or `gif`), its frames, and why that format."""

    path: Path
    format: str
    frames: int
    note: str

    def __str__(self) -> str:
        return f"{self.path}: {self.frames} frames, {self.note}"


def flow(flow: FlowLike, *, columns: int = 5) -> Figure:
    """Tokens at `columns` depths, and their paths, in the first two coordinates; area is weight.

    Raises `Refused` if the shapes are not times (L+1,), points (L+1, N, d), weights (N,).
    """
    return flow_figure.draw(_one_flow(flow), [0], columns=columns, named=False)


def heads(before: MeasureLike, after: MeasureLike, *, layered: bool | None = None) -> Figure:
    """The head measure before and after, in the plane of the two main directions of both together.

    `layered` says whether a layer axis stands before the heads' axis; `None` reads it off the shapes.
    Raises `Refused` if the two do not have the same parameters.
    """
    pair = []
    for measure in (before, after):
        weights = np.asarray(measure.weights, dtype=float)
        leaves = dict(_leaves(measure.points, ""))
        count = weights.shape[-1]
        over = layered if layered is not None else all(leaf.shape[:1] != (count,) for leaf in leaves.values() if leaf.ndim)
        pair.append((arrays.leaves(leaves, "", count, layered=over), weights, over))
    (first, first_weights, over), (last, last_weights, _) = pair
    if not first or first.keys() != last.keys() or any(first[k].shape[1:] != last[k].shape[1:] for k in first):
        raise Refused(
            "`before` and `after` must be measures over the same kind of heads, but their parameters are "
            f"{_shapes(first)} and {_shapes(last)}; pass two states of one run."
        )
    return heads_cloud.draw(arrays.Heads(first, last, first_weights, last_weights, over))


def risk(solution: SolutionLike) -> Figure:
    """Risk against training time, on a logarithmic axis where it spans a factor of ten.

    Raises `Refused` if `times` and `risk` do not have one length.
    """
    s, values = np.asarray(solution.times, dtype=float), np.asarray(solution.risk, dtype=float)
    if s.ndim != 1 or s.shape != values.shape:
        raise Refused(
            f"A solution must have times (n,) and risk (n,), but their shapes are {s.shape} and {values.shape}; "
            "pass what `mk.solve` returned."
        )
    unknown = np.full(s.shape, np.nan)
    columns = dict.fromkeys(COLUMNS, unknown) | {
        "s": s,
        "risk": values,
        "step": np.arange(s.size, dtype=float),
    }
    return risk_figure.draw(Metrics(columns))


def animate(flow: FlowLike, path: str | Path, *, seconds: float = 5.0, rate: int = 20) -> Animation:
    """Write a film of the tokens moving through depth; it says which format it wrote.

    `path` ends in .mp4 or .gif. An MP4 needs ffmpeg; without it a GIF of the same name is written by Pillow.
    Between saved depths the positions are interpolated linearly. Raises `Refused` for another ending or for
    wrong shapes, `StorageFailure` if the file cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() not in (".mp4", ".gif"):
        raise Refused(f"A film's path must end in .mp4 or .gif, but it is {target.name!r}; change the ending.")
    one = _one_flow(flow)
    writer: AbstractMovieWriter
    if target.suffix.lower() == ".gif":
        writer, note = PillowWriter(fps=rate), "GIF by Pillow"
    elif FFMpegWriter.isAvailable():
        writer, note = FFMpegWriter(fps=rate, codec="h264"), "MP4 by ffmpeg"
    else:
        target = target.with_suffix(".gif")
        writer, note = (
            PillowWriter(fps=rate),
            "GIF by Pillow, because ffmpeg, which an MP4 needs, was not found",
        )
    frames = max(2, round(seconds * rate))
    try:
        with settings():
            _film(one, target, writer, frames)
    except OSError as error:
        raise StorageFailure(f"The film {target} cannot be written ({error}); choose another folder.") from error
    film = Animation(target, target.suffix[1:].lower(), frames, note)
    log.info("%s", film)
    return film


def _film(one: arrays.Flow, target: Path, writer: AbstractMovieWriter, frames: int) -> None:
    keep = tokens(one.weights[0], flow_figure.TOKENS)
    paths = one.points[0][:, keep, :2]
    colours = [RAMP_LIGHT[step] for step in ranks(paths[0, :, 0], len(RAMP_LIGHT))]
    line = paths.shape[2] == 1
    picture = figure(4.8, 4.8)
    axes = picture.subplots()
    if line:
        depth = np.broadcast_to(one.times[:, None, None], paths.shape)
        paths = np.concatenate([depth, paths], axis=2)
    finite = paths[np.isfinite(paths).all(axis=2)]
    low, high = (finite.min(axis=0), finite.max(axis=0)) if finite.size else (np.zeros(2), np.ones(2))
    middle, half = (low + high) / 2, 0.55 * np.maximum(high - low, 1e-9)
    half = half if line else np.full(2, half.max())
    axes.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1]))
    axes.set(xlabel="depth t" if line else "first coordinate", ylabel="token x" if line else "second coordinate")
    if not line:
        axes.set_aspect("equal")
    few_ticks(axes, 5)
    trails = [axes.plot([], [], color=FAINT, linewidth=0.6)[0] for _ in range(keep.size)]
    area = one.weights[0, keep] / one.weights[0, keep].max() * float(np.clip(4000 / keep.size, 5, 60))
    dots = axes.scatter(*paths[0].T, s=area, c=colours, edgecolors=CARD, linewidths=0.3, zorder=3)
    clock = axes.set_title("", color=MUTED)
    with writer.saving(picture, str(target), dpi=120):
        for place in np.linspace(0, one.times.size - 1, frames):
            before = min(int(place), one.times.size - 2) if one.times.size > 1 else 0
            part = place - before
            after = min(before + 1, one.times.size - 1)
            now = (1 - part) * paths[before] + part * paths[after]
            dots.set_offsets(now)
            for token, trail in enumerate(trails):
                trail.set_data(*np.vstack([paths[: before + 1, token], now[None, token]]).T)
            clock.set_text(f"t = {exact(round(float((1 - part) * one.times[before] + part * one.times[after]), 2))}")
            writer.grab_frame()


def _one_flow(flow: FlowLike) -> arrays.Flow:
    times, points, weights = (np.asarray(value, dtype=float) for value in (flow.times, flow.points, flow.weights))
    if points.ndim != 3 or times.shape != points.shape[:1] or weights.shape != points.shape[1:2]:
        raise Refused(
            "A flow must have times (L+1,), points (L+1, N, d) and weights (N,), but their shapes are "
            f"{times.shape}, {points.shape} and {weights.shape}; pass what `mk.transport` returned for one prompt."
        )
    if not (weights > 0).any():
        raise Refused("A flow must have a token of positive weight, but all weights are 0; pass the measure's weights.")
    return arrays.Flow(times, points[None], weights[None], np.zeros(1, dtype=np.int64))


def _leaves(tree: Any, name: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """The named arrays of a tree of dataclasses, mappings and sequences (heads are dataclasses)."""
    if is_dataclass(tree):
        children = [(field.name, getattr(tree, field.name)) for field in fields(tree)]
    elif isinstance(tree, Mapping):
        children = [(str(key), value) for key, value in tree.items()]
    elif isinstance(tree, list | tuple):
        children = [(str(place), value) for place, value in enumerate(tree)]
    else:
        if hasattr(tree, "shape") and hasattr(tree, "dtype"):
            yield name, np.asarray(tree)
        return
    for key, child in children:
        yield from _leaves(child, f"{name}.{key}" if name else key)


def _shapes(leaves: Mapping[str, Floats]) -> str:
    return ", ".join(f"{key} {value.shape}" for key, value in leaves.items()) or "none"
