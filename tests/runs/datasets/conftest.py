"""A small well-formed file's arrays, from which each test breaks one thing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


@pytest.fixture
def arrays() -> Arrays:
    """Eight prompts of up to three tokens in the plane, two classes; the last token of odd prompts is a
    pad."""
    rng = np.random.default_rng(0)
    weights = np.full((8, 3), 1 / 3)
    weights[1::2] = [0.25, 0.75, 0.0]
    points = rng.normal(size=(8, 3, 2))
    return {"points": points, "weights": weights, "targets": np.array([0, 1, 0, 1, 0, 1, 0, 1])}


@pytest.fixture
def save(tmp_path: Path) -> Callable[[Arrays], Path]:
    """Write arrays to an .npz file and return its path."""

    def write(content: Arrays) -> Path:
        path = tmp_path / "mine.npz"
        np.savez(path, **content)  # pyright: ignore[reportArgumentType] (the stub takes the names for allow_pickle)
        return path

    return write
