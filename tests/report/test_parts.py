"""The small parts: intervals, words, history, choices, the film's numbers."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from mckean.report import palette, schema, selection, verdict, words
from mckean.report.arrays import Flow
from mckean.report.intervals import wilson
from mckean.report.metrics import read_metrics
from mckean.report.moving import ABSENT, LEVELS, payload
from tests.report import fabricate


@pytest.mark.parametrize(("right", "size"), [(438, 450), (0, 10), (10, 10), (1, 3)])
def test_wilson_agrees_with_scipy(right: int, size: int) -> None:
    known = binomtest(right, size).proportion_ci(method="wilson")
    assert wilson(right / size, size) == pytest.approx((known.low, known.high), abs=1e-12)


def test_wilson_holds_the_share_also_after_rounding() -> None:
    for size in range(1, 200):
        for share in (0.0, 1 - 1 / size, 1.0):
            low, high = wilson(share, size)
            assert low <= share <= high


def test_losses_are_not_compared_as_accuracies() -> None:
    paired = {"against": "readout", "better": 3, "worse": 1, "difference": 0.25, "interval": [0.1, 0.4], "p_value": 0.01}
    failed = {"name": "hidden-units", "label": "the flow with attention off", "failed": "It left the finite numbers."}
    made = fabricate.summary(np.random.default_rng(0), None, trust="trusted", title="a run", layered=False, dim=3)
    document = made | {"accuracy": None, "paired": [paired | {"test": "paired t"}], "baselines": [failed]}
    first, second = verdict.comparisons(schema.parse(schema.Summary, document, "summary.json"))
    assert "It is lower by 0.250 in the mean (95 % interval 0.100 to 0.400; paired t, p = 0.01): this run is better." in first
    assert "accuracy" not in first
    assert second == "There is no comparison with the flow with attention off, which failed: It left the finite numbers."


def test_wilson_of_nothing_is_everything() -> None:
    assert wilson(0.5, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"), (float("nan"), "not a number"), (0.0, "0"), (1.0, "1"), (0.0612, "0.0612"), (2.36, "2.36"),
        (-0.5, "−0.500"), (1234.0, "1,234"), (2.2e-16, "2.20 × 10⁻¹⁶"), (3e9, "3 × 10⁹"), (float("inf"), "∞"),
    ],
)  # fmt: skip
def test_number(value: float | None, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.05, "0.05"), (1e-6, "10⁻⁶"), (2.5e-7, "2.5 × 10⁻⁷"), (8.0, "8")])
def test_exact(value: float, text: str) -> None:
    assert words.exact(value) == text


def test_plain_is_one_short_printable_line() -> None:
    assert words.plain("a\nb\x00c") == "a b c"
    assert len(words.plain("x" * 99)) == 28


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def test_history_counts_a_repeated_step_once(tmp_path: Path) -> None:
    rows = [{"step": step, "s": step, "risk": risk} for step, risk in ((0, 9.0), (10, 8.0), (20, 7.0), (10, 6.0))]
    found = read_metrics(lines(tmp_path / "m", *rows))
    assert found["risk"].tolist() == [9.0, 6.0]
    assert found.dropped == 2


def test_history_leaves_damaged_lines_out_and_counts_them(tmp_path: Path) -> None:
    whole = [{"step": step, "s": float(step), "risk": None} for step in (0, 10)]
    assert read_metrics(lines(tmp_path / "m", *whole)).damage is None
    torn = read_metrics(lines(tmp_path / "m", *whole, '{"step": 11, "s'))
    assert torn["step"].tolist() == [0.0, 10.0]
    assert torn.damage == "1 line of metrics.jsonl is damaged and was left out: the curves lack these points."
    inside = read_metrics(lines(tmp_path / "m", whole[0], "?\n", "3\n", whole[1]))
    assert inside["step"].tolist() == [0.0, 10.0]
    assert (inside.unreadable, inside.dropped) == (2, 0)


def flow_of(targets: list[int], predicted: list[int], points: np.ndarray | None = None) -> Flow:
    count = len(targets)
    points = np.random.default_rng(0).standard_normal((count, 3, 4, 2)) if points is None else points
    return Flow(
        np.linspace(0, 1, 3),
        points,
        np.full((count, 4), 0.25),
        np.arange(count),
        np.array(targets),
        np.array(predicted),
    )


def test_shown_prompts_take_each_class_and_an_error() -> None:
    flow = flow_of([0, 0, 0, 1, 2, 0], [0, 0, 1, 1, 2, 0])
    assert selection.prompts(flow, 3, classes=True) == [0, 3, 2]
    assert selection.prompts(flow, 3, classes=False) == [0, 1, 2]


def test_depths_hold_both_ends() -> None:
    assert selection.depths(5, 9).tolist() == [0, 2, 4, 6, 8]
    assert selection.depths(5, 2).tolist() == [0, 1]


def test_film_gives_the_positions_back() -> None:
    flow = flow_of([0], [0])
    flow.points[0, 1, 2] = np.nan
    film = payload(flow, [0], None)
    levels = np.frombuffer(base64.b64decode(film["prompts"][0]["data"]), "<u2").reshape(3, 4, 2)
    low, high = np.array(film["low"]), np.array(film["high"])
    assert (levels[1, 2] == ABSENT).all()
    there = np.isfinite(flow.points[0])
    back = low + levels / LEVELS * (high - low)
    np.testing.assert_allclose(back[there], flow.points[0][there], atol=1e-4)
    np.testing.assert_allclose(high[0] - low[0], high[1] - low[1])


def luminance(colour: str) -> float:
    channels = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("role", "least"), [("ink", 7.0), ("muted", 4.5), ("blue", 4.5), ("orange", 4.5), ("green", 4.5)])
def test_colours_can_be_read(dark: bool, role: str, least: float) -> None:
    """Contrast with the ground, by the formula of the web accessibility guidelines."""
    colours = palette.roles(dark=dark)
    bright, dim = sorted((luminance(colours[role]), luminance(colours["card"])), reverse=True)
    assert (bright + 0.05) / (dim + 0.05) >= least


def test_colours_of_a_figure_are_told_apart() -> None:
    colours = palette.roles(dark=False)
    assert len(set(colours.values())) == len(colours), "one hex value must stand for one role"
