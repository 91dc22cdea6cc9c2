"""A user's own prompts, from an .npz or .safetensors file."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import numpy as np

from mckean.errors import Refused
from mckean.runs.datasets.containers import Container, open_container
from mckean.runs.datasets.dataset import Dataset, PromptSet
from mckean.runs.datasets.splitting import SPLIT_SEED, stratified
from mckean.runs.datasets.validation import check_labels, prompt_set

ARRAYS = ("points", "weights", "targets")
TEST_ARRAYS = ("test_points", "test_weights", "test_targets")


def load(path: str | os.PathLike[str], *, seed: int = SPLIT_SEED, held_out: float = 0.25) -> Dataset:
    """Prompts of a file with arrays

    - `points` (n, N, d): N tokens of d coordinates for each of n prompts;
    - `weights` (n, N), optional: non-negative, rows sum to 1 (to 1e-6; then divided by the sum), 0 pads a
      shorter prompt. Without it all N tokens weigh 1/N;
    - `targets` (n,) integers 0..C−1: classes, or (n,) or (n, q) floats: numbers to predict;
    - `test_points`, `test_weights`, `test_targets`, optional: the held-out prompts, of the same d and kind;
    - `classes`, optional: names of the C classes, an array of strings in .npz, a JSON list in the metadata of
      .safetensors.

    Without test arrays the fraction `held_out` of the prompts is held out by `seed`, classes in proportion; 0
    holds out none. With test arrays both are without effect. Coordinates of atoms of weight 0 may be
    anything; where they are not finite the atom is put at its prompt's mean.

    Raises `Refused` with one sentence for whatever is wrong.
    """
    container = open_container(Path(path))
    _check_names(container)
    train = prompt_set(container.arrays)
    classes = _classes(train, container)
    test: PromptSet | None
    if any(name in container.arrays for name in TEST_ARRAYS):
        test = prompt_set(container.arrays, "test_")
        _check_alike(train, test, classes)
    else:
        train, test = _split(train, held_out, seed)
    name = container.path.stem
    return Dataset(
        name=name,
        train=train,
        test=test,
        classes=classes,
        coordinates=tuple(f"x{i}" for i in range(1, train.dim + 1)),
        description=f"Prompts from the file {container.path.name}.",
        source=container.path.name,
        licence="not stated",
    )


def _check_names(container: Container) -> None:
    known = (*ARRAYS, *TEST_ARRAYS, "classes")
    for name in sorted(set(container.arrays) - set(known)):
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}."
        raise Refused(f"{container.path.name} must hold no arrays but the known ones; found {name!r}: {advice}")
    if "classes" in container.arrays:
        raise Refused(
            f"Class names in {container.path.name} must be in its metadata, a JSON list under `classes`; found an array."
        )


def _classes(train: PromptSet, container: Container) -> tuple[str, ...] | None:
    if train.is_classification:
        return check_labels(train.targets.astype(np.int64), container.classes)
    if container.classes is not None:
        raise Refused("classes must come with integer targets; found floats: store targets as integers 0, 1, …, C−1.")
    return None


def _check_alike(train: PromptSet, test: PromptSet, classes: tuple[str, ...] | None) -> None:
    if test.dim != train.dim:
        raise Refused(f"test_points must have {train.dim} coordinates as points have; found {test.dim}.")
    if test.is_classification != train.is_classification:
        kinds = {True: "integers (classes)", False: "floats (numbers to predict)"}
        raise Refused(
            f"test_targets must be {kinds[train.is_classification]} as targets are; found {kinds[test.is_classification]}."
        )
    if classes is not None and int(test.targets.max()) >= len(classes):
        raise Refused(
            f"test_targets must be among the {len(classes)} classes of targets, 0..{len(classes) - 1}; "
            f"found {test.targets.max()}."
        )
    if test.targets.shape[1:] != train.targets.shape[1:]:
        raise Refused(f"test_targets must have {train.targets.shape[1]} columns as targets have; found {test.targets.shape[1]}.")


def _split(everything: PromptSet, held_out: float, seed: int) -> tuple[PromptSet, PromptSet | None]:
    # Numbers to predict have no classes to balance: one label for all is a plain random split.
    size = everything.size
    labels = everything.targets.astype(np.int64) if everything.is_classification else np.zeros(size, dtype=np.int64)
    train, test = stratified(labels, held_out, seed)
    return everything.subset(train), everything.subset(test) if test.size else None
