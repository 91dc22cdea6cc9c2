"""How a data point becomes a token of R^d.

The data's coordinates come first; then, for each coordinate named in `data.positional`, the waves sin(πjx), cos(πjx), j = 1 … `data.waves`;
then free coordinates, which start at 0 and are there for the flow to write on. Atoms of weight 0 are carried along.
"""

from __future__ import annotations

import difflib

import numpy as np
from numpy.typing import NDArray

from mckean.errors import Refused
from mckean.runs.configuration.config import Config
from mckean.runs.datasets import Dataset, PromptSet


def indices(dataset: Dataset, field: str, names: str) -> list[int]:
    """The indices of the data's coordinates that a field of `[data]` names; raises Refused for a name that is not there."""
    found = []
    for name in names.split():
        if name not in dataset.coordinates:
            near = difflib.get_close_matches(name, dataset.coordinates, n=1, cutoff=0.4)
            advice = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(dataset.coordinates)}."
            raise Refused(f"data.{field} must name coordinates of {dataset.name}; found {name!r}: {advice}")
        found.append(dataset.coordinates.index(name))
    return found


def embedded_dim(config: Config, dataset: Dataset) -> int:
    """How many of the d coordinates the data fills; raises Refused where d is too small for them."""
    filled = dataset.train.dim + 2 * config.data.waves * len(indices(dataset, "positional", config.data.positional))
    if filled > config.model.dim:
        raise Refused(
            f"model.dim must be at least the {filled} coordinates that {dataset.name} fills (data and waves); "
            f"found {config.model.dim}: set model.dim={filled} or more."
        )
    return filled


def with_copies(config: Config, dataset: Dataset) -> PromptSet:
    """The training prompts and their moved copies: measures pushed forward by x ↦ (I + εG)x + εg, G and g standard normal, ε = `data.jitter`.

    The maps are drawn with `data.split_seed`, so that runs which differ in the training seed train on the same prompts.
    """
    train, data = dataset.train, config.data
    if data.copies == 0:
        return train
    at = indices(dataset, "moved", data.moved)
    size, width = train.size, len(at)
    random = np.random.Generator(np.random.PCG64([data.split_seed, 1]))
    moved = [train.points]
    for _ in range(data.copies):
        linear = np.eye(width) + data.jitter * random.standard_normal((size, width, width))
        shift = data.jitter * random.standard_normal((size, 1, width))
        points = train.points.copy()
        points[..., at] = np.einsum("nia,nba->nib", train.points[..., at], linear) + shift
        moved.append(points)
    times = data.copies + 1
    targets = np.tile(train.targets, (times,) + (1,) * (train.targets.ndim - 1))
    return PromptSet(np.concatenate(moved), np.tile(train.weights, (times, 1)), targets)  # pyright: ignore[reportArgumentType]


def embed(config: Config, dataset: Dataset, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Data points (n, N, d0) as tokens (n, N, d)."""
    filled = embedded_dim(config, dataset)
    parts = [points]
    for index in indices(dataset, "positional", config.data.positional):
        for j in range(1, config.data.waves + 1):
            angle = np.pi * j * points[..., index : index + 1]
            parts += [np.sin(angle), np.cos(angle)]
    free = np.zeros((*points.shape[:-1], config.model.dim - filled))
    return np.concatenate([*parts, free], axis=-1)
