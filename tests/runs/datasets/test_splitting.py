"""Splits partition, are proportional, and do not change from one machine or version to the next."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mckean.errors import Refused
from mckean.runs.datasets.splitting import first_balanced, held_out_count, shuffled, stratified


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=60),
    st.floats(0.0, 0.9, allow_subnormal=False),
    st.integers(0, 10),
)
def test_split_is_a_proportional_partition(labels: list[int], fraction: float, seed: int) -> None:
    y = np.array(labels)
    total = held_out_count(len(y), fraction)
    assume(total <= len(y) - len(np.unique(y)))
    train, held = stratified(y, fraction, seed)
    assert sorted([*train, *held]) == list(range(len(y)))
    assert len(held) == total
    for label in np.unique(y):
        size = int((y == label).sum())
        quota = total * size / len(y)
        count = int((y[held] == label).sum())
        assert count < size
        # A class of one prompt cannot give any, and what it owes falls on the others.
        assert count >= min(np.floor(quota), size - 1)
        if (np.bincount(y)[np.unique(y)] > 1).all() and fraction <= 0.5:
            assert abs(count - quota) < 1.0


def test_permutation_is_fixed_for_ever() -> None:
    assert shuffled(10, 0).tolist() == FIXED
    assert shuffled(10, 1).tolist() != FIXED
    assert sorted(shuffled(1000, 3).tolist()) == list(range(1000))


FIXED = [3, 2, 1, 8, 6, 0, 7, 4, 5, 9]
"""The order of PCG64(0)'s first ten outputs."""


@pytest.mark.parametrize(
    ("size", "fraction", "count"),
    [(1797, 0.25, 450), (100, 0.07, 7), (10, 0.0, 0), (10, 1e-12, 1), (3, 0.34, 2)],
)
def test_number_held_out(size: int, fraction: float, count: int) -> None:
    assert held_out_count(size, fraction) == count


@pytest.mark.parametrize("fraction", [-0.1, 1.0, float("nan")])
def test_fractions_outside_the_interval_are_refused(fraction: float) -> None:
    with pytest.raises(Refused, match=r"fraction in \[0, 1\)"):
        held_out_count(10, fraction)


def test_a_class_is_never_emptied() -> None:
    train, held = stratified(np.array([0, 0, 0, 0, 1]), 0.5, 0)
    assert train[-1] == 4
    assert len(held) == 3
    with pytest.raises(Refused, match="lower it"):
        stratified(np.array([0, 0, 1, 1]), 0.75, 0)


def test_negative_seeds_are_refused() -> None:
    with pytest.raises(Refused, match="seed of the split"):
        stratified(np.array([0, 0, 1, 1]), 0.25, -1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.data())
def test_first_balanced(labels: list[int], data: st.DataObject) -> None:
    y = np.array(labels)
    count = data.draw(st.integers(1, len(y)))
    chosen = first_balanced(y, count)
    assert len(chosen) == count
    assert (np.diff(chosen) > 0).all()
    sizes = np.bincount(y, minlength=4)
    taken = np.bincount(y[chosen], minlength=4)
    # A class may lag behind the largest count by more than one only if all of it is taken.
    assert ((taken >= taken.max() - 1) | (taken == sizes)).all()
    for label in range(4):
        members = np.flatnonzero(y == label)
        assert chosen[y[chosen] == label].tolist() == members[: taken[label]].tolist()
