"""What a flow keeps, and what it refuses to keep."""

import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from tests.heads import kinds

OPTIONS = {"horizon": 1.0, "steps": 4, "scheme": "euler"}


@pytest.fixture(scope="module")
def rho():
    return mk.Empirical(mk.Block(kinds.softmax(), kinds.perceptron()))


@pytest.fixture(scope="module")
def mu():
    return kinds.cloud()


@pytest.fixture(scope="module")
def flow(rho, mu):
    return mk.transport(rho, mu, **OPTIONS)


def test_all(flow, mu):
    assert np.allclose(flow.times, [0, 0.25, 0.5, 0.75, 1], rtol=0, atol=1e-15)
    assert flow.points.shape == (5, 6, 2)
    assert np.array_equal(flow.points[0], mu.points)
    assert np.array_equal(flow.points[-1], flow.final.points)
    assert np.array_equal(flow.at(2).points, flow.points[2])
    assert np.array_equal(flow.at(2).weights, mu.weights)
    assert flow.saved is None
    assert (flow.stats["steps"], flow.stats["evaluations"], flow.stats["heads"]) == (4, 4, 3)


def test_last(rho, mu, flow):
    last = mk.transport(rho, mu, save="last", **OPTIONS)
    assert np.array_equal(last.times, [1.0])
    assert last.points.shape == (1, 6, 2)
    assert np.allclose(last.points[0], flow.points[-1], rtol=0, atol=1e-14)


def test_times_of_the_grid(rho, mu, flow):
    some = mk.transport(rho, mu, save=[0.25, 0.75, 1.0], **OPTIONS)
    assert np.allclose(some.times, [0.25, 0.75, 1.0], rtol=0, atol=1e-15)
    assert np.allclose(some.points, flow.points[jnp.asarray([1, 3, 4])], rtol=0, atol=1e-14)


def test_a_function_of_the_measure(rho, mu, flow):
    statistic = lambda m: {"mean": m.mean(), "square": m.integrate(lambda x: jnp.sum(x**2))}  # noqa: E731
    saved = mk.transport(rho, mu, save=statistic, **OPTIONS)
    assert saved.points is None
    for i in range(5):
        exact = statistic(flow.at(i))
        assert np.allclose(saved.saved["mean"][i], exact["mean"], rtol=0, atol=1e-14)
        assert np.allclose(saved.saved["square"][i], exact["square"], rtol=0, atol=1e-14)
    with pytest.raises(mk.Refused, match="saved a function of the state"):
        saved.at(0)


def test_prompts_come_first(rho, mu, flow):
    other = kinds.cloud(seed=3)
    batch = mk.Empirical(jnp.stack([other.points, mu.points]), jnp.stack([other.weights, mu.weights]))
    both = mk.transport(rho, batch, **OPTIONS)
    assert both.points.shape == (2, 5, 6, 2)
    assert np.allclose(both.points[1], flow.points, rtol=0, atol=1e-13)
    assert both.at(3).points.shape == (2, 6, 2)
    means = mk.transport(rho, batch, save=lambda m: m.mean(), **OPTIONS).saved
    assert means.shape == (5, 2, 2)
    assert np.allclose(means[:, 1], [flow.at(i).mean() for i in range(5)], rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"save": [0.3]}, "nearest 0.25"),
        ({"save": [0.5, 2.0]}, "found t = 2, nearest 1"),
        ({"save": "some"}, "`save` must be"),
        ({"horizon": 0.0}, "`horizon` must be a positive depth"),
        ({"horizon": float("inf")}, "`horizon` must be a positive depth"),
        ({"steps": 0}, "at least 1; found steps=0"),
        ({"scheme": "midpoint"}, "must be one of euler, heun, rk4, tsit5; found 'midpoint'"),
    ],
)
def test_misuse_is_refused(rho, mu, options, message):
    with pytest.raises(mk.Refused, match=message):
        mk.transport(rho, mu, **{**OPTIONS, **options})


def test_the_number_of_layers_must_divide_the_number_of_steps(mu):
    layered = mk.Empirical(mk.Layered(kinds.softmax(lead=(3,))))
    with pytest.raises(mk.Refused, match=r"found 3 layers and 4 steps. Use steps=6"):
        mk.transport(layered, mu, **OPTIONS)


def test_the_card_says_what_was_solved(flow):
    card = repr(flow)
    for part in ("6 tokens in R^2", "t from 0 to 1", "float64", "euler, 4 depth steps", "3 heads", "saved 5 depths", "reached its end"):
        assert part in card


def test_layers_are_solved_one_after_the_other(mu):
    heads = kinds.softmax(lead=(2,))
    layered = mk.Empirical(mk.Layered(heads), [[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    whole = mk.transport(layered, mu, **OPTIONS)
    first = mk.transport(mk.Empirical(layered.points.layer(0), layered.weights[0]), mu, horizon=0.5, steps=2, scheme="euler")
    second = mk.transport(mk.Empirical(layered.points.layer(1), layered.weights[1]), first.final, horizon=0.5, steps=2, scheme="euler")
    assert np.allclose(whole.points[:3], first.points, rtol=0, atol=1e-14)
    assert np.allclose(whole.points[2:], second.points, rtol=0, atol=1e-14)
