"""A user's own file: what a good one gives, and one sentence for every way to get it wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mckean.errors import Refused
from mckean.runs import datasets
from mckean.runs.datasets import files
from mckean.runs.datasets.validation import prompt_set

Arrays = dict[str, np.ndarray]
Save = Callable[[Arrays], Path]
Change = Callable[[Arrays], Any]


def changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Change:
    return lambda arrays: arrays.update({name: change(arrays[name])})


def at(name: str, index: Any, value: float) -> Change:
    def put(arrays: Arrays) -> None:
        arrays[name] = arrays[name].astype(float)
        arrays[name][index] = value

    return put


def with_test(**changes: np.ndarray) -> Change:
    def add(arrays: Arrays) -> None:
        arrays.update({f"test_{name}": value[:3] for name, value in list(arrays.items())})
        arrays.update({name: value for name, value in changes.items() if value.size})
        for name in [name for name, value in changes.items() if not value.size]:
            del arrays[name]

    return add


def test_a_good_file(arrays: Arrays, save: Save) -> None:
    data = datasets.load(save(arrays), held_out=0.25)
    assert data.test is not None
    assert (data.name, data.train.size, data.test.size) == ("mine", 6, 2)
    assert data.classes == ("0", "1")
    assert sorted(data.test.targets.tolist()) == [0, 1]
    everything = np.concatenate([data.train.points, data.test.points])
    assert sorted(everything[:, 0, 0]) == sorted(arrays["points"][:, 0, 0])


def test_split_seed_and_fraction(arrays: Arrays, save: Save) -> None:
    path = save(arrays)
    assert files.load(path, held_out=0.0).test is None
    assert files.load(path, seed=0).content_hash() == files.load(path, seed=0).content_hash()
    assert len({files.load(path, seed=seed).content_hash() for seed in range(8)}) > 1
    with pytest.raises(Refused, match="lower it"):
        files.load(path, held_out=0.9)


def test_own_test_arrays_are_the_held_out_ones(arrays: Arrays, save: Save) -> None:
    with_test()(arrays)
    data = files.load(save(arrays), held_out=0.5, seed=4)
    assert data.test is not None
    np.testing.assert_array_equal(data.train.points, arrays["points"])
    np.testing.assert_array_equal(data.test.points, arrays["points"][:3])


def test_without_weights_all_tokens_count_alike(arrays: Arrays, save: Save) -> None:
    del arrays["weights"]
    assert (files.load(save(arrays)).train.weights == 1 / 3).all()


def test_class_names(arrays: Arrays, save: Save) -> None:
    arrays["classes"] = np.array(["cat", "dog"])
    assert files.load(save(arrays)).classes == ("cat", "dog")


@pytest.mark.parametrize("targets", [np.linspace(-1, 1, 8), np.linspace(-1, 1, 8)[:, None]])
def test_numbers_to_predict(targets: np.ndarray, arrays: Arrays, save: Save) -> None:
    arrays["targets"] = targets.astype(np.float32)
    data = files.load(save(arrays))
    assert data.classes is None
    assert data.test is not None
    assert (data.train.targets.shape, data.test.targets.shape) == ((6, 1), (2, 1))


def test_float32_weights_are_normalised(arrays: Arrays, save: Save) -> None:
    arrays["weights"] = arrays["weights"].astype(np.float32)
    sums = arrays["weights"].astype(np.float64).sum(axis=1)
    assert np.abs(sums - 1).max() > 1e-9
    data = files.load(save(arrays), held_out=0.0)
    np.testing.assert_allclose(data.train.weights.sum(axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(data.train.weights, arrays["weights"], rtol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-3e-6, 3e-6))
def test_the_tolerance_of_a_sum(seed: int, error: float) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(4), size=2)
    weights[1] *= 1 + error
    content = {"points": rng.normal(size=(2, 4, 1)), "weights": weights, "targets": np.array([0, 1])}
    if abs(error) < 0.99e-6:
        np.testing.assert_allclose(prompt_set(content).weights.sum(axis=1), 1.0, atol=1e-15)
    elif abs(error) > 1.01e-6:
        with pytest.raises(Refused, match="those of prompt 1 sum to"):
            prompt_set(content)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_pads_go_to_the_mean(value: float, arrays: Arrays, save: Save) -> None:
    arrays["points"][1, 2, 0] = value
    data = files.load(save(arrays), held_out=0.0)
    np.testing.assert_allclose(data.train.points[1, 2], arrays["weights"][1, :2] @ arrays["points"][1, :2])
    others = np.ones((8, 3), dtype=bool)
    others[1, 2] = False
    np.testing.assert_array_equal(data.train.points[others], arrays["points"][others])


FAULTS: list[tuple[str, Change, str]] = [
    ("no points", lambda a: a.pop("points"), "must hold an array 'points'; found targets, weights"),
    ("no targets", lambda a: a.pop("targets"), "must hold an array 'targets'"),
    ("misspelt", lambda a: a.update(wieghts=a.pop("weights")), "found 'wieghts': did you mean 'weights'"),
    ("unknown", lambda a: a.update(zzz=np.zeros(1)), "found 'zzz': known are points, weights"),
    ("points 2-d", changed("points", lambda p: p[:, 0]), "three axes .*found shape .8, 2."),
    ("no prompts", lambda a: [a.update({k: v[:0]}) for k, v in a.items()], "at least one prompt"),
    ("no tokens", changed("points", lambda p: p[:, :0]), "at least one token"),
    ("no coordinates", changed("points", lambda p: p[:, :, :0]), "at least one coordinate"),
    ("complex", changed("points", lambda p: p + 0j), "points must be real numbers; found type complex128"),
    ("strings", changed("points", lambda p: p.astype(str)), "points must be real numbers; found type <U"),
    ("booleans", changed("weights", lambda w: w > 0), "weights must be real numbers; found type bool"),
    ("dates", changed("points", lambda p: p.astype("M8[s]")), "must be real numbers"),
    ("other n", changed("weights", lambda w: w[:-1]), r"shape \(8, 3\); found \(7, 3\)"),
    ("other N", changed("weights", lambda w: w[:, :-1]), r"shape \(8, 3\); found \(8, 2\)"),
    ("NaN weight", at("weights", (2, 1), np.nan), "finite; found nan at prompt 2, token 1"),
    ("inf weight", at("weights", (2, 1), np.inf), "finite; found inf at prompt 2, token 1"),
    ("negative", at("weights", (4, 0), -0.5), "0 or more; found -0.5 at prompt 4, token 0"),
    ("zero row", at("weights", 3, 0.0), "those of prompt 3 are all 0"),
    ("overflow", at("weights", 3, 1e308), "those of prompt 3 sum to inf"),
    ("sum", changed("weights", lambda w: w * 1.00001), "prompt 0 sum to 1.00001: divide each row"),
    ("counts", changed("weights", lambda w: np.ones((8, 3), int)), "prompt 0 sum to 3"),
    ("NaN token", at("points", (0, 1, 1), np.nan), "prompt 0, token 1 are not: only tokens of weight 0"),
    (
        "pads without weights",
        lambda a: (at("points", (1, 2), np.nan)(a), a.pop("weights")),
        "prompt 1, token 2 are not: store weights that are 0",
    ),
    ("labels short", changed("targets", lambda y: y[:-1]), r"one entry a prompt, 8 in all; found shape \(7,\)"),
    ("label scalar", changed("targets", lambda y: np.array(1)), "one entry a prompt, 8 in all"),
    ("one-hot", changed("targets", lambda y: np.eye(2, dtype=int)[y]), "use argmax"),
    ("label strings", changed("targets", lambda y: y.astype(str)), "found type <U"),
    ("label booleans", changed("targets", lambda y: y > 0), "found type bool"),
    ("negative label", changed("targets", lambda y: y - 1), "0 or more; found -1"),
    ("gap", changed("targets", lambda y: 2 * y), "label 1 does not occur but 2 does"),
    ("from one", changed("targets", lambda y: y + 1), "label 0 does not occur but 1 does"),
    ("huge", changed("targets", lambda y: y.astype("u8") + np.uint64(2**63)), "small integers"),
    ("one class", changed("targets", lambda y: 0 * y), "at least two classes"),
    ("NaN target", at("targets", 5, np.nan), "targets must be finite; those of prompt 5"),
    ("3-d numbers", changed("targets", lambda y: np.zeros((8, 1, 1))), r"\(n, q\)"),
    ("no numbers", changed("targets", lambda y: np.zeros((8, 0))), r"q at least 1"),
    ("names many", lambda a: a.update(classes=np.array(["a", "b", "c"])), "2 classes of targets; found 3"),
    ("names twice", lambda a: a.update(classes=np.array(["a", "a"])), "different, non-empty"),
    ("names empty", lambda a: a.update(classes=np.array(["a", " "])), "different, non-empty"),
    ("names numbers", lambda a: a.update(classes=np.array([1, 2])), "one-dimensional array of strings"),
    (
        "names of numbers",
        lambda a: (at("targets", 0, 0.5)(a), a.update(classes=np.array(["a", "b"]))),
        "classes must come with integer targets",
    ),
    ("test points missing", lambda a: a.update(test_targets=a["targets"]), "an array 'test_points'"),
    ("test targets missing", with_test(test_targets=np.zeros(0)), "an array 'test_targets'"),
    ("test weights wrong", with_test(test_weights=np.ones((3, 3))), "test_weights must sum to 1"),
    ("test NaN", with_test(test_points=np.full((3, 3, 2), np.nan)), "test_points must be finite"),
    ("test dim", with_test(test_points=np.zeros((3, 3, 5))), "must have 2 coordinates .*found 5"),
    ("test class", with_test(test_targets=np.array([0, 1, 2])), r"0\.\.1; found 2"),
    ("test kind", with_test(test_targets=np.ones(3)), r"must be integers \(classes\) .*found floats"),
    (
        "test width",
        lambda a: (a.update(targets=np.zeros((8, 1))), with_test(test_targets=np.zeros((3, 2)))(a)),
        "must have 1 columns as targets have; found 2",
    ),
]


@pytest.mark.parametrize(
    ("fault", "message"), [(f, m) for _, f, m in FAULTS], ids=[name for name, _, _ in FAULTS]
)
def test_each_fault_has_its_sentence(fault: Change, message: str, arrays: Arrays, save: Save) -> None:
    files.load(save(arrays))
    fault(arrays)
    with pytest.raises(Refused, match=message) as refusal:
        files.load(save(arrays))
    text = str(refusal.value)
    assert "\n" not in text
    assert text.endswith((".", "?"))
