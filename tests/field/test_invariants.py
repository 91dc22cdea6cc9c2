"""Invariants of the field: permutations, split and padded atoms, linear changes of coordinates, key bias, convex hull."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import ConvexHull

import mckean as mk
from tests.heads import kinds

ROUNDING = 1e-12
MASS = np.asarray([0.5, 0.3, 0.2])


@pytest.fixture(scope="module")
def rho():
    return mk.Empirical(mk.Block(kinds.softmax(), kinds.perceptron()), MASS)


@pytest.fixture(scope="module")
def mu():
    return kinds.cloud(8)


@pytest.fixture(scope="module")
def speed():
    """The velocity and the gradient of Σ w_i |V(x_i)|² in the tokens, compiled once a shape."""

    def both(rho, mu):
        energy = lambda x: jnp.sum(mu.weights * jnp.sum(mk.velocity(rho, mu.with_points(x)) ** 2, axis=-1))  # noqa: E731
        return mk.velocity(rho, mu), jax.grad(energy)(mu.points)

    return jax.jit(both)


def test_permuting_tokens_permutes_velocities_and_permuting_heads_changes_nothing(rho, mu, speed):
    order, heads = np.random.default_rng(0).permutation(8), np.asarray([2, 0, 1])
    value, gradient = speed(rho, mu)
    moved = mk.Empirical(mu.points[order], mu.weights[order])
    shuffled = mk.Empirical(jax.tree.map(lambda leaf: leaf[heads], rho.points), rho.weights[heads])
    for pair in ((rho, moved), (shuffled, moved)):
        v, g = speed(*pair)
        assert np.allclose(v, value[order], rtol=0, atol=ROUNDING)
        assert np.allclose(g, gradient[order], rtol=0, atol=ROUNDING)


def test_splitting_atoms_changes_nothing(rho, mu, speed):
    value, gradient = speed(rho, mu)
    first = [0, *range(8)]
    halves = np.ones(9)
    halves[:2] = 0.5
    split = mk.Empirical(mu.points[jnp.asarray(first)], np.asarray(mu.weights)[first] * halves)
    heads = [0, 0, 1, 2]
    more = mk.Empirical(
        jax.tree.map(lambda leaf: leaf[jnp.asarray(heads)], rho.points), MASS[heads] * np.asarray([0.5, 0.5, 1, 1])
    )
    v, g = speed(more, split)
    assert np.allclose(v, value[jnp.asarray(first)], rtol=0, atol=ROUNDING)
    assert np.allclose(g[0] + g[1], gradient[0], rtol=0, atol=ROUNDING)
    assert np.allclose(g[2:], gradient[1:], rtol=0, atol=ROUNDING)


def test_an_atom_of_weight_zero_is_a_test_particle(rho, mu, speed):
    value, gradient = speed(rho, mu)
    assert mu.weights[-1] == 0
    assert np.array_equal(gradient[-1], np.zeros(2))
    far = mk.Empirical(mu.points.at[-1].set(jnp.asarray([1e4, -1e4])), mu.weights)
    v, g = speed(rho, far)
    assert np.allclose(v[:-1], value[:-1], rtol=0, atol=ROUNDING)
    assert np.allclose(g[:-1], gradient[:-1], rtol=0, atol=ROUNDING)
    assert np.all(np.isfinite(v[-1]))
    without = mk.Empirical(mu.points[:-1], mu.weights[:-1])
    assert np.allclose(mk.velocity(rho, without, mu.points), value, rtol=0, atol=ROUNDING)
    unused = rho.with_weights(jnp.asarray([0.5, 0.5, 0.0]))
    pair = mk.Empirical(jax.tree.map(lambda leaf: leaf[:2], rho.points))
    assert np.allclose(speed(unused, mu)[0], mk.velocity(pair, mu), rtol=0, atol=ROUNDING)


def test_extreme_logits_stay_finite(rho, mu, speed):
    """|A| R² = 1e3."""
    attend = rho.points.attention
    radius = float(jnp.max(jnp.linalg.norm(mu.points, axis=1)))
    norm = float(jnp.max(jnp.linalg.norm(attend.bilinear, ord=2, axis=(1, 2))))
    grown = jnp.sqrt(1e3 / (norm * radius**2))
    big = mk.Softmax(grown * attend.query, grown * attend.key, attend.value)
    v, g = speed(mk.Empirical(mk.Block(big, rho.points.perceptron), MASS), mu)
    assert np.all(np.isfinite(v))
    assert np.all(np.isfinite(g))


def test_linear_changes_of_coordinates(mu):
    """x → Mx, Q → QM⁻¹, K → KM⁻¹, V → MVM⁻¹; for hidden units w → M⁻ᵀw, a → Ma."""
    m = np.asarray([[1.5, 0.4], [-0.3, 0.8]])
    inverse = np.linalg.inv(m)
    attend, units = kinds.softmax(), kinds.perceptron()
    new = mk.Block(
        mk.Softmax(attend.query @ inverse, attend.key @ inverse, m @ attend.value @ inverse),
        mk.Perceptron(units.weight @ inverse, units.bias, units.output @ m.T),
    )
    v = mk.velocity(mk.Empirical(mk.Block(attend, units), MASS), mu)
    moved = mk.velocity(mk.Empirical(new, MASS), mk.Empirical(mu.points @ m.T, mu.weights))
    assert np.allclose(moved, v @ m.T, rtol=0, atol=ROUNDING)
    assert not np.allclose(moved, v, atol=1e-2)


def test_the_gauge_of_query_and_key(mu):
    """(Q, K) → (GQ, G⁻ᵀK) leaves every logit alone."""
    g = np.asarray([[2.0, 1.0], [0.0, 0.5]])
    heads = kinds.softmax()
    new = mk.Softmax(g @ heads.query, np.linalg.inv(g).T @ heads.key, heads.value)
    assert np.allclose(mk.velocity(mk.Empirical(new), mu), mk.velocity(mk.Empirical(heads), mu), rtol=0, atol=ROUNDING)


def test_a_key_bias_changes_nothing_and_has_gradient_zero(mu):
    heads = kinds.softmax()
    biased = kinds.BiasedKeys(heads.query, heads.key, kinds.normal(9, 3, 2), heads.value)
    assert np.allclose(mk.velocity(mk.Empirical(biased), mu), mk.velocity(mk.Empirical(heads), mu), rtol=0, atol=ROUNDING)
    gradient = jax.grad(lambda h: jnp.sum(mk.velocity(mk.Empirical(h), mu) ** 2))(biased)
    assert np.max(np.abs(gradient.bias)) <= ROUNDING
    assert np.max(np.abs(gradient.key)) > 1e-2


def test_attention_with_the_identity_as_value_stays_in_the_convex_hull_of_the_tokens(mu):
    heads = kinds.softmax(16)
    rho = mk.Empirical(mk.Softmax(3 * heads.query, heads.key, np.broadcast_to(np.eye(2), (16, 2, 2))))
    visible = np.asarray(mu.points)[:-1]
    queries = 5 * np.random.default_rng(3).normal(size=(50, 2))
    means = np.asarray(mk.velocity(rho, mu, queries))
    faces = ConvexHull(visible).equations
    outside = lambda points: np.max(points @ faces[:, :2].T + faces[None, :, 2])  # noqa: E731
    assert outside(means) <= ROUNDING
    assert outside(queries) > 1
