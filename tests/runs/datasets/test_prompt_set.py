"""`PromptSet` and `Dataset`: what they refuse, what they take, and what their hash depends on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mckean.errors import Refused
from mckean.runs.datasets import Dataset, PromptSet

POINTS = np.arange(12.0).reshape(3, 2, 2)
WEIGHTS = np.array([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])
LABELS = np.array([0, 1, 1])


def dataset(train: PromptSet, test: PromptSet | None = None, **changes: Any) -> Dataset:
    fields: dict[str, Any] = {
        "name": "mine",
        "train": train,
        "test": test,
        "classes": ("no", "yes") if train.is_classification else None,
        "coordinates": tuple("xyz"[: train.dim]),
        "description": "",
        "source": "",
        "licence": "",
    }
    return Dataset(**{**fields, **changes})


def many(labels: list[int]) -> PromptSet:
    n = len(labels)
    return PromptSet(np.arange(2.0 * n).reshape(n, 1, 2), np.ones((n, 1)), np.array(labels))


def test_sizes_and_types() -> None:
    narrow: Any = (POINTS.astype(np.float32), WEIGHTS, LABELS.astype(np.int16))
    prompts = PromptSet(*narrow)
    assert (prompts.size, prompts.tokens_max, prompts.dim) == (3, 2, 2)
    assert prompts.points.dtype == np.float64
    assert prompts.targets.dtype == np.int64
    assert prompts.tokens.tolist() == [2, 1, 2]


def test_arrays_are_copies_that_cannot_be_written() -> None:
    points = POINTS.copy()
    prompts = PromptSet(points, WEIGHTS, LABELS)
    points[:] = 0.0
    np.testing.assert_array_equal(prompts.points, POINTS)
    with pytest.raises(ValueError, match="read-only"):
        prompts.points[0] = 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": POINTS[0]}, "three non-empty axes"),
        ({"points": POINTS[:0], "weights": WEIGHTS[:0], "targets": LABELS[:0]}, "three non-empty axes"),
        ({"weights": WEIGHTS[:, :1]}, "one entry an atom"),
        ({"points": np.where(POINTS == 3.0, np.nan, POINTS)}, "must be finite"),
        ({"weights": np.array([[1.5, -0.5], [1, 0], [1, 0]])}, "non-negative"),
        ({"weights": np.array([[np.nan, 1.0], [1, 0], [1, 0]])}, "non-negative"),
        ({"weights": np.array([[0.5, 0.5], [1, 0], [0.5, 0.4]])}, "prompt 2 sum to 0.9"),
        ({"targets": LABELS[:2]}, "must have shape"),
        ({"targets": LABELS.astype(float)}, "must have shape"),
        ({"targets": LABELS.astype(str)}, "integers .classes. or floats"),
        ({"targets": np.array([[np.inf], [0], [1]])}, "must be finite"),
        ({"targets": np.zeros((3, 0))}, "at least one"),
        ({"targets": LABELS - 1}, "0 or more"),
    ],
)
def test_bad_prompts_are_refused(changes: dict[str, Any], message: str) -> None:
    good = {"points": POINTS, "weights": WEIGHTS, "targets": LABELS}
    with pytest.raises(Refused, match=message):
        PromptSet(**{**good, **changes})


@pytest.mark.parametrize(
    ("test", "changes", "message"),
    [
        (None, {"coordinates": ("x",)}, "2 coordinates need as many names"),
        (None, {"classes": None}, "Class names must be given"),
        (None, {"classes": ("no", "no")}, "differ from one another"),
        (None, {"classes": ("no",)}, "below the number of classes, 1; found 1"),
        (PromptSet(np.zeros((1, 1, 3)), np.ones((1, 1)), np.array([0])), {}, "the 2 coordinates"),
        (PromptSet(np.zeros((1, 1, 2)), np.ones((1, 1)), np.zeros((1, 1))), {}, "kind and width"),
        (PromptSet(np.zeros((1, 1, 2)), np.ones((1, 1)), np.array([2])), {}, "number of classes, 2; found 2"),
    ],
)
def test_bad_data_sets_are_refused(test: PromptSet | None, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        dataset(PromptSet(POINTS, WEIGHTS, LABELS), test, **changes)


def test_take_is_balanced_nested_and_at_most() -> None:
    data = dataset(many([0, 0, 0, 0, 1, 1, 0, 1]), many([1, 1, 0]))
    four = data.take(train=4, test=2)
    assert four.train.targets.tolist() == [0, 0, 1, 1]
    assert four.train.points[:, 0, 0].tolist() == [0.0, 2.0, 8.0, 10.0]
    assert four.test is not None
    assert sorted(four.test.targets.tolist()) == [0, 1]
    five = data.take(train=5)
    assert set(four.train.points[:, 0, 0]) < set(five.train.points[:, 0, 0])
    assert data.take(train=100).train.size == 8
    with pytest.raises(Refused, match="At least 1 training prompt"):
        data.take(train=0)


def test_take_of_numbers_takes_the_first_ones() -> None:
    data = dataset(PromptSet(POINTS, WEIGHTS, np.array([[3.0], [2.0], [1.0]])))
    assert data.take(train=2, test=2).train.targets.tolist() == [[3.0], [2.0]]


def test_hash_depends_on_contents_only() -> None:
    prompts = PromptSet(POINTS, WEIGHTS, LABELS)
    data = dataset(prompts)
    assert len(data.content_hash()) == 64
    assert data.content_hash() == replace(data, description="other", name="other").content_hash()
    nudged = PromptSet(POINTS + 1e-15 * (POINTS == 1.0), WEIGHTS, LABELS)
    others = [
        dataset(nudged),
        dataset(PromptSet(POINTS, WEIGHTS, LABELS[::-1])),
        dataset(PromptSet(POINTS, WEIGHTS[:, ::-1], LABELS)),
        dataset(prompts, prompts),
        dataset(prompts, coordinates=("y", "x")),
        dataset(prompts, classes=("yes", "no")),
    ]
    hashes = {data.content_hash(), *(other.content_hash() for other in others)}
    assert len(hashes) == 1 + len(others)
