"""The field by a table, its transposes and its derivatives against the exact ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.field import exact, reverse
from mckean.field.tabulated import cloud, frames
from tests.field.tabulated import cases

RTOL = 1e-4
# A derivative of an interpolant errs by more than its value: what the planning of gradients allows for.
DERIVATIVES = 100 * RTOL
SETTINGS = {"softmax": 2, "low rank": 6, "grid": 1}


def _all(field, pullback, image, pairing, rho, x, w):
    """The field, and all that an adjoint asks for at a smooth dual."""
    dual = jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape)
    heads, mass = rho.points, rho.weights
    mine = dual * w[..., None]
    return field(heads, mass, x, w), pullback(heads, mass, x, w, mine), image(heads, mass, x, w, dual), pairing(heads, x, w, mine)


def _by_table(plan):
    return [
        lambda h, m, x, w: cloud.field(h, m, x, w, x, plan),
        *(lambda *a, verb=verb: verb(*a, plan) for verb in (cloud.pullback, cloud.image, cloud.pairing)),
    ]


def _exactly():
    verbs = (exact.field, reverse.pullback, reverse.costate_image, reverse.pairing)
    return [lambda *a, verb=verb: verb(*a, cases.EXACT) for verb in verbs]


@pytest.mark.parametrize("name", SETTINGS)
def test_the_field_and_its_transposes(name):
    d = SETTINGS[name]
    rho, (x, w) = cases.measure("softmax", d), cases.clouds(d, count=1)
    plan = (cases.gridded(rho, x, RTOL) if name == "grid" else cases.planned(rho, x, w, RTOL)).plan

    @jax.jit
    def both(rho, x, w):
        limit = frames.bound(rho.points, rho.weights, x[0], plan)
        return limit, _all(*_by_table(plan), rho, x[0], w[0]), _all(*_exactly(), rho, x, w)

    limit, (v, (by_token, by_head, pairings), image, pairing), (velocity, (to_token, to_head, to_mass), costate, paired) = both(
        rho, x, w
    )
    error = float(cases.sizes(v - velocity[0]))
    assert 0 < error <= float(limit)
    if name != "grid":  # which was planned without a look at how heads cancel
        assert float(limit) <= 2 * RTOL * float(cases.sizes(velocity[0]))
    ours, theirs = (by_token, by_head, pairings, image, pairing), (to_token[0], to_head, to_mass, costate[0], paired)
    assert cases.distance(ours, theirs) <= DERIVATIVES


def test_derivatives_in_tokens_weights_masses_and_heads():
    """Of bounded blocks: also through the bound, and in the hidden units beside the attention."""
    rho, (x, w) = cases.measure("bounded", 1), cases.clouds(1, count=1)
    plan = cases.planned(rho, x, w, RTOL).plan

    def energy(field):
        return lambda x, w, mass, heads: jnp.sum(jnp.sin(field(heads, mass, x, w)) * w[..., None])

    @jax.jit
    def both(*arguments):
        table = energy(lambda h, m, x, w: cloud.field(h, m, x[0], w[0], x[0], plan)[None])
        summed = energy(lambda *a: exact.field(*a, cases.EXACT))
        return tuple(jax.value_and_grad(f, argnums=(0, 1, 2, 3))(*arguments) for f in (table, summed))

    (value, ours), (expected, theirs) = both(x, w, rho.weights, rho.points)
    assert 0 < abs(float(value - expected)) <= RTOL * float(jnp.sum(jnp.abs(rho.weights)))
    assert cases.distance(ours, theirs) <= DERIVATIVES
    # A token of mass 0 moves nobody; it feels only its own velocity, which the energy does not count.
    assert np.array_equal(ours[0][:, -4:], np.zeros((1, 4, 1)))


@pytest.mark.parametrize("count", [1, 30])
def test_queries_other_than_tokens(count):
    """A single query too: its box has no extent."""
    rho, (x, w) = cases.measure("softmax", 1), cases.clouds(1, seed=3)
    queries = 3 * np.random.default_rng(1).normal(size=(count, 1))
    mu = mk.Empirical(x[0], w[0])
    found = mk.certified_velocity(rho, mu, queries, method=mk.Tabulated(RTOL))
    assert found.method == "tabulated", found.reason
    expected = mk.velocity(rho, mu, queries, method=cases.EXACT)
    assert float(cases.sizes(found.velocity - expected) / cases.sizes(expected)) <= found.bound <= RTOL


def test_single_precision():
    rho, mu = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), (cases.measure("softmax", 1), mk.Empirical(*cases.clouds(1))))
    found = mk.certified_velocity(rho, mu, method=mk.Tabulated(3e-2))
    assert found.method == "tabulated", found.reason
    assert found.velocity.dtype == jnp.float32
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), (rho, mu))
    expected = mk.velocity(*wide, method=cases.EXACT)
    error = cases.sizes(found.velocity.astype(jnp.float64) - expected) / cases.sizes(expected)
    assert float(error.max()) <= found.bound <= 3e-2
