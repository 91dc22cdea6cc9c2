"""Invariants of the flow: padding, splitting, permutation, support, convex hull, energy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import ConvexHull

import mckean as mk
from tests.heads import kinds

ROUNDING = 1e-12
MASS = np.asarray([0.5, 0.3, 0.2])
STEPS = 8
OPTIONS = {"horizon": 1.0, "steps": STEPS}


@pytest.fixture(scope="module")
def rho():
    return mk.Empirical(mk.Block(kinds.softmax(), kinds.perceptron()), MASS)


@pytest.fixture(scope="module")
def mu():
    return kinds.cloud()


@pytest.fixture(scope="module")
def end(rho, mu):
    return np.asarray(mk.transport(rho, mu, **OPTIONS).points)


def test_padding_changes_nothing(rho, mu, end):
    """A ragged batch: a prompt padded with far atoms of weight 0 flows as it does alone."""
    far = np.asarray([[50.0, -30.0], [0.0, 0.0]])
    short = mk.Empirical(mu.points[:4], mu.weights[:4], normalize=True)
    alone = mk.transport(rho, short, **OPTIONS).points
    batch = mk.Empirical(
        np.stack([mu.points, np.concatenate([short.points, far])]), np.stack([mu.weights, np.concatenate([short.weights, np.zeros(2)])])
    )
    flow = mk.transport(rho, batch, **OPTIONS)
    assert np.allclose(flow.points[0], end, rtol=0, atol=ROUNDING)
    assert np.allclose(flow.points[1, :, :4], alone, rtol=0, atol=ROUNDING)


def test_permuting_and_splitting_tokens_and_heads(rho, mu, end):
    order = np.asarray([3, 0, 5, 1, 4, 2, 2])
    halves = np.asarray([1, 1, 1, 1, 1, 0.5, 0.5])
    heads = np.asarray([2, 0, 1, 1])
    tokens = mk.Empirical(mu.points[order], np.asarray(mu.weights)[order] * halves)
    split = mk.Empirical(jax.tree.map(lambda leaf: leaf[heads], rho.points), MASS[heads] * np.asarray([1, 1, 0.5, 0.5]))
    assert np.allclose(mk.transport(split, tokens, **OPTIONS).points, end[:, order], rtol=0, atol=ROUNDING)


def test_a_tied_measure_repeated_over_layers(rho, mu, end):
    layered = mk.Empirical(mk.Layered.repeat(rho.points, 4), np.broadcast_to(MASS, (4, 3)))
    assert np.allclose(mk.transport(layered, mu, **OPTIONS).points, end, rtol=0, atol=ROUNDING)


def test_the_support_grows_at_most_at_the_rate_of_the_values(mu):
    """R_t ≤ R_0 e^{t∫|V|dρ}; nearly attained by one token along the leading vector of a symmetric V."""
    heads = kinds.softmax()
    rho = mk.Empirical(heads, MASS)
    visible = mk.Empirical(mu.points[:-1], mu.weights[:-1])
    flow = mk.transport(rho, visible, **OPTIONS)
    rate = float(MASS @ np.linalg.norm(heads.value, ord=2, axis=(1, 2)))
    radius = np.linalg.norm(flow.points, axis=2).max(axis=1)
    assert np.all(radius <= radius[0] * np.exp(rate * np.asarray(flow.times)) * (1 + ROUNDING))
    one = mk.Empirical(mk.Softmax(heads.query[:1], heads.key[:1], np.diag([1.0, 0.2])[None]))
    along = mk.transport(one, mk.Empirical([[1.0, 0.0]]), horizon=1.0, steps=64, save="last").final.points
    assert float(along[0, 0]) == pytest.approx(np.e, rel=1e-6)


@pytest.mark.parametrize(("scheme", "growth"), [("euler", lambda h: 1 + h), ("rk4", lambda h: 1 + h + h**2 / 2 + h**3 / 6 + h**4 / 24)])
def test_with_the_identity_as_value_the_rescaled_convex_hull_shrinks(mu, scheme, growth):
    heads = kinds.softmax()
    rho = mk.Empirical(mk.Softmax(heads.query, heads.key, np.broadcast_to(np.eye(2), (3, 2, 2))), MASS)
    flow = mk.transport(rho, mu, scheme=scheme, **OPTIONS)
    visible = np.asarray(flow.points)[:, :-1] / growth(1.0 / STEPS) ** np.arange(STEPS + 1)[:, None, None]
    hulls = [ConvexHull(x) for x in visible]
    for before, after in zip(hulls, visible[1:], strict=False):
        assert np.max(after @ before.equations[:, :2].T + before.equations[None, :, 2]) <= ROUNDING
    areas = [hull.volume for hull in hulls]
    assert np.all(np.diff(areas) < 0)
    assert areas[-1] < 0.9 * areas[0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_energy_of_one_symmetric_head(mu, sign):
    """E = ½∬e^{xᵀAy}dμdμ with V = A symmetric, of any sign: dE/dt = ∫Z|v|²dμ ≥ 0."""
    a = sign * np.asarray([[0.6, 0.2], [0.2, -0.3]])
    rho = mk.Empirical(mk.Softmax(np.eye(2)[None], a[None], a[None]))
    w = np.asarray(mu.weights)
    flow = mk.transport(rho, mu, horizon=0.5, steps=200)
    x = np.asarray(flow.points)
    kernel = np.exp(np.einsum("tia,ab,tjb->tij", x, a, x))
    energy = 0.5 * np.einsum("i,tij,j->t", w, kernel, w)
    v = np.asarray(jax.jit(jax.vmap(lambda p: mk.velocity(rho, mu.with_points(p))))(flow.points))
    rate = np.einsum("i,tij,j,ti->t", w, kernel, w, np.sum(v**2, axis=2))
    assert np.all(np.diff(energy) > 0)
    h = float(flow.times[1])
    assert np.allclose((energy[2:] - energy[:-2]) / (2 * h), rate[1:-1], rtol=1e-4, atol=0)  # a central difference, h² = 6e-6


def test_mass_does_not_change_and_single_precision_stays_single(rho, mu):
    single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), (rho, mu))
    flow = mk.transport(*single, **OPTIONS)
    assert np.array_equal(flow.weights, single[1].weights)
    assert flow.points.dtype == flow.times.dtype == jnp.float32
    double = mk.transport(rho, mu, **OPTIONS)
    assert np.allclose(flow.points, double.points, rtol=0, atol=1e-5)
