"""Spoken vowels as point sets in R^13: an utterance is a measure over its frames, time a coordinate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mckean.errors import Refused
from mckean.runs.datasets.dataset import Dataset, PromptSet
from mckean.runs.datasets.packaged import packaged_file
from mckean.runs.datasets.padding import pad
from mckean.runs.datasets.timeseries import LabelledSeries, read_ts

CHANNELS = 12
TRAIN = 270
TEST = 370
INSTALL = "pip install --no-deps aeon==1.6.0"


def frame_atoms(series: NDArray[np.float64], mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[np.float64]:
    """One utterance, `series` (n, 12), as atoms (n, 13): frame i is ((c_i − mean)/std, 2i/(n − 1) − 1).

    A measure forgets the order of its atoms, so time must be a coordinate: −1 at the first frame, 1 at the
    last, 0 for the only frame of an utterance of one. `mean` and `std` (12,) are those of the training
    frames.
    """
    n = len(series)
    time = np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1)
    return np.concatenate([(series - mean) / std, time[:, None]], axis=1)


def _read(part: str, expected: int) -> LabelledSeries:
    relative = f"datasets/data/JapaneseVowels/JapaneseVowels_{part}.ts"
    found = read_ts(packaged_file("aeon", relative, data="vowels", install=INSTALL))
    if len(found.cases) != expected or found.cases[0].shape[1] != CHANNELS:
        raise Refused(
            f"aeon's JapaneseVowels_{part}.ts must hold {expected} utterances of {CHANNELS} channels; found "
            f"{len(found.cases)} of {found.cases[0].shape[1]}: run `{INSTALL}`."
        )
    return found


def _prompts(series: LabelledSeries, mean: NDArray[np.float64], std: NDArray[np.float64]) -> PromptSet:
    points, weights = pad([frame_atoms(case, mean, std) for case in series.cases])
    return PromptSet(points, weights, series.labels)


def load() -> Dataset:
    """Nine speakers saying the vowels /ae/: 270 utterances to train on, 370 of the official test part.

    The split is the publishers' own, so there is neither a seed nor a fraction. Channels are standardised by
    the mean and the standard deviation of all training frames, the held-out ones too. Weights are uniform,
    1/n each.

    Raises `Refused` if aeon, which carries the files, is not installed.
    """
    train, test = _read("TRAIN", TRAIN), _read("TEST", TEST)
    frames = np.concatenate(train.cases)
    mean, std = frames.mean(axis=0), frames.std(axis=0)
    return Dataset(
        name="vowels",
        train=_prompts(train, mean, std),
        test=_prompts(test, mean, std),
        classes=train.classes,
        coordinates=(*(f"c{i}" for i in range(1, CHANNELS + 1)), "time"),
        description="Nine men saying the Japanese vowels /ae/ in one go; each frame is an atom of 12 "
        "cepstrum coefficients and its time; who spoke?",
        source="M. Kudo, J. Toyama and M. Shimbo, Japanese Vowels, UCI Machine Learning Repository "
        "(1999), doi:10.24432/C5NS47; the copy that aeon 1.6.0 carries.",
        licence="CC BY 4.0 (UCI Machine Learning Repository)",
    )
