"""A kind that a user writes in a few lines goes through velocity, transport, functional gradient and training."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from tests.heads import kinds

ROUNDING = 1e-12
MIXTURE = 1e-7  # relative: a central difference of step 1e-4 along a mixture
WEIGHTS = np.asarray([0.5, 0.3, 0.2])


def attraction(seed=0):
    return kinds.MeanAttraction(kinds.normal(seed, 3))


def kernel(seed=1):
    return kinds.GaussianKernel(kinds.normal(seed, 3), jnp.asarray([0.7, 1.0, 1.5]))


def test_velocity_of_a_mean_attraction():
    mu, rho = kinds.cloud(), mk.Empirical(attraction(), WEIGHTS)
    speed = float(WEIGHTS @ rho.points.speed)
    x, mean = np.asarray(mu.points), np.asarray(mu.weights @ mu.points)
    assert np.allclose(mk.velocity(rho, mu), speed * (mean - x), rtol=0, atol=ROUNDING)


def test_velocity_of_a_kernel_that_integrates():
    mu, rho = kinds.cloud(), mk.Empirical(kernel(), WEIGHTS)
    x, w = np.asarray(mu.points), np.asarray(mu.weights)
    r2 = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    expected = 0
    for mass, speed, width in zip(WEIGHTS, np.asarray(rho.points.speed), np.asarray(rho.points.width), strict=True):
        weight = np.exp(-r2 / (2 * width**2)) * w[None]
        expected = expected + mass * speed * (weight @ x - weight.sum(axis=1)[:, None] * x)
    assert np.allclose(mk.velocity(rho, mu), expected, rtol=0, atol=ROUNDING)
    tiled = mk.velocity(rho, mu, method=mk.Exact(tile=4))
    assert np.allclose(tiled, expected, rtol=0, atol=ROUNDING)


def test_transport_of_a_mean_attraction_is_exponential():
    mu = kinds.cloud()
    rho = mk.Empirical(attraction(), WEIGHTS)
    flow = mk.transport(rho, mu, horizon=1.0, steps=200, save="last")
    mean = np.asarray(mu.weights @ mu.points)
    speed = float(WEIGHTS @ rho.points.speed)
    expected = mean + np.exp(-speed) * (np.asarray(mu.points) - mean)
    assert flow.result.ok
    assert flow.stats["effective_sample_size"] is None
    assert np.allclose(flow.final.points, expected, rtol=0, atol=1e-10)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(7)
    prompts = mk.Empirical(rng.normal(size=(2, 4, 2)), np.asarray([[0.1, 0.2, 0.3, 0.4], [0.5, 0.3, 0.2, 0.0]]))
    loss = mk.losses.SquaredError(mk.Readout(jnp.eye(2), features=jnp.sin))
    return mk.Problem(prompts, rng.normal(size=(2, 2)), loss, horizon=1.0, steps=3, scheme="heun", confinement=0.05)


def test_functional_gradient_is_the_derivative_along_mixtures_to_heads_of_the_kind(problem):
    rho = mk.Empirical(mk.Block(attraction(), kernel()), WEIGHTS)
    nu = mk.Block(attraction(3), kernel(4))
    gradient = mk.functional_gradient(problem, rho)
    both = mk.Empirical(jax.tree.map(lambda a, b: jnp.concatenate([a, b]), rho.points, nu))
    step = 1e-4

    def at(e):
        # (1 − e)ρ + e·ν; with_weights checks nothing, so that e may be negative
        return float(mk.regularised_risk(problem, both.with_weights(jnp.concatenate([(1 - e) * rho.weights, e * rho.weights]))))

    measured = (at(step) - at(-step)) / (2 * step)
    predicted = float(WEIGHTS @ gradient(nu) - WEIGHTS @ gradient(rho.points))
    assert abs(predicted) > 1e-2
    assert measured == pytest.approx(predicted, rel=MIXTURE)
    assert np.all(np.isfinite(gradient.costate))


def test_training_lowers_the_regularised_risk(problem):
    rho = mk.Empirical(mk.Block(attraction(), kernel()), WEIGHTS)
    solution = mk.solve(problem, rho, step_size=0.05, steps=6, key=jax.random.key(0))
    assert solution.result.ok
    before, after = (float(mk.regularised_risk(problem, r)) for r in (rho, solution.rho))
    assert after < before
    gradient = mk.functional_gradient(problem, rho)
    first = mk.solve(problem, rho, step_size=1e-3, steps=1, key=jax.random.key(0)).rho
    moved = jax.tree.map(lambda a, b: (np.asarray(a) - np.asarray(b)) / 1e-3, rho.points, first.points)
    for a, b in zip(jax.tree.leaves(moved), jax.tree.leaves(gradient.particles), strict=True):
        assert np.allclose(a, b, rtol=0, atol=1e-9)


def test_a_kind_that_names_its_outputs_can_be_bounded():
    bounded = mk.Bounded(attraction(), 0.2)
    assert np.allclose(bounded.bounded.speed, 0.2 * np.tanh(attraction().speed / 0.2), rtol=0, atol=ROUNDING)


def test_a_kind_without_a_map_and_one_that_gives_a_wrong_shape_are_refused():
    class Nothing(mk.Head):
        a: jax.Array

    class Scalar(mk.Head):
        a: jax.Array

        def map(self, x, mu):
            return self.a

    with pytest.raises(NotImplementedError, match="must write `map"):
        mk.velocity(mk.Empirical(Nothing(jnp.ones(2))), kinds.cloud())
    with pytest.raises(mk.Refused, match=r"must give a velocity of shape \(2,\)"):
        mk.velocity(mk.Empirical(Scalar(jnp.ones(2))), kinds.cloud())
