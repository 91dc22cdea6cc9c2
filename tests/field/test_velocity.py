"""The velocity against dense loops in NumPy, and what it refuses."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from tests.heads import kinds

ROUNDING = 1e-13
MASS = np.asarray([0.5, 0.3, 0.2])


def loops(rho, points, weights, queries):
    """V(x) = Σ_h ρ_h V_h m_h(x) + hidden units, one head, query and key at a time; logits shifted by their maximum."""
    attend, units = rho.points.attention, rho.points.perceptron
    out = np.zeros_like(queries)
    for h, mass in enumerate(np.asarray(rho.weights)):
        q, k, v = (np.asarray(leaf[h]) for leaf in (attend.query, attend.key, attend.value))
        a, w, b = (np.asarray(leaf[h]) for leaf in (units.output, units.weight, units.bias))
        for i, x in enumerate(queries):
            logits = [attend.scale * (q @ x) @ (k @ y) for y in points]
            top = max(logit for logit, m in zip(logits, weights, strict=True) if m > 0)
            e = [m * np.exp(logit - top) if m > 0 else 0.0 for logit, m in zip(logits, weights, strict=True)]
            mean = sum(ei * y for ei, y in zip(e, points, strict=True)) / sum(e)
            out[i] += mass * (v @ mean + a * np.tanh(w @ x + b))
    return out


@pytest.fixture(scope="module")
def rho():
    return mk.Empirical(mk.Block(kinds.softmax(dim=3, key_dim=2, scale=0.8), kinds.perceptron(dim=3)), MASS)


@pytest.fixture(scope="module")
def compiled():
    return jax.jit(lambda rho, mu: mk.velocity(rho, mu))


def test_against_dense_loops(rho, compiled):
    mu = kinds.cloud(9, dim=3)
    expected = loops(rho, np.asarray(mu.points), np.asarray(mu.weights), np.asarray(mu.points))
    assert np.allclose(compiled(rho, mu), expected, rtol=0, atol=ROUNDING)
    queries = np.random.default_rng(1).normal(size=(4, 3))
    expected = loops(rho, np.asarray(mu.points), np.asarray(mu.weights), queries)
    assert np.allclose(mk.velocity(rho, mu, queries), expected, rtol=0, atol=ROUNDING)


def test_a_batch_is_its_prompts_one_by_one(rho, compiled):
    clouds = [kinds.cloud(9, dim=3, seed=seed) for seed in (1, 2)]
    batch = mk.Empirical(np.stack([c.points for c in clouds]), np.stack([c.weights for c in clouds]))
    both = compiled(rho, batch)
    for i, c in enumerate(clouds):
        assert np.allclose(both[i], compiled(rho, c), rtol=0, atol=ROUNDING)
    queries = np.random.default_rng(1).normal(size=(2, 4, 3))
    assert np.allclose(mk.velocity(rho, batch, queries)[1], mk.velocity(rho, clouds[1], queries[1]), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("block", [1, 2 * 81, 2**19])
def test_blocks_of_heads_change_nothing(rho, block):
    mu = kinds.cloud(9, dim=3)
    method = mk.Exact(block=block)
    assert method.heads_at_once(3, 1, 9, 9) == {1: 1, 162: 2, 2**19: 3}[block]
    expected = loops(rho, np.asarray(mu.points), np.asarray(mu.weights), np.asarray(mu.points))
    assert np.allclose(mk.velocity(rho, mu, method=method), expected, rtol=0, atol=ROUNDING)


def test_the_velocity_is_linear_in_the_head_measure(rho, compiled):
    mu = kinds.cloud(9, dim=3)
    parts = [compiled(rho.with_weights(jnp.asarray(row)), mu) for row in np.eye(3)]
    assert np.allclose(compiled(rho, mu), sum(m * part for m, part in zip(MASS, parts, strict=True)), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("heads", "mu", "message"),
    [
        (lambda: kinds.softmax(dim=3), lambda: kinds.cloud(), "do not fit tokens of R\\^2"),
        (lambda: kinds.perceptron(dim=3), lambda: kinds.cloud(), "do not fit tokens of R\\^2"),
        (lambda: kinds.softmax(), lambda: mk.Empirical(np.zeros(3)), "Tokens must be points of R\\^d"),
    ],
)
def test_heads_and_tokens_that_do_not_fit_are_refused(heads, mu, message):
    with pytest.raises(mk.Refused, match=message):
        mk.velocity(mk.Empirical(heads()), mu())


def test_other_misuse_is_refused():
    rho, mu = mk.Empirical(kinds.softmax()), kinds.cloud()
    with pytest.raises(mk.Refused, match="rho must be a measure of heads"):
        mk.velocity(mu, mu)
    batch = mk.Empirical(np.stack([mu.points] * 3), np.stack([mu.weights] * 3))
    for x in (np.zeros((2, 4, 2)), np.zeros((4, 2)), np.zeros((3, 4, 1))):
        with pytest.raises(mk.Refused, match=r"Queries x must have shape \(3, M, 2\)"):
            mk.velocity(rho, batch, x)
    with pytest.raises(mk.Refused, match=r"Queries x must have shape \(M, 2\)"):
        mk.velocity(rho, mu, np.zeros((3, 4, 2)))
    with pytest.raises(mk.Refused, match=r"Queries x must have shape \(M, 2\); found \(4, 3\)"):
        mk.velocity(rho, mu, np.zeros((4, 3)))
    with pytest.raises(mk.Refused, match=r"found \(2,\)"):
        mk.velocity(rho, mu, np.zeros(2))
    for options in ({"tile": 0}, {"block": 0}):
        with pytest.raises(mk.Refused, match="must be a positive number"):
            mk.Exact(**options)


def test_two_dtypes_are_refused_not_promoted():
    rho, mu = mk.Empirical(kinds.softmax()), kinds.cloud()
    single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), (rho, mu))
    with pytest.raises(mk.Refused, match="one dtype; found heads float64 and tokens float32"):
        mk.velocity(rho, single[1])
    with pytest.raises(mk.Refused, match="found heads float32 and tokens float64"):
        mk.transport(single[0], mu, horizon=1.0, steps=2)
    assert mk.velocity(*single).dtype == jnp.float32


def test_a_second_call_compiles_nothing(rho, caplog):
    cloud = lambda seed: kinds.cloud(13, dim=3, seed=seed)  # noqa: E731
    with caplog.at_level(logging.WARNING, logger="jax"), jax.log_compiles(True):
        mk.velocity(rho, cloud(1))
        assert "Compiling" in caplog.text
        mu = cloud(2)
        caplog.clear()
        mk.velocity(rho, mu)
    assert "Compiling" not in caplog.text
