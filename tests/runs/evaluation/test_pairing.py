"""The paired comparison against published intervals and an independent likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from mckean.runs.evaluation.pairing import paired, tango
from mckean.runs.evaluation.predictions import Predictions


def predictions(losses: object, correct: object = None) -> Predictions:
    right = None if correct is None else np.asarray(correct, bool)
    return Predictions(np.zeros((len(np.asarray(losses)), 1)), np.asarray(losses, float), right)


@pytest.mark.parametrize(
    ("better", "worse", "count", "interval"),
    # Fagerland, Lydersen and Laake, Statistics in Medicine 33, 2014: airways before and after a transplant.
    [(1, 7, 21, (-0.517, -0.026))],
)
def test_the_score_interval_is_the_published_one(better: int, worse: int, count: int, interval: tuple[float, float]) -> None:
    assert tango(better, worse, count) == pytest.approx(interval, abs=5e-4)


@pytest.mark.parametrize(("better", "worse", "count"), [(14, 4, 450), (3, 0, 20), (0, 9, 370), (40, 20, 160), (20, 0, 20)])
def test_at_its_ends_the_score_statistic_is_the_normal_quantile(better: int, worse: int, count: int) -> None:
    def statistic(delta: float) -> float:
        """(b − c − nΔ) over its deviation, at the shares p12 = q + Δ and p21 = q that a search finds likeliest."""

        def likelihood(q: float) -> float:
            cells = np.array([q + delta, q, 1 - 2 * q - delta])
            return -float(np.sum(np.array([better, worse, count - better - worse]) * np.log(np.maximum(cells, 1e-300))))

        bounds = (max(0.0, -delta), (1 - delta) / 2)
        q = optimize.minimize_scalar(likelihood, bounds=bounds, method="bounded", options={"xatol": 1e-14}).x
        return (better - worse - count * delta) / np.sqrt(count * (2 * q + delta - delta**2))

    z = stats.norm.ppf(0.975)
    low, high = tango(better, worse, count)
    assert low <= (better - worse) / count <= high
    assert statistic(low) == pytest.approx(z, rel=1e-4)
    if high < 1:
        assert statistic(high) == pytest.approx(-z, rel=1e-4)


def test_without_discordant_pairs_the_interval_still_has_a_width() -> None:
    z2 = stats.norm.ppf(0.975) ** 2
    assert tango(0, 0, 30) == pytest.approx([-z2 / (30 + z2), z2 / (30 + z2)])
    found = paired(predictions([0.0] * 30, [True] * 30), predictions([1.0] * 30, [True] * 30))
    assert found is not None
    assert found["interval"][0] < 0 < found["interval"][1]
    assert found["p_value"] == 1.0


def test_equal_gains_are_not_taken_for_none() -> None:
    found = paired(predictions([0.0] * 8), predictions([0.5] * 8))
    assert found is not None
    assert found["p_value"] == 2 / 2**8
    assert found["interval"] == [0.5, 0.5]
    none = paired(predictions([0.5] * 8), predictions([0.5] * 8))
    assert none is not None
    assert none["p_value"] == 1.0
    assert paired(predictions([0.0]), predictions([0.5])) is None


def test_losses_are_compared_by_the_paired_t() -> None:
    ours, theirs = np.array([0.1, 0.3, 0.2, 0.9]), np.array([0.4, 0.2, 0.6, 1.0])
    found = paired(predictions(ours), predictions(theirs))
    assert found is not None
    assert found["p_value"] == pytest.approx(stats.ttest_rel(theirs, ours).pvalue)
