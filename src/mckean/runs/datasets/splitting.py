"""Which prompts are held out, and which are the first k: both balanced over the classes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mckean.errors import Refused
from mckean.runs.counting import counted

SPLIT_SEED = 0
"""Seed of every split that is not asked for otherwise; separate from the seed of training."""


def shuffled(size: int, seed: int) -> NDArray[np.int64]:
    """A permutation of 0..size-1 that depends on nothing but `size` and `seed`.

    It sorts the raw 64-bit output of PCG64: NumPy promises that the raw stream of a bit generator never
    changes, which it does not promise of `Generator.permutation`, and a held-out set must outlive an upgrade.
    """
    if seed < 0:
        raise Refused(f"The seed of the split must be 0 or more; found {seed}.")
    return np.argsort(np.random.PCG64(seed).random_raw(size), kind="stable").astype(np.int64)


def held_out_count(size: int, fraction: float) -> int:
    """⌈fraction · size⌉: a fraction above 0 holds out at least one prompt."""
    if not 0.0 <= fraction < 1.0:
        raise Refused(f"held_out must be a fraction in [0, 1); found {fraction:g}.")
    if fraction == 0.0:
        return 0
    # Rounded first, so that 0.07 · 100 = 7.000000000000001 holds out 7 prompts and not 8.
    return max(1, math.ceil(round(fraction * size, 9)))


def _allot(sizes: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """`total` held-out prompts shared out in proportion to the classes' sizes (largest remainders first).

    One prompt of each class stays in training: a class that is never trained on cannot be learned.
    """
    room = sizes - 1
    if total > room.sum():
        raise Refused(
            f"held_out must leave a prompt to train on (one of each class where there are classes); "
            f"it asks for {total} of {counted(int(sizes.sum()), 'prompt')}: lower it."
        )
    quota = total * sizes / sizes.sum()
    share = np.minimum(np.floor(quota).astype(np.int64), room)
    while share.sum() < total:
        share[np.argmax(np.where(share < room, quota - share, -np.inf))] += 1
    return share


def stratified(labels: NDArray[np.int64], fraction: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices (training, held out), each ascending; every class is held out in proportion to its size.

    ⌈fraction·n⌉ of the n prompts are held out, shared over the classes by largest remainders, which of them
    being decided by `seed` alone. Equal labels throughout give a plain random split. Raises `Refused` if no
    training prompt would be left of some class.
    """
    total = held_out_count(len(labels), fraction)
    classes, sizes = np.unique(labels, return_counts=True)
    share = _allot(sizes.astype(np.int64), total)
    order = shuffled(len(labels), seed)
    held = np.zeros(len(labels), dtype=bool)
    for label, count in zip(classes, share, strict=True):
        held[order[labels[order] == label][:count]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def first_balanced(labels: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Ascending indices of `count` prompts: the first of each class, then the second of each class, and so
    on."""
    rank = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        rank[members] = np.arange(len(members))
    return np.sort(np.lexsort((labels, rank))[:count])
