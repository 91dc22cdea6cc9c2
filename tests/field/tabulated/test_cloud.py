"""The field by a table, its transposes and its derivatives against the exact ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.field import exact, reverse
from mckean.field.tabulated import guarded
from tests.field.tabulated import cases

RTOL = 1e-5
# A derivative of an interpolant errs by more than its value: what the planning of gradients allows for.
DERIVATIVES = 100 * RTOL
SETTINGS = {"softmax": 2, "bounded": 1, "low rank": 6, "grid": 1}


def _setting(name):
    d = SETTINGS[name]
    rho, (x, w) = cases.measure("bounded" if name == "bounded" else "softmax", d), cases.clouds(d)
    method = cases.gridded(rho, x, RTOL) if name == "grid" else cases.planned(rho, x, w, RTOL)
    return rho, x, w, method


def _all(field, pullback, image, pairing, rho, x, w, method):
    """The field, and all that an adjoint asks for at a smooth dual."""
    dual = jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape)
    heads, mass = rho.points, rho.weights
    return (
        field(heads, mass, x, w, method),
        pullback(heads, mass, x, w, dual * w[..., None], method),
        image(heads, mass, x, w, dual, method),
        pairing(heads, x, w, dual * w[..., None], method),
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_the_field_and_its_transposes(name):
    rho, x, w, method = _setting(name)

    @jax.jit
    def both(rho, x, w):
        table = _all(guarded.field, guarded.pullback, guarded.costate_image, guarded.pairing, rho, x, w, method)
        summed = _all(exact.field, reverse.pullback, reverse.costate_image, reverse.pairing, rho, x, w, cases.EXACT)
        return table, summed

    ((v, note), *transposes), (expected, *others) = both(rho, x, w)
    assert bool(note.tabulated.all())
    error = cases.sizes(v - expected) / cases.sizes(expected)
    assert np.all(error <= note.bound)
    if name != "grid":  # planned without a look at how heads cancel
        assert np.all(note.bound <= 10 * RTOL)
    assert float(error.max()) > 0  # it did go by the table
    for ours, theirs in zip(transposes, others, strict=True):
        assert cases.distance(ours, theirs) <= DERIVATIVES


def test_derivatives_in_tokens_weights_masses_and_heads():
    rho, (x, w) = cases.measure("block"), cases.clouds(2)
    method = cases.planned(rho, x, w, RTOL)

    def energy(field, x, w, mass, heads):
        return jnp.sum(jnp.sin(field(heads, mass, x, w)) * w[..., None])

    @jax.jit
    def both(*arguments):
        ours = jax.grad(lambda *a: energy(lambda *b: guarded.field(*b, method)[0], *a), argnums=(0, 1, 2, 3))(*arguments)
        theirs = jax.grad(lambda *a: energy(lambda *b: exact.field(*b, cases.EXACT), *a), argnums=(0, 1, 2, 3))(*arguments)
        return ours, theirs

    ours, theirs = both(x, w, rho.weights, rho.points)
    assert cases.distance(ours, theirs) <= DERIVATIVES
    # A token of mass 0 moves nobody; it feels only its own velocity, which the energy does not count.
    assert np.array_equal(ours[0][:, -4:], np.zeros((2, 4, 2)))


@pytest.mark.parametrize("count", [1, 30])
def test_queries_other_than_tokens(count):
    """A single query too: its box has no extent."""
    rho, (x, w) = cases.measure("softmax"), cases.clouds(2, seed=3)
    queries = 3 * np.random.default_rng(1).normal(size=(count, 2))
    mu = mk.Empirical(x[0], w[0])
    found = mk.certified_velocity(rho, mu, queries, method=mk.Tabulated(RTOL))
    assert found.method == "tabulated", found.reason
    expected = mk.velocity(rho, mu, queries, method=cases.EXACT)
    assert float(cases.sizes(found.velocity - expected) / cases.sizes(expected)) <= found.bound <= RTOL


def test_single_precision():
    rho, mu = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), (cases.measure("softmax"), mk.Empirical(*cases.clouds(2))))
    found = mk.certified_velocity(rho, mu, method=mk.Tabulated(3e-2))
    assert found.method == "tabulated", found.reason
    assert found.velocity.dtype == jnp.float32
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), (rho, mu))
    expected = mk.velocity(*wide, method=cases.EXACT)
    error = cases.sizes(found.velocity.astype(jnp.float64) - expected) / cases.sizes(expected)
    assert float(error.max()) <= found.bound <= 3e-2
