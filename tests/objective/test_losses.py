"""Losses against closed forms; the two distances are distances, with finite gradients where atoms coincide."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import energy_distance

import mckean as mk
from tests.adjoint import cases

# The same sums to rounding.
LIMIT = 1e-13
BANDWIDTH = 0.8
DISTANCES = {"energy": mk.losses.EnergyDistance(), "mmd": mk.losses.MMD(BANDWIDTH)}


def _cloud(seed, count=4, dim=2):
    rng = np.random.default_rng(seed)
    return mk.Empirical(rng.normal(size=(count, dim)), rng.uniform(0.1, 1, size=count), normalize=True)


def _scores(mu):
    readout = cases.readout()
    return np.asarray(readout.matrix) @ (np.asarray(mu.weights) @ np.asarray(mu.points)) + np.asarray(readout.bias)


def test_squared_error_is_half_the_squared_residual():
    mu, y = _cloud(0), np.asarray([1.0, -2.0, 0.5])
    found = mk.losses.SquaredError(cases.readout())(mu, jnp.asarray(y))
    assert abs(float(found) - 0.5 * np.sum((_scores(mu) - y) ** 2)) <= LIMIT


def test_squared_error_of_one_output_takes_a_scalar_target():
    loss = mk.losses.SquaredError(mk.Readout(jnp.ones((1, 2))))
    mu = _cloud(0)
    expected = 0.5 * (np.sum(np.asarray(mu.weights) @ np.asarray(mu.points)) - 0.25) ** 2
    assert abs(float(loss(mu, jnp.asarray(0.25))) - expected) <= LIMIT


def test_cross_entropy_is_the_negative_log_probability_and_survives_large_scores():
    mu = _cloud(1)
    p = np.exp(_scores(mu)) / np.exp(_scores(mu)).sum()
    loss = mk.losses.CrossEntropy(cases.readout())
    for label in range(3):
        assert abs(float(loss(mu, jnp.asarray(label))) + np.log(p[label])) <= LIMIT
    steep = mk.losses.CrossEntropy(mk.Readout(1e6 * jnp.asarray([[1.0, 0.0], [-1.0, 0.0]])))
    gradient = jax.grad(lambda x: steep(mu.with_points(x), jnp.asarray(0)))(mu.points)
    assert np.isfinite(float(steep(mu, jnp.asarray(0))))
    assert bool(jnp.all(jnp.isfinite(gradient)))


def test_a_potential_is_integrated():
    mu = _cloud(2)
    plain = mk.losses.Potential(lambda x: jnp.sum(x**2))
    aimed = mk.losses.Potential(lambda x, y: jnp.sum((x - y) ** 2), targeted=True)
    x, w, y = np.asarray(mu.points), np.asarray(mu.weights), np.asarray([0.3, -1.0])
    assert abs(float(plain(mu, None)) - w @ np.sum(x**2, axis=1)) <= LIMIT
    assert abs(float(aimed(mu, jnp.asarray(y))) - w @ np.sum((x - y) ** 2, axis=1)) <= LIMIT


def test_the_energy_distance_is_scipys_squared_in_one_dimension():
    mu, nu = _cloud(3, dim=1), _cloud(4, count=5, dim=1)
    flat = lambda m: (np.asarray(m.points)[:, 0], np.asarray(m.weights))  # noqa: E731
    (x, u), (y, v) = flat(mu), flat(nu)
    # scipy's is sqrt(2)·(∫(F − G)²)^{1/2}, and 2∫(F − G)² = 2E|X−Y| − E|X−X'| − E|Y−Y'|.
    assert abs(float(mk.losses.EnergyDistance()(mu, nu)) - energy_distance(x, y, u, v) ** 2) <= LIMIT


def test_mmd_of_two_diracs():
    a, b = (mk.Empirical(jnp.asarray([point])) for point in ([0.0, 0.0], [0.6, -0.3]))
    assert abs(float(DISTANCES["mmd"](a, b)) - 2 * (1 - np.exp(-0.45 / (2 * BANDWIDTH**2)))) <= LIMIT


@pytest.mark.parametrize("name", list(DISTANCES))
def test_a_distance_is_zero_iff_the_measures_are_equal(name):
    loss = DISTANCES[name]
    mu, nu = _cloud(5), _cloud(6)
    x, w = np.asarray(mu.points), np.asarray(mu.weights)
    # The same measure with its atoms reversed and the first one split.
    same = mk.Empirical(np.concatenate([x[::-1], x[:1]]), np.concatenate([w[:0:-1], w[:1] / 2, w[:1] / 2]))
    assert abs(float(loss(mu, same))) <= LIMIT
    assert abs(float(loss(mu, nu)) - float(loss(nu, mu))) <= LIMIT
    assert float(loss(mu, nu)) > 0.01
    assert float(loss(mu, mu.with_weights(mu.weights[::-1]))) > 1e-4


@pytest.mark.parametrize("name", list(DISTANCES))
def test_gradients_are_finite_where_atoms_coincide(name):
    mu = _cloud(7)
    doubled = mu.with_points(mu.points.at[1].set(mu.points[0]))
    gradient = jax.grad(lambda x: DISTANCES[name](doubled.with_points(x), doubled))(mu.points.at[1].set(mu.points[0]))
    assert bool(jnp.all(jnp.isfinite(gradient)))
    # A measure is nearest to itself, so that the smooth distance has no slope there, nor the other by symmetry.
    assert float(jnp.max(jnp.abs(gradient))) <= LIMIT


def test_a_bandwidth_that_is_not_positive_is_refused():
    with pytest.raises(mk.Refused, match="bandwidth"):
        mk.losses.MMD(0.0)
