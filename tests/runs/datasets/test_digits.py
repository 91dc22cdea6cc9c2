"""The digits as measures: the map from a pixel to an atom, and the split."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from mckean.errors import Refused
from mckean.runs import datasets
from mckean.runs.datasets import digits
from mckean.runs.datasets.packaged import packaged_file


def test_a_pixel_becomes_an_atom() -> None:
    image = np.zeros((8, 8))
    image[0, 7] = 16  # upper right corner, full ink
    image[7, 0] = 4  # lower left corner, a quarter of it
    atoms, weights = digits.image_atoms(image)
    assert atoms.tolist() == [[1.0, 1.0, 1.0], [-1.0, -1.0, -0.5]]
    assert weights.tolist() == [0.8, 0.2]


def test_shapes_split_and_ranges() -> None:
    data = digits.load()
    assert data.test is not None
    assert (data.train.size, data.test.size) == (1347, 450)
    assert (data.train.tokens_max, data.train.dim) == (42, 3)
    assert data.coordinates == ("x", "y", "ink")
    assert data.classes == tuple("0123456789")
    lengths = np.concatenate([data.train.tokens, data.test.tokens])
    assert (lengths.min(), lengths.max()) == (16, 42)
    assert np.abs(data.train.points).max() == 1.0
    both = np.bincount(data.train.targets) + np.bincount(data.test.targets)
    np.testing.assert_array_equal(both, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180])
    assert (np.abs(np.bincount(data.test.targets) - both * 450 / 1797) < 1).all()


def test_images_can_be_read_back() -> None:
    data = digits.load(held_out=0.0)
    assert data.test is None
    images, labels = digits._read()
    np.testing.assert_array_equal(data.train.targets, labels)
    for i in (0, 1, 1796):
        kept = data.train.weights[i] > 0
        x, y, ink = data.train.points[i, kept].T
        picture = np.zeros((8, 8))
        picture[np.rint((1 - y) * 3.5).astype(int), np.rint((x + 1) * 3.5).astype(int)] = (ink + 1) * 8
        np.testing.assert_allclose(picture, images[i], atol=1e-12)
        np.testing.assert_allclose(data.train.weights[i, kept], (ink + 1) * 8 / images[i].sum())


def test_pads_stand_at_the_mean() -> None:
    train = digits.load().train
    means = np.einsum("nj,njd->nd", train.weights, train.points)
    pads = train.weights == 0
    assert pads.any()
    np.testing.assert_allclose(train.points[pads], np.repeat(means, pads.sum(axis=1), axis=0), atol=1e-14)


def test_split_depends_on_its_seed_alone() -> None:
    assert digits.load().content_hash() == datasets.load("digits").content_hash()
    assert digits.load(seed=1).content_hash() != digits.load().content_hash()
    assert digits.load().content_hash() == HASH


HASH = "9632f19fc5e51b4daceac0bed2c83122fd3e9cbf2a20553cf40670da7111954c"
"""Of the data and the default split: a change of either makes results incomparable, and must be
deliberate."""


def test_a_package_without_the_file() -> None:
    with pytest.raises(Refused, match="the installed version does not carry it: run `pip install"):
        packaged_file("sklearn", "datasets/data/none.csv", data="digits", install=digits.INSTALL)


def test_no_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Refused, match="pip install scikit-learn"):
        digits.load()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not gzip", "readable table"),
        (gzip.compress(b"1,2\n3,4\n"), r"found shape \(2, 2\)"),
        (gzip.compress(b"1,a\n"), "readable table"),
        (gzip.compress(b"1,2\n" * 99)[:20], "readable table"),
    ],
    ids=["plain", "shape", "letters", "truncated"],
)
def test_damaged_files_are_refused(
    content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "digits.csv.gz"
    path.write_bytes(content)
    monkeypatch.setattr(digits, "packaged_file", lambda *args, **kwargs: path)
    with pytest.raises(Refused, match=message):
        digits.load()
