"""Random batches: unbiased up to 1/size, an honest standard error, the exact gradient of what was drawn, repeatable."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.field import dispatch, random
from tests.heads import kinds

HEADS, DRAWS, SIZE = 2, 400, 512
MASS = jnp.asarray([0.7, 0.3])
EXACT = mk.Exact()
# 400 draws: a mean of squares of eight coordinates is known to about 5 %.
HONEST = (0.85, 1.18)


@pytest.fixture(scope="module")
def setting():
    mu = kinds.cloud(40)
    return kinds.softmax(HEADS), mu.points[None], mu.weights[None], mu.points[None, :8]


@pytest.fixture(scope="module")
def draws(setting):
    """Independent draws: the last token has mass 0, so that moving it changes nothing but the key."""
    heads, x, w, q = setting
    method = mk.RandomBatch(SIZE)

    def one(place):
        moved = x.at[0, -1, 0].set(place)
        error = random.standard_error(heads, MASS, moved, w, method, q)
        return random.field(heads, MASS, moved, w, method, q)[0], error[0]

    return jax.jit(lambda places: jax.lax.map(one, places))(jnp.linspace(0.0, 1.0, DRAWS))


def test_the_estimate_is_unbiased_up_to_one_over_its_size(setting, draws):
    heads, x, w, q = setting
    v, _ = draws
    exact = dispatch.field(heads, MASS, x, w, EXACT, q)[0]
    deviation = np.std(v, axis=0)
    assert np.all(deviation > 0)
    # The bias is of the order of the variance, far below 4 standard errors of the mean at this size.
    assert np.max(np.abs(np.mean(v, axis=0) - exact) / deviation) * np.sqrt(DRAWS) <= 4


def test_the_standard_error_is_honest(setting, draws):
    heads, x, w, q = setting
    v, error = draws
    exact = dispatch.field(heads, MASS, x, w, EXACT, q)[0]
    actual = np.mean(np.sum((v - exact[None]) ** 2, axis=-1))
    assert HONEST[0] <= np.mean(error**2) / actual <= HONEST[1]
    # |V̂ − V| and the halves' difference are two independent normal vectors in the plane: P(|a| ≤ 2|b|) = 4/5.
    covered = np.mean(np.linalg.norm(v - exact[None], axis=-1) <= 2 * error)
    assert 0.76 <= covered <= 0.84


def test_the_gradient_is_that_of_what_was_drawn(setting):
    heads, x, w, _ = setting
    method = mk.RandomBatch(16, seed=3)
    lam = jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape)

    @jax.jit
    def both(heads, mass, x):
        energy = lambda h, m, y: jnp.vdot(lam, random.field(h, m, y, w, method))  # noqa: E731
        return random.pullback(heads, mass, x, w, lam, method), jax.grad(energy, argnums=(0, 1, 2))(heads, mass, x)

    (by_token, by_head, pairings), (to_heads, to_mass, to_x) = both(heads, MASS, x)
    assert np.allclose(by_token, to_x, rtol=0, atol=1e-12)
    assert np.allclose(pairings, to_mass, rtol=0, atol=1e-12)
    assert np.allclose(pairings, random.pairing(heads, x, w, lam, method), rtol=0, atol=1e-12)
    for ours, theirs in zip(jax.tree.leaves(by_head), jax.tree.leaves(to_heads), strict=True):
        assert np.allclose(ours * MASS[:, None, None], theirs, rtol=0, atol=1e-12)
    index = random.draw(x, w, method)
    drawn = mk.Empirical(x[0][index[0]])
    assert np.allclose(
        random.field(heads, MASS, x, w, method)[0], mk.velocity(mk.Empirical(heads, MASS), drawn, x[0]), rtol=0, atol=1e-12
    )


def test_draws_follow_the_masses_and_the_seed(setting):
    _, x, w, _ = setting
    first, again, other = (random.draw(x, w, mk.RandomBatch(4096, seed=seed))[0] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    counts = np.bincount(first, minlength=40)
    assert counts[-1] == 0
    expected = 4096 * np.asarray(w[0])
    assert np.sum((counts - expected)[:-1] ** 2 / expected[:-1]) <= 80  # χ² with 38 degrees of freedom: 1e-4 lie above
    elsewhere = random.draw(x + 1e-3, w, mk.RandomBatch(4096))[0]
    assert not np.array_equal(first, elsewhere)


def test_misuse_is_refused(setting):
    heads, x, w, _ = setting
    with pytest.raises(mk.Refused, match="no costate of its own"):
        dispatch.costate_image(heads, MASS, x, w, x, mk.RandomBatch(8))
    with pytest.raises(mk.Refused, match="`size` must be a positive number of tokens"):
        mk.RandomBatch(0)


def test_the_certificate_of_a_batch_is_its_standard_error(setting):
    heads, x, w, _ = setting
    found = mk.certified_velocity(mk.Empirical(heads, MASS), mk.Empirical(x[0], w[0]), method=mk.RandomBatch(64))
    assert found.method == "random batch"
    assert found.plan is None
    assert 0 < found.bound < 1
