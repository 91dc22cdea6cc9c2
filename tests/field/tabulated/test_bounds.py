"""The numbers of the certificate against interpolation done another way, at random points."""

import numpy as np
import pytest

from mckean.field.tabulated import bounds

RNG_DRAWS = 20_000
# The bounds are maxima raised by 2 %; random draws find at least nine tenths of the maximum.
TIGHT = 0.9
ROUNDING = 1e-14


def _lagrange(p, t):
    """ℓ_k(t) by the second barycentric form (Berrut and Trefethen, 2004)."""
    angle = (2 * np.arange(p) + 1) * np.pi / (2 * p)
    terms = (-1.0) ** np.arange(p) * np.sin(angle) / (t[:, None] - np.cos(angle))
    return terms / terms.sum(axis=1, keepdims=True)


def _draw(seed, length):
    rng = np.random.default_rng(seed)
    t = np.cos(rng.uniform(0, np.pi, size=RNG_DRAWS))
    a = length * np.where(
        rng.uniform(size=RNG_DRAWS) < 0.5, rng.choice([-1, 1], size=RNG_DRAWS), rng.uniform(-1, 1, size=RNG_DRAWS)
    )
    return t, a


@pytest.mark.parametrize("p", [2, 5, 8, 13])
@pytest.mark.parametrize("length", [0.05, 0.6, 2.5])
def test_the_error_and_amplification_of_interpolated_exponentials(p, length):
    t, a = _draw(p, length)
    terms = _lagrange(p, t) * np.exp(a[:, None] * (bounds.nodes(p) - t[:, None]))
    error, growth = np.abs(1 - terms.sum(axis=1)), np.abs(terms).sum(axis=1)
    assert error.max() <= bounds.error(p, length) + ROUNDING
    assert TIGHT * bounds.error(p, length) <= error.max() + ROUNDING
    assert TIGHT * bounds.amplification(p, length) <= growth.max() <= bounds.amplification(p, length)


@pytest.mark.parametrize("p", [4, 9, 16, 24, 32])
@pytest.mark.parametrize("length", [0.1, 0.7, 2.0])
def test_the_error_of_interpolated_means_of_any_tokens(p, length):
    """g(t) = E_P[y] with P ∝ w e^{Lty}, |y| ≤ 1: steep where two far atoms balance."""
    rng = np.random.default_rng(int(100 * length) + p)
    t, z = np.cos(np.linspace(0.001, 3.14, 203)), bounds.nodes(p)
    polynomials, worst = _lagrange(p, t), 0.0
    for kind in range(300):
        y = rng.uniform(-1, 1, size=(2, 3, 40)[kind % 3])
        y[0] = rng.choice([-1.0, 1.0])
        w = 10.0 ** rng.uniform(-12 if kind % 2 else -1, 0, size=y.size)

        def g(at, y=y, w=w):
            e = w * np.exp(length * at[:, None] * y)
            return (e @ y) / e.sum(axis=1)

        worst = max(worst, np.max(np.abs(g(t) - polynomials @ g(z))))
    assert worst <= bounds.strip(p, length) + ROUNDING
    assert worst >= 1e-4 * min(bounds.strip(p, length), 1.0) - ROUNDING


def test_errors_grow_with_the_length_and_fall_with_the_nodes():
    lengths = np.geomspace(0.05, 2.5, 9)
    for measure in (bounds.error, bounds.strip, bounds.amplification):
        table = np.asarray([[measure(p, float(length)) for length in lengths] for p in (3, 5, 8)])
        assert np.all(np.diff(table, axis=1) > 0)
        if measure is not bounds.amplification:
            assert np.all(np.diff(table, axis=0) < 0)


@pytest.mark.parametrize("kind", ["error", "strip"])
def test_the_longest_length_meets_its_tolerance_and_no_longer_one_does(kind):
    measure = getattr(bounds, kind)
    for p in (3, 7, 12):
        for tolerance in (1e-2, 1e-5, 1e-9):
            length = bounds.longest(p, tolerance, kind)
            if length == 0.0:
                assert measure(p, 0.02) > tolerance
                continue
            assert measure(p, length) <= tolerance
            assert length == 2.5 or measure(p, 1.01 * length) > tolerance
