"""Figures of results in memory: any object with the named attributes will do."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.animation import FFMpegWriter
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from PIL import Image

from mckean.errors import Refused
from mckean.report import plot
from mckean.report.figures import heads_cloud


@dataclass(frozen=True)
class Softmax:
    query: np.ndarray
    value: np.ndarray
    scale: float = 1.0


@dataclass(frozen=True)
class Layered:
    heads: Softmax


@dataclass
class OneFlow:
    times: np.ndarray
    points: np.ndarray
    weights: np.ndarray


@dataclass
class Measure:
    points: object
    weights: np.ndarray


@dataclass
class OneSolution:
    times: np.ndarray
    risk: np.ndarray


def one_flow(dim: int = 2, tokens: int = 9, steps: int = 4) -> OneFlow:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((steps + 1, tokens, dim))
    return OneFlow(times=np.linspace(0, 1, steps + 1), points=points, weights=np.full(tokens, 1 / tokens))


def measure(seed: int, heads: int = 6, lead: tuple[int, ...] = ()) -> Measure:
    rng = np.random.default_rng(seed)
    points = Softmax(rng.standard_normal((*lead, heads, 2, 3)), rng.standard_normal((*lead, heads, 3, 3)))
    return Measure(points=Layered(points) if lead else points, weights=np.full(heads, 1 / heads))


@pytest.fixture(autouse=True)
def settings_stay() -> Iterator[None]:
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before


def test_flow_shows_depths_and_paths() -> None:
    picture = plot.flow(one_flow(), columns=3)
    assert isinstance(picture, Figure)
    assert [axes.get_title(loc="left") for axes in picture.axes] == ["t = 0", "t = 0.5", "t = 1", "paths"]
    middle = np.asarray(picture.axes[1].collections[0].get_offsets())
    np.testing.assert_array_equal(middle, one_flow().points[2])


def test_flow_area_is_weight_and_padding_is_left_out() -> None:
    flow = one_flow()
    flow.weights = np.array([0.0, 0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.0])
    dots = plot.flow(flow).axes[0].collections[0]
    assert isinstance(dots, PathCollection)
    area = dots.get_sizes()
    assert area.size == 7
    np.testing.assert_allclose(area / area.sum(), flow.weights[1:-1])


def test_flow_in_one_dimension_is_drawn_against_depth() -> None:
    picture = plot.flow(one_flow(dim=1))
    assert picture.axes[0].get_xlabel() == "depth t"


def test_wrong_shapes_are_refused() -> None:
    flow = one_flow()
    flow.times = flow.times[:-1]
    with pytest.raises(Refused, match=r"shapes are \(4,\), \(5, 9, 2\) and \(9,\)"):
        plot.flow(flow)
    with pytest.raises(Refused, match="all weights are 0"):
        plot.flow(OneFlow(times=np.zeros(1), points=np.zeros((1, 2, 2)), weights=np.zeros(2)))


def test_risk_axis_is_logarithmic_where_it_spans() -> None:
    s = np.linspace(0, 1, 20)
    assert plot.risk(OneSolution(times=s, risk=np.exp(-9 * s))).axes[0].get_yscale() == "log"
    assert plot.risk(OneSolution(times=s, risk=1 - 0.1 * s)).axes[0].get_yscale() == "linear"
    with pytest.raises(Refused, match=r"\(20,\) and \(19,\)"):
        plot.risk(OneSolution(times=s, risk=s[1:]))


def test_heads_of_one_run(settings_stay: None) -> None:
    picture = plot.heads(measure(0), measure(1))
    offsets = [np.asarray(dots.get_offsets()) for dots in picture.axes[0].collections[1:]]
    assert [len(o) for o in offsets] == [6, 6]


def test_layered_heads_are_told_by_their_shapes() -> None:
    picture = plot.heads(measure(0, lead=(3,)), measure(1, lead=(3,)))
    labels = [dots.get_label() for dots in picture.axes[0].collections[1:]]
    assert labels == ["before", "layer 1", "layer 2", "layer 3"]


def test_different_heads_are_refused() -> None:
    other = measure(0)
    other.points = {"query": np.zeros((6, 2, 3))}
    with pytest.raises(Refused, match="same kind of heads"):
        plot.heads(measure(0), other)


def test_plane_is_the_weighted_principal_plane() -> None:
    """Against the covariance of the cloud in which each atom is repeated by its weight."""
    from mckean.report.arrays import Heads

    rng = np.random.default_rng(3)
    before, after = rng.standard_normal((4, 3)), rng.standard_normal((4, 3)) + 2
    counts = np.array([1, 2, 3, 4])
    heads = Heads({"q": before}, {"q": after}, counts / 10, counts / 10)
    found = heads_cloud.plane(heads)
    cloud = np.concatenate([np.repeat(before, counts, axis=0), np.repeat(after, counts, axis=0)])
    values = np.linalg.eigvalsh(np.cov(cloud.T, bias=True))[::-1]
    np.testing.assert_allclose(found.share, values[:2] / values.sum())
    drawn = np.concatenate([np.repeat(found.before, counts, axis=0), np.repeat(found.after, counts, axis=0)])
    np.testing.assert_allclose(drawn.var(axis=0), values[:2])


def test_animation_is_a_gif_without_ffmpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    film = plot.animate(one_flow(), tmp_path / "flow.mp4", seconds=0.5, rate=8)
    assert film.path == tmp_path / "flow.gif"
    assert film.format == "gif"
    assert "ffmpeg" in str(film)
    assert str(film.path) in str(film)
    with Image.open(film.path) as image:
        assert getattr(image, "n_frames", 1) == film.frames == 4


def test_animation_refuses_another_ending(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"must end in .mp4 or .gif"):
        plot.animate(one_flow(), tmp_path / "flow.avi")


def test_a_notebook_shows_the_figure() -> None:
    picture = plot.risk(OneSolution(times=np.arange(3.0), risk=np.arange(3.0)))
    assert picture._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
