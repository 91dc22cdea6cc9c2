"""A data set of a user's own and a configuration that is computed in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mckean.runs.configuration import loading
from mckean.runs.configuration.config import Config

SMALL = ("data.held_out=0.25", "model.dim=3", "model.heads=8", "model.key_dim=2", "model.steps=3", "training.steps=2")


def config(tmp_path: Path, *overrides: str, size: float = 1.0, targets: Any = None) -> Config:
    """Twelve prompts of five tokens in a file, of two classes unless there are targets."""
    points = np.random.default_rng(0).normal(size=(12, 5, 2)) * size
    np.savez(tmp_path / "mine.npz", points=points, targets=np.arange(12) % 2 if targets is None else targets)
    (tmp_path / "mine.toml").write_text('[data]\nname = "mine.npz"\n')
    return loading.load(str(tmp_path / "mine.toml"), (*SMALL, *overrides))
