"""Tiles give the dense values and gradients, by either of their shifts, and O(N) memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.heads import tiles
from mckean.heads.attention import attend, key_density
from tests.heads import kinds

AGREEMENT = 1e-12  # relative to the largest entry: sums of a few hundred terms in another order
TOKENS, HEADS = 4096, 8
SHARE = 0.5  # temporary memory against the N² · 8 bytes of one dense matrix of logits (a dense evaluation needs H of them)


@pytest.fixture(scope="module")
def inputs():
    """41 queries and 37 keys, neither a multiple of the tile of 8; the last two keys of weight 0."""
    rng = np.random.default_rng(0)
    q, k, y, g = (jnp.asarray(rng.normal(size=shape)) for shape in ((41, 3), (37, 3), (37, 2), (41, 2)))
    w = jnp.asarray(np.append(rng.uniform(0.1, 1.0, size=35), [0.0, 0.0]) / 20)
    return q, k, y, w, g


def values(tile, q, k, y, w, g):
    pairing = lambda *args: jnp.sum(g * attend(*args, tile=tile))  # noqa: E731
    return (
        attend(q, k, y, w, tile=tile),
        jax.grad(pairing, argnums=(0, 1, 2, 3))(q, k, y, w),
        key_density(q, k, y, w, g, tile=tile),
    )


@pytest.fixture(scope="module")
def dense():
    return jax.jit(lambda *args: values(None, *args))


@pytest.fixture(scope="module")
def tiled():
    return jax.jit(lambda *args: values(8, *args))


def agree(a, b):
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert np.all(np.isfinite(other))
        assert np.max(np.abs(one - other)) <= AGREEMENT * np.max(np.abs(other))


def test_values_gradients_and_densities(dense, tiled, inputs):
    agree(tiled(*inputs), dense(*inputs))


def test_extreme_logits(dense, tiled, inputs):
    """Logits to about 1e3 in size: e^1000 is not a number of float64."""
    q, k, y, w, g = inputs
    q = q * (1e3 / jnp.max(jnp.abs(q @ k.T)))
    assert float(jnp.max(jnp.abs(q @ k.T))) == pytest.approx(1e3)
    agree(tiled(q, k, y, w, g)[:2], dense(q, k, y, w, g)[:2])
    nearest = np.asarray(y)[np.argmax(np.where(np.asarray(w) > 0, np.asarray(q @ k.T), -np.inf), axis=1)]
    m = np.asarray(dense(q, k, y, w, g)[0])
    assert np.median(np.abs(m - nearest)) < 1e-6


@pytest.mark.parametrize(("dtype", "accepted"), [("float64", 1e-13), ("float32", 1e-5)])
def test_both_shifts_give_one_value(inputs, monkeypatch, dtype, accepted):
    """The bound over the keys' box, the running maximum, and a spread that is too large for the first."""
    q, k, y, w, _ = (jnp.asarray(each, dtype) for each in inputs)
    found = []
    for spread in (1e9, 0.0):
        monkeypatch.setattr(tiles, "SPREAD", {64: spread, 32: spread})
        found.append(np.asarray(jax.jit(lambda *args: tiles.averages(*args, 8)[0])(q, k, y, w)))
    assert found[0].dtype == dtype
    assert 0 < np.max(np.abs(found[0] - found[1])) <= accepted * np.max(np.abs(found[1]))


def test_far_below_its_bound_a_logit_is_not_lost(inputs):
    """Logits of some thousand, whose bound over the box is far above them all."""
    q, k, y, w, _ = inputs
    q = jnp.broadcast_to(jnp.asarray([[1.0, -1.0, 0.0]]), (41, 3)) * 2e3
    k = jnp.stack([k[:, 0], k[:, 0], k[:, 2]], axis=1)
    dense = attend(q, k, y, w, tile=None)
    assert np.max(np.abs(np.asarray(attend(q, k, y, w, tile=8)) - np.asarray(dense))) <= 1e-12


def test_keys_of_weight_zero_far_away_change_nothing(dense, tiled, inputs):
    q, k, y, w, g = inputs
    far = k.at[35:].mul(1e3), y.at[35:].mul(1e3)
    for method in (dense, tiled):
        value, gradient, density = method(q, *far, w, g)
        near_value, near_gradient, near_density = method(q, k, y, w, g)
        agree(value, near_value)
        agree(gradient[0], near_gradient[0])
        assert np.array_equal(gradient[1][35:], np.zeros((2, 3)))
        assert np.array_equal(gradient[2][35:], np.zeros((2, 2)))
        agree([part[:35] for part in density], [part[:35] for part in near_density])
        assert all(np.all(np.isfinite(part)) for part in density)


def test_a_velocity_in_tiles_and_its_gradient():
    """The whole field, with more atoms than a tile, a batch, several heads and padding."""
    rho = mk.Empirical(kinds.softmax(), np.asarray([0.5, 0.3, 0.2]))
    clouds = [kinds.cloud(21, seed=seed) for seed in (1, 2)]
    mu = mk.Empirical(np.stack([c.points for c in clouds]), np.stack([c.weights for c in clouds]))
    g = jnp.asarray(np.random.default_rng(2).normal(size=(2, 21, 2)))

    def both(tile):
        pairing = lambda rho, mu: jnp.sum(g * mk.velocity(rho, mu, method=mk.Exact(tile=tile)))  # noqa: E731
        return jax.jit(jax.grad(pairing, argnums=(0, 1)))(rho, mu)

    agree(both(8), both(None))


def test_memory_does_not_grow_with_N_times_N():
    heads = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), mk.Empirical(kinds.softmax(HEADS)))
    shape = lambda *size: jax.ShapeDtypeStruct(size, jnp.float64)  # noqa: E731

    def speed(rho, x, w, tile):
        mu = mk.Empirical(x, w)
        return mk.velocity(rho, mu, method=mk.Exact(tile=tile))

    def memory(function):
        return function.lower(heads, shape(TOKENS, 2), shape(TOKENS)).compile().memory_analysis().temp_size_in_bytes

    matrix = TOKENS**2 * 8
    forward = memory(jax.jit(lambda rho, x, w: speed(rho, x, w, 1024)))
    backward = memory(jax.jit(jax.grad(lambda rho, x, w: jnp.sum(speed(rho, x, w, 1024) ** 2), argnums=(0, 1))))
    dense = memory(jax.jit(lambda rho, x, w: speed(rho, x, w, None)))
    print(
        f"temporary bytes over N²·8: forward {forward / matrix:.3f}, gradient {backward / matrix:.3f}, dense {dense / matrix:.3f}"
    )
    assert forward < SHARE * matrix
    assert backward < SHARE * matrix
    assert dense > matrix
