"""What a loader returns: prompts with their targets, split into training and held-out ones."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mckean.errors import Refused
from mckean.runs.datasets.splitting import first_balanced

WEIGHT_TOLERANCE = 1e-9
"""How far a row of weights may be from 1: rounding of a sum, no more (loaders normalise before)."""


def _frozen(array: NDArray[np.generic], dtype: type[np.generic]) -> NDArray[np.generic]:
    copy = np.array(array, dtype=dtype, order="C")
    copy.setflags(write=False)
    return copy


@dataclass(frozen=True, eq=False)
class PromptSet:
    """A batch of n prompts, prompt i being the measure Σ_j weights[i, j] δ_{points[i, j]}.

    - `points` (n, N, d0), float64, finite; N is the largest number of tokens of a prompt.
    - `weights` (n, N), float64, non-negative, each row sums to 1; an atom of weight 0 is padding.
    - `targets` (n,) int64 class indices, or (n, q) float64 numbers to regress on.

    The arrays are copied and read-only. Raises `Refused` if a shape, a sum or a value is not as said here.
    """

    points: NDArray[np.float64]
    weights: NDArray[np.float64]
    targets: NDArray[np.int64] | NDArray[np.float64]

    def __post_init__(self) -> None:
        points = np.asarray(self.points)
        weights = np.asarray(self.weights)
        targets = np.asarray(self.targets)
        if points.ndim != 3 or 0 in points.shape:
            raise Refused(f"points must have three non-empty axes (prompt, token, coordinate); found shape {points.shape}.")
        if weights.shape != points.shape[:2]:
            raise Refused(f"weights must have one entry an atom, shape {points.shape[:2]}; found shape {weights.shape}.")
        if not np.isfinite(points).all():
            raise Refused("points must be finite, padding included; place pads with mckean.runs.datasets.pad.")
        if not (weights >= 0).all():  # written so that NaN fails too
            raise Refused("weights must be non-negative numbers; found a negative one or a NaN.")
        sums = weights.sum(axis=1)
        if not (np.abs(sums - 1.0) <= WEIGHT_TOLERANCE).all():
            worst = int(np.argmax(np.abs(sums - 1.0)))
            raise Refused(f"Each prompt's weights must sum to 1; those of prompt {worst} sum to {sums[worst]:.9g}: divide by it.")
        is_classes = np.issubdtype(targets.dtype, np.integer)
        if not is_classes and not np.issubdtype(targets.dtype, np.floating):
            raise Refused(f"targets must be integers (classes) or floats; found {targets.dtype}.")
        if targets.shape[:1] != points.shape[:1] or targets.ndim != (1 if is_classes else 2):
            want = f"({len(points)},)" if is_classes else f"({len(points)}, q)"
            raise Refused(f"targets of type {targets.dtype} must have shape {want}; found {targets.shape}.")
        if not is_classes and (targets.shape[1] == 0 or not np.isfinite(targets).all()):
            raise Refused("Numbers to regress on must be finite, at least one a prompt; found none, an inf or a NaN.")
        if is_classes and (targets < 0).any():
            raise Refused(f"Class indices must be 0 or more; found {targets.min()}.")
        object.__setattr__(self, "points", _frozen(points, np.float64))
        object.__setattr__(self, "weights", _frozen(weights, np.float64))
        object.__setattr__(self, "targets", _frozen(targets, np.int64 if is_classes else np.float64))

    @property
    def size(self) -> int:
        """n, the number of prompts."""
        return self.points.shape[0]

    @property
    def tokens_max(self) -> int:
        """N, the length of the token axis, padding included."""
        return self.points.shape[1]

    @property
    def dim(self) -> int:
        """d0, the number of data coordinates of a token."""
        return self.points.shape[2]

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Number of atoms of positive weight of each prompt, (n,)."""
        return np.count_nonzero(self.weights, axis=1).astype(np.int64)

    @property
    def is_classification(self) -> bool:
        """Whether the targets are classes, not numbers."""
        return self.targets.ndim == 1

    def subset(self, indices: NDArray[np.int64]) -> PromptSet:
        """The prompts with these indices, in this order."""
        return PromptSet(self.points[indices], self.weights[indices], self.targets[indices])

    def _take(self, count: int, which: str) -> PromptSet:
        if count < 1:
            raise Refused(f"At least 1 {which} prompt must be taken; found {count}.")
        if count >= self.size:
            return self
        labels = self.targets if self.is_classification else np.zeros(self.size, dtype=np.int64)
        return self.subset(first_balanced(labels.astype(np.int64), count))


@dataclass(frozen=True, eq=False)
class Dataset:
    """Prompts to train on, prompts held out (None: none), and what they are.

    `classes` names the class indices and is None for regression; `coordinates` names the d0 data coordinates.
    Raises `Refused` if the two halves differ in dimension or kind of target, or if names and arrays do not
    match.
    """

    name: str
    train: PromptSet
    test: PromptSet | None
    classes: tuple[str, ...] | None
    coordinates: tuple[str, ...]
    description: str
    source: str
    licence: str

    def __post_init__(self) -> None:
        if len(self.coordinates) != self.train.dim:
            raise Refused(f"{self.train.dim} coordinates need as many names; found {len(self.coordinates)}.")
        if self.train.is_classification != (self.classes is not None):
            raise Refused("Class names must be given if the targets are classes, and only then.")
        if self.classes is not None and len(set(self.classes)) != len(self.classes):
            raise Refused("Class names must differ from one another; found one twice.")
        for half in (self.train, self.test):
            if half is None:
                continue
            if half.dim != self.train.dim:
                raise Refused(
                    f"Held-out tokens must have the {self.train.dim} coordinates of the training tokens; found {half.dim}."
                )
            if half.targets.shape[1:] != self.train.targets.shape[1:]:
                raise Refused("Held-out targets must be of the kind and width of the training targets; found others.")
            if self.classes is not None and int(half.targets.max()) >= len(self.classes):
                raise Refused(
                    f"Class indices must be below the number of classes, {len(self.classes)}; found {half.targets.max()}."
                )

    def take(self, train: int | None = None, test: int | None = None) -> Dataset:
        """At most `train` training and `test` held-out prompts: the first ones, balanced over the classes.

        None takes all. The counts of two classes differ by at most one unless a class has run out; a larger
        number takes a superset of a smaller one's prompts. For regression they are the first ones of the
        file.
        """
        return replace(
            self,
            train=self.train if train is None else self.train._take(train, "training"),
            test=self.test if self.test is None or test is None else self.test._take(test, "held-out"),
        )

    def content_hash(self) -> str:
        """SHA-256 (hex) of everything a run can depend on: the arrays with their shapes, and the names.

        Two data sets of one hash give one run; the free texts (description, source, licence) do not count.
        The bytes are hashed little-endian, so that the hash does not depend on the machine.
        """
        digest = hashlib.sha256()
        digest.update(repr((self.classes, self.coordinates, self.test is not None)).encode())
        for half in (self.train, self.test):
            if half is None:
                continue
            for array in (half.points, half.weights, half.targets):
                little = array.astype(array.dtype.newbyteorder("<"), copy=False)
                digest.update(repr((little.shape, little.dtype.str)).encode())
                digest.update(little.tobytes())
        return digest.hexdigest()
