"""Data sets: prompts as weighted point sets with one target each.

A prompt is a probability measure μ₀ = Σ_i w_i δ_{x_i} on R^{d0}; a data set is a batch of prompts, ragged
ones padded by atoms of weight 0 (mathematics.md section 1), with a class or a vector of numbers to predict
for each.

- `dataset`: `PromptSet` and `Dataset`, what every loader returns.
- `digits`, `vowels`: the two packaged data sets, read from the files that scikit-learn and aeon install.
- `files`: a user's own .npz or .safetensors file; `containers` opens it, `validation` checks what was in it.
- `padding`, `splitting`, `packaged`, `timeseries`: the helpers of these.

NumPy only: nothing here imports JAX, so that a command can refuse bad data before it pays for JAX.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from mckean.errors import Refused
from mckean.runs.datasets import digits, files, vowels
from mckean.runs.datasets.dataset import Dataset, PromptSet
from mckean.runs.datasets.padding import pad
from mckean.runs.datasets.splitting import SPLIT_SEED

__all__ = ["SPLIT_SEED", "Dataset", "PromptSet", "load", "names", "pad"]


def names() -> tuple[str, ...]:
    """Names of the packaged data sets."""
    return ("digits", "vowels")


def load(name_or_path: str | os.PathLike[str], *, seed: int = SPLIT_SEED, held_out: float = 0.25) -> Dataset:
    """A packaged data set by its name, or a user's own file by its path.

    `seed` is the seed of the split and nothing else: it is `data.split_seed` of a configuration, not its
    training seed, so that runs which differ in the training seed are scored on the same held-out prompts.
    `held_out` is the fraction of prompts that is held out. Both matter only where a data set has no split of
    its own: `vowels` and files with `test_...` arrays bring one.

    Raises `Refused` for an unknown name, a package that is not installed, or a malformed file.
    """
    text = os.fspath(name_or_path)
    if text == "digits":
        return digits.load(seed=seed, held_out=held_out)
    if text == "vowels":
        return vowels.load()
    path = Path(text).expanduser()
    # A file in a folder that is missing altogether is still meant as a path: its own message is the better
    # one.
    if path.suffix or len(path.parts) > 1 or path.exists():
        return files.load(path, seed=seed, held_out=held_out)
    near = difflib.get_close_matches(text, names(), n=1, cutoff=0.5)
    advice = f"did you mean {near[0]!r}?" if near else f"the packaged ones are {', '.join(names())}."
    raise Refused(f"A data set must be a packaged name or the path of an .npz or .safetensors file; found {text!r}: {advice}")
