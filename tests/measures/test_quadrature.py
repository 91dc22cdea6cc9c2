"""Gauss rules are exact below degree 2·nodes, and not at it."""

import math

import numpy as np
import pytest

import mckean as mk

EXACT = 1e-12  # relative: moments of size 1 to 1e3, summed in float64
NODES = 5  # exact for degree ≤ 9


@pytest.mark.parametrize("degree", range(2 * NODES))
def test_gauss_hermite_gives_the_moments_of_a_normal_law(degree):
    mean, variance = 0.7, 1.3
    mu = mk.gauss_hermite(mean, variance, NODES)
    exact = sum(
        math.comb(degree, k) * mean ** (degree - k) * variance ** (k / 2) * math.prod(range(1, k, 2)) for k in range(0, degree + 1, 2)
    )
    assert np.dot(mu.weights, mu.points[:, 0] ** degree) == pytest.approx(exact, rel=EXACT)


def test_gauss_hermite_is_not_exact_at_degree_twice_the_nodes():
    mu = mk.gauss_hermite(0.0, 1.0, NODES)
    assert abs(np.dot(mu.weights, mu.points[:, 0] ** 10) - 945) == pytest.approx(math.factorial(NODES), rel=1e-9)


def test_gauss_hermite_in_the_plane_has_the_given_mean_and_covariance():
    mean, covariance = np.asarray([1.0, -2.0]), np.asarray([[2.0, 0.6], [0.6, 0.5]])
    mu = mk.gauss_hermite(mean, covariance, 4)
    x, w = np.asarray(mu.points), np.asarray(mu.weights)
    assert mu.size == 16
    assert np.allclose(w @ x, mean, rtol=0, atol=EXACT)
    z = x - mean
    assert np.allclose(np.einsum("i,ia,ib->ab", w, z, z), covariance, rtol=0, atol=EXACT)
    # Isserlis: E z₁²z₂² = S₁₁S₂₂ + 2 S₁₂²
    assert np.sum(w * z[:, 0] ** 2 * z[:, 1] ** 2) == pytest.approx(2.0 * 0.5 + 2 * 0.36, rel=EXACT)


def test_a_degenerate_covariance_puts_all_atoms_on_its_range():
    mu = mk.gauss_hermite([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], 3)
    assert np.allclose(mu.points[:, 0], mu.points[:, 1], rtol=0, atol=EXACT)


@pytest.mark.parametrize("degree", range(2 * NODES))
def test_gauss_legendre_gives_the_moments_of_a_uniform_law(degree):
    mu = mk.gauss_legendre(-0.5, 2.0, NODES)
    exact = (2.0 ** (degree + 1) - (-0.5) ** (degree + 1)) / (2.5 * (degree + 1))
    assert np.dot(mu.weights, mu.points[:, 0] ** degree) == pytest.approx(exact, rel=EXACT)


def test_gauss_legendre_on_a_box():
    mu = mk.gauss_legendre([0.0, -1.0], [1.0, 3.0], 3)
    x, w = np.asarray(mu.points), np.asarray(mu.weights)
    assert mu.size == 9
    assert np.sum(w * x[:, 0] ** 4 * x[:, 1] ** 5) == pytest.approx((1 / 5) * (3**6 - 1) / 6 / 4, rel=EXACT)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mk.gauss_hermite([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]], 3), "symmetric"),
        (lambda: mk.gauss_hermite([0.0, 0.0], [[1.0]], 3), "symmetric"),
        (lambda: mk.gauss_hermite(0.0, -1.0, 3), "positive semi-definite"),
        (lambda: mk.gauss_hermite(0.0, 1.0, 0), "at least one node"),
        (lambda: mk.gauss_hermite(0.0, 1.0, 400), "leave the finite numbers; use at most 370"),
        (lambda: mk.gauss_legendre([0.0, 1.0], [1.0, 1.0], 3), "lower < upper"),
        (lambda: mk.gauss_legendre([0.0, 1.0], [1.0], 3), "lower < upper"),
    ],
)
def test_rules_that_make_no_sense_are_refused(call, message):
    with pytest.raises(mk.Refused, match=message):
        call()
