"""Padding changes no integral, and puts pads where the prompt is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mckean.errors import Refused
from mckean.runs.datasets import pad
from mckean.runs.datasets.padding import weighted_means


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_padding_keeps_every_measure(lengths: list[int], dim: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = [rng.normal(size=(n, dim)) for n in lengths]
    masses = [rng.dirichlet(np.ones(n)) for n in lengths]
    points, weights = pad(atoms, masses)
    assert points.shape == (len(lengths), max(lengths), dim)
    for i, (x, w) in enumerate(zip(atoms, masses, strict=True)):
        np.testing.assert_allclose(weights[i] @ np.cos(points[i]), w @ np.cos(x), atol=1e-14)
        np.testing.assert_array_equal(weights[i, len(x) :], 0.0)
        pads = points[i, len(x) :]
        np.testing.assert_allclose(pads, np.tile(w @ x, (len(pads), 1)), atol=1e-14)
    np.testing.assert_allclose(
        weighted_means(points, weights), [w @ x for x, w in zip(atoms, masses, strict=True)]
    )


def test_weights_are_uniform_unless_given() -> None:
    _, weights = pad([np.zeros((2, 1)), np.zeros((4, 1))])
    assert weights.tolist() == [[0.5, 0.5, 0.0, 0.0], [0.25] * 4]


def test_means_ignore_what_stands_at_weight_zero() -> None:
    points = np.array([[[1.0], [3.0], [np.nan]]])
    assert weighted_means(points, np.array([[0.5, 0.5, 0.0]])).tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("points", "weights", "message"),
    [
        ([], None, "At least one prompt"),
        ([np.zeros((2, 1)), np.zeros((2, 2))], None, "prompt 1 has shape"),
        ([np.zeros((0, 1))], None, "prompt 0 has shape"),
        ([np.zeros(3)], None, "prompt 0 has shape"),
        ([np.zeros((2, 1))], [], "1 prompts need as many"),
        ([np.zeros((2, 1))], [np.ones(1)], "Prompt 0 has 2 tokens"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    points: list[Any], weights: list[Any] | None, message: str
) -> None:
    with pytest.raises(Refused, match=message):
        pad(points, weights)
