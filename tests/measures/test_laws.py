"""Moments and supports of the laws of tokens."""

import jax
import numpy as np
import pytest

import mckean as mk

ATOMS = 4096
SIGMAS = 5  # every moment within five of its own standard errors
ROUNDING = 1e-12


def moments_agree(samples, exact):
    error = samples.std(axis=0) / np.sqrt(len(samples))
    return np.all(np.abs(samples.mean(axis=0) - exact) <= SIGMAS * error)


@pytest.mark.parametrize(
    ("law", "second"),
    [
        (lambda key: mk.laws.normal(ATOMS, dim=3, std=2.0, key=key), 4.0),
        (lambda key: mk.laws.uniform(ATOMS, dim=3, radius=2.0, key=key), 4.0 / 3),
        (lambda key: mk.laws.sphere(ATOMS, dim=3, radius=2.0, key=key), 4.0 / 3),
        (lambda key: mk.laws.ball(ATOMS, dim=3, radius=2.0, key=key), 4.0 / 5),
    ],
    ids=["normal", "uniform", "sphere", "ball"],
)
def test_mean_zero_and_the_second_moments_of_the_law(law, second):
    mu = law(jax.random.key(0))
    x = np.asarray(mu.points)
    assert x.shape == (ATOMS, 3)
    assert np.array_equal(mu.weights, np.full(ATOMS, 1 / ATOMS))
    assert moments_agree(x, np.zeros(3))
    assert moments_agree(x**2, np.full(3, second))
    assert moments_agree(x[:, 0] * x[:, 1], 0.0)
    assert not moments_agree(x**2, np.full(3, 1.2 * second))


def test_supports():
    key = jax.random.key(1)
    assert np.abs(mk.laws.uniform(ATOMS, dim=2, radius=0.5, key=key).points).max() <= 0.5
    assert np.allclose(np.linalg.norm(mk.laws.sphere(ATOMS, radius=3.0, key=key).points, axis=1), 3.0, rtol=0, atol=ROUNDING)
    assert np.linalg.norm(mk.laws.ball(ATOMS, radius=3.0, key=key).points, axis=1).max() <= 3.0 + ROUNDING


def test_two_moons_are_two_half_circles_centred():
    x = np.asarray(mk.laws.two_moons(ATOMS, noise=0.0, key=jax.random.key(2)).points)
    half, centre = ATOMS // 2, np.asarray([0.5, 0.25])
    upper, lower = x[:half] + centre, centre - x[half:]
    for moon in (upper, lower):
        assert np.allclose(np.linalg.norm(moon, axis=1), 1.0, rtol=0, atol=ROUNDING)
        assert moon[:, 1].min() >= 0
    blurred = mk.laws.two_moons(ATOMS, noise=0.05, key=jax.random.key(2)).points
    assert moments_agree((np.asarray(blurred) - x) ** 2, np.full(2, 0.05**2))


def test_the_same_key_gives_the_same_atoms():
    a, b, c = (mk.laws.normal(8, key=jax.random.key(seed)).points for seed in (3, 3, 4))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
