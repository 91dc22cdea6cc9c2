"""The vowels as measures: frames, time, standardisation by the training part, and the official split."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from mckean.errors import Refused
from mckean.runs import datasets
from mckean.runs.datasets import vowels


def test_a_frame_becomes_an_atom() -> None:
    series = np.array([[1.0, 10.0], [3.0, 30.0], [5.0, 20.0]])
    atoms = vowels.frame_atoms(series, np.array([1.0, 20.0]), np.array([2.0, 10.0]))
    assert atoms.tolist() == [[0.0, -1.0, -1.0], [1.0, 1.0, 0.0], [2.0, 0.0, 1.0]]
    assert vowels.frame_atoms(series[:1], np.zeros(2), np.ones(2))[0, -1] == 0.0


def test_shapes_split_and_standardisation() -> None:
    data = vowels.load()
    assert data.test is not None
    assert (data.train.size, data.test.size, data.train.dim) == (270, 370, 13)
    assert data.classes == tuple("123456789")
    assert np.bincount(data.train.targets).tolist() == [30] * 9
    assert np.bincount(data.test.targets).tolist() == [31, 35, 88, 44, 29, 24, 40, 50, 29]
    assert (data.train.tokens.min(), data.train.tokens.max()) == (7, 26)
    assert (data.test.tokens.min(), data.test.tokens.max()) == (7, 29)
    frames = data.train.points[data.train.weights > 0][:, :12]
    np.testing.assert_allclose(frames.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(frames.std(axis=0), 1.0, atol=1e-12)
    held_out = data.test.points[data.test.weights > 0][:, :12]
    assert np.abs(held_out.mean(axis=0)).max() > 0.05  # not standardised by itself


def test_weights_and_time() -> None:
    train = vowels.load().train
    for i in (0, 100, 269):
        n = int(train.tokens[i])
        np.testing.assert_array_equal(train.weights[i, :n], 1 / n)
        np.testing.assert_allclose(train.points[i, :n, -1], 2 * np.arange(n) / (n - 1) - 1, atol=1e-14)
        np.testing.assert_allclose(train.points[i, n:, -1], 0.0, atol=1e-14)


def test_the_split_is_the_publishers() -> None:
    assert datasets.load("vowels", seed=7, held_out=0.5).content_hash() == vowels.load().content_hash()


def test_no_aeon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Refused, match=r"pip install --no-deps aeon==1\.6\.0"):
        vowels.load()


def test_neither_jax_nor_the_carriers_are_imported() -> None:
    code = (
        "import sys; from mckean.runs import datasets; [datasets.load(n) for n in datasets.names()];"
        "sys.exit(sorted({'jax', 'sklearn', 'aeon', 'safetensors'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
