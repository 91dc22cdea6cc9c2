"""What the library's kinds compute, against formulas written in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from tests.heads import kinds

ROUNDING = 1e-13


@pytest.fixture(scope="module")
def mu():
    return kinds.cloud()


def attention(head, mu, x):
    """φ(x, μ) of one softmax head at one token, by its definition."""
    total, mass = np.zeros(x.shape), 0.0
    for y, w in zip(np.asarray(mu.points), np.asarray(mu.weights), strict=True):
        e = w * np.exp(head.scale * (np.asarray(head.query) @ x) @ (np.asarray(head.key) @ y))
        total, mass = total + e * y, mass + e
    return np.asarray(head.value) @ total / mass


def test_softmax(mu):
    head = kinds.one(kinds.softmax(scale=0.6), 1)
    expected = [attention(head, mu, x) for x in np.asarray(mu.points)]
    assert np.allclose(head.apply(mu.points, mu), expected, rtol=0, atol=ROUNDING)
    assert np.allclose(head.map(mu.points[2], mu), expected[2], rtol=0, atol=ROUNDING)


def test_the_bilinear_form_is_the_logit():
    batch = kinds.softmax(scale=0.6, key_dim=3)
    x, y = np.asarray([0.3, -1.0]), np.asarray([0.7, 2.0])
    for h in range(3):
        q, k = kinds.one(batch, h).logit_factors(jnp.asarray(x)[None], jnp.asarray(y)[None])
        assert float(q[0] @ k[0]) == pytest.approx(float(x @ batch.bilinear[h] @ y), abs=ROUNDING)


@pytest.mark.parametrize(("activation", "same"), [(jnp.tanh, np.tanh), (jax.nn.relu, lambda s: np.maximum(s, 0.0))])
def test_hidden_units_do_not_look_at_the_measure(mu, activation, same):
    raw = kinds.perceptron()
    head = kinds.one(mk.Perceptron(raw.weight, raw.bias, raw.output, activation))
    x = np.asarray(mu.points)
    expected = same(x @ np.asarray(head.weight) + float(head.bias))[:, None] * np.asarray(head.output)[None]
    assert np.allclose(head.apply(mu.points, mu), expected, rtol=0, atol=ROUNDING)
    assert np.allclose(head.map(mu.points[0], kinds.cloud(3)), expected[0], rtol=0, atol=ROUNDING)


def test_a_block_is_the_sum_of_its_parts(mu):
    attend, unit = kinds.one(kinds.softmax()), kinds.one(kinds.perceptron())
    block = kinds.one(mk.Block(kinds.softmax(), kinds.perceptron()))
    p = jnp.asarray(np.random.default_rng(3).normal(size=(6, 2)))
    for method in (lambda h: h.apply(mu.points, mu), lambda h: h.map(mu.points[1], mu), lambda h: h.costate(mu, p)):
        assert np.allclose(method(block), method(attend) + method(unit), rtol=0, atol=ROUNDING)


def test_a_bound_squashes_outputs_and_nothing_else_unless_asked(mu):
    batch = mk.Block(kinds.softmax(), kinds.perceptron())
    c, inner = 0.5, 0.3
    outer = mk.Bounded(batch, c)
    both = mk.Bounded(batch, c, inner)
    assert np.allclose(outer.bounded.attention.value, c * np.tanh(batch.attention.value / c), rtol=0, atol=ROUNDING)
    assert np.allclose(outer.bounded.perceptron.output, c * np.tanh(batch.perceptron.output / c), rtol=0, atol=ROUNDING)
    assert np.array_equal(outer.bounded.attention.query, batch.attention.query)
    assert np.array_equal(outer.bounded.perceptron.bias, batch.perceptron.bias)
    for part, names in (("attention", ("query", "key")), ("perceptron", ("weight", "bias"))):
        for name in names:
            raw = np.asarray(getattr(getattr(batch, part), name))
            assert np.allclose(getattr(getattr(both.bounded, part), name), inner * np.tanh(raw / inner), rtol=0, atol=ROUNDING)
    head = kinds.one(both)
    assert np.allclose(head.apply(mu.points, mu), head.bounded.apply(mu.points, mu), rtol=0, atol=0)


@pytest.mark.parametrize("key_dim", [1, 3])
def test_a_bounded_block_is_the_block_of_bounded_parts(mu, key_dim):
    """Also where the key dimension is not that of the tokens: inside `map` a head has no axis H left to compare."""
    attend, unit = kinds.softmax(3, 2, key_dim), kinds.perceptron(3)
    whole = mk.Empirical(mk.Bounded(mk.Block(attend, unit), 0.5, 2.0))
    parts = mk.Empirical(mk.Block(mk.Bounded(attend, 0.5, 2.0), mk.Bounded(unit, 0.5, 2.0)))
    assert np.allclose(mk.velocity(whole, mu), mk.velocity(parts, mu), rtol=0, atol=ROUNDING)
    loss = mk.losses.SquaredError(mk.Readout(jnp.ones((1, 2))))
    problem = mk.Problem(mu, jnp.zeros(1), loss, horizon=1.0, steps=2, scheme="heun", confinement=0.1)
    slopes = [mk.functional_gradient(problem, rho) for rho in (whole, parts)]
    assert np.allclose(slopes[0](whole.points), slopes[1](parts.points), rtol=0, atol=ROUNDING)
    runs = [mk.solve(problem, rho, step_size=0.1, steps=2, key=jax.random.key(0)) for rho in (whole, parts)]
    assert np.allclose(runs[0].risk, runs[1].risk, rtol=0, atol=ROUNDING)
    for a, b in zip(jax.tree.leaves(runs[0].rho), jax.tree.leaves(runs[1].rho), strict=True):
        assert np.allclose(a, b, rtol=0, atol=ROUNDING)


def test_a_bounded_head_stays_bounded_however_large_its_parameters(mu):
    c = 0.5
    huge = jax.tree.map(lambda leaf: 1e6 * leaf, mk.Bounded(mk.Block(kinds.softmax(), kinds.perceptron()), c))
    radius = np.linalg.norm(mu.points, axis=1).max()
    limit = 2 * c * radius + np.sqrt(2) * c  # |V| ≤ 2c for a 2 × 2 matrix of entries ≤ c, |a| ≤ √2 c
    for h in range(3):
        phi = np.asarray(kinds.one(huge, h).apply(mu.points, mu))
        assert np.linalg.norm(phi, axis=1).max() <= limit


def test_layers_are_taken_one_at_a_time():
    heads = kinds.softmax(lead=(2,))
    layered = mk.Layered(heads)
    assert np.array_equal(layered.layer(1).query, heads.query[1])
    repeated = mk.Layered.repeat(kinds.softmax(), 4)
    assert repeated.layers == 4
    assert all(np.array_equal(repeated.layer(i).value, kinds.softmax().value) for i in range(4))
    with pytest.raises(mk.Refused, match="no map of their own"):
        layered.map(jnp.zeros(2), kinds.cloud())
    with pytest.raises(mk.Refused, match="heads of one depth"):
        mk.velocity(mk.Empirical(layered), kinds.cloud())
