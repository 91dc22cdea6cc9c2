"""Single steps of each dynamics, and what they refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import mckean as mk
from mckean.training import Dynamics
from tests.adjoint import cases

LIMIT = 1e-15
THETA = {"a": jnp.asarray([1.0, -2.0]), "b": jnp.asarray([[0.5]])}
DRIFT = {"a": jnp.asarray([0.3, 0.1]), "b": jnp.asarray([[-1.0]])}


def _update(dynamics, h=0.1, beta=0.0, memory=None):
    memory = dynamics.init(THETA) if memory is None else memory
    return dynamics.update(THETA, memory, DRIFT, jnp.asarray(h), jnp.asarray(beta), jax.random.key(0))


def test_langevin_without_noise_is_a_gradient_step():
    moved, _ = _update(mk.Langevin())
    assert cases.distance(moved, {"a": np.asarray([0.97, -2.01]), "b": np.asarray([[0.6]])}) <= LIMIT


def test_inertial_without_noise_is_momentum():
    keep = np.exp(-2.0 * 0.1)
    moved, velocity = _update(mk.Inertial(2.0), memory={"a": jnp.asarray([1.0, 0.0]), "b": jnp.asarray([[0.0]])})
    assert cases.distance(velocity, {"a": keep * np.asarray([0.97, -0.01]), "b": keep * np.asarray([[0.1]])}) <= LIMIT
    assert cases.distance(moved["a"], np.asarray([1.0, -2.0]) + 0.1 * keep * np.asarray([0.97, -0.01])) <= LIMIT


def test_noise_differs_between_leaves_and_follows_the_key():
    theta = {"a": jnp.zeros((3,)), "b": jnp.zeros((3,))}
    step = lambda key: mk.Langevin().update(theta, (), theta, jnp.asarray(0.1), jnp.asarray(1.0), key)[0]  # noqa: E731
    first, again, other = (step(jax.random.key(seed)) for seed in (0, 0, 1))
    assert np.array_equal(first["a"], again["a"])
    assert not np.allclose(first["a"], first["b"])
    assert not np.allclose(first["a"], other["a"])


def test_an_optimiser_gets_the_drift_and_its_updates_are_multiplied_by_the_step():
    moved, _ = _update(mk.Optax(optax.sgd(1.0)))
    assert cases.distance(moved, _update(mk.Langevin())[0]) <= LIMIT


def test_adam_moves_all_numbers_at_one_speed_whatever_the_drift():
    # optax's Adam multiplies an integer count with floats, which strict promotion forbids.
    with jax.numpy_dtype_promotion("standard"):
        moved, _ = _update(mk.Optax(optax.adam(1.0)))
    assert np.allclose(np.asarray(moved["a"]) - np.asarray(THETA["a"]), -0.1, rtol=1e-6)


def test_an_optimiser_at_a_temperature_is_refused():
    problem, rho = cases.problem("euler", temperature=0.1), cases.measure("softmax")
    with pytest.raises(mk.Refused, match="temperature must be 0"):
        mk.solve(problem, rho, step_size=0.1, steps=1, key=jax.random.key(0), dynamics=mk.Optax(optax.sgd(1.0)))


def test_an_abstract_dynamics_does_nothing():
    with pytest.raises(NotImplementedError):
        Dynamics().init(THETA)


def test_schedules_start_at_one_and_end_at_their_final_factor():
    u = jnp.linspace(0.0, 1.0, 5)
    assert np.array_equal(mk.schedules.constant()(u), np.ones(5))
    assert np.allclose(mk.schedules.linear(0.2)(u), [1, 0.8, 0.6, 0.4, 0.2], rtol=LIMIT)
    assert np.allclose(mk.schedules.exponential(1e-4)(u), [1, 1e-1, 1e-2, 1e-3, 1e-4], rtol=1e-13)
    assert np.allclose(mk.schedules.cosine(0.5)(u[::2]), [1, 0.75, 0.5], rtol=LIMIT)


@pytest.mark.parametrize(("name", "final"), [("linear", -0.1), ("exponential", 0.0), ("cosine", -1.0)])
def test_bad_schedules_are_refused(name, final):
    with pytest.raises(mk.Refused, match="final factor"):
        getattr(mk.schedules, name)(final)


def test_schedules_with_the_same_number_are_equal():
    """They are static arguments of the compiled step: another object would compile it again."""
    for make in (mk.schedules.linear, mk.schedules.exponential, mk.schedules.cosine):
        assert make(0.5) == make(0.5)
        assert hash(make(0.5)) == hash(make(0.5))
        assert make(0.5) != make(0.25)
    assert mk.schedules.linear(0.5) != mk.schedules.cosine(0.5)
    with pytest.raises(mk.Refused, match="finite"):
        mk.schedules.linear(np.nan)
