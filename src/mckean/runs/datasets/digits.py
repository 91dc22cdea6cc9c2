"""Handwritten digits as weighted point sets in R^3: an image is a measure, and its ink is the mass."""

from __future__ import annotations

import gzip
import zlib

import numpy as np
from numpy.typing import NDArray

from mckean.errors import Refused
from mckean.runs.datasets.dataset import Dataset, PromptSet
from mckean.runs.datasets.packaged import packaged_file
from mckean.runs.datasets.padding import pad
from mckean.runs.datasets.splitting import SPLIT_SEED, stratified

SIDE = 8
INK = 16
IMAGES = 1797
INSTALL = "pip install scikit-learn"


def image_atoms(image: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One 8 × 8 image with ink g in 0..16 as atoms (N, 3) and weights (N,); N counts the inked pixels.

    The pixel in column c and row r (row 0 at the top) is the atom

        x = (2c/7 − 1,  1 − 2r/7,  2g/16 − 1) ∈ [−1, 1]³,      w = g / Σ g,

    so that the image stands upright with y upwards. Pixels without ink are no atoms. Atoms are in reading
    order.
    """
    row, column = np.nonzero(image > 0)
    ink = image[row, column]
    step = 2.0 / (SIDE - 1)
    coordinates = [column * step - 1.0, 1.0 - row * step, 2.0 * ink / INK - 1.0]
    atoms = np.stack(coordinates, axis=1, dtype=np.float64)
    return atoms, np.divide(ink, ink.sum(), dtype=np.float64)


def _read() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    path = packaged_file("sklearn", "datasets/data/digits.csv.gz", data="digits", install=INSTALL)
    try:
        with gzip.open(path, "rt", encoding="ascii") as stream:
            table = np.loadtxt(stream, delimiter=",", ndmin=2)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise Refused(
            f"scikit-learn's digits.csv.gz must be a readable table; found {error}: reinstall it, `{INSTALL}`."
        ) from error
    if table.shape != (IMAGES, SIDE * SIDE + 1):
        raise Refused(
            f"scikit-learn's digits.csv.gz must hold {IMAGES} rows of {SIDE * SIDE + 1} numbers; "
            f"found shape {table.shape}: reinstall it, `{INSTALL}`."
        )
    return table[:, :-1].reshape(-1, SIDE, SIDE), table[:, -1].astype(np.int64)


def load(seed: int = SPLIT_SEED, held_out: float = 0.25) -> Dataset:
    """The 1,797 digits, 1,347 to train on and 450 held out at the default `held_out`.

    The file has no split of its own. `seed` is the seed of the split, fixed by default and separate from the
    seed of training; classes are held out in proportion to their size. The writers are not identified in the
    file, so the same hand can be on both sides: the held-out accuracy is that of new images, not of new
    writers.

    Raises `Refused` if scikit-learn, which carries the file, is not installed.
    """
    images, labels = _read()
    atoms, mass = zip(*(image_atoms(image) for image in images), strict=True)
    points, weights = pad(atoms, mass)
    everything = PromptSet(points, weights, labels)
    train, test = stratified(labels, held_out, seed)
    return Dataset(
        name="digits",
        train=everything.subset(train),
        test=everything.subset(test) if test.size else None,
        classes=tuple(str(digit) for digit in range(10)),
        coordinates=("x", "y", "ink"),
        description="Handwritten digits of 8 × 8 pixels; each inked pixel is an atom (x, y, ink) "
        "that weighs its share of the ink.",
        source="E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning "
        "Repository (1998), doi:10.24432/C50P49; the copy of its test part that scikit-learn carries.",
        licence="CC BY 4.0 (UCI Machine Learning Repository)",
    )
