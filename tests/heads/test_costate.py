"""The adjoint image of a head: its formula, its general form, and the derivative in mass that it comes from."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.measures.empirical import unchecked
from tests.heads import kinds

ROUNDING = 1e-12
DIFFERENCES = 1e-5  # two nested central differences of step 1e-3: 1e-6 of truncation, 1e-10 of rounding


@pytest.fixture(scope="module")
def mu():
    return kinds.cloud()


@pytest.fixture(scope="module")
def p():
    return jnp.asarray(np.random.default_rng(5).normal(size=(6, 2)))


def lions(head, mu, x, y):
    """D_μφ(x, ·)(y) = w(x, y) V [I + (y − m)(Aᵀx)ᵀ] and m(x), by the formula."""
    points, mass = np.asarray(mu.points), np.asarray(mu.weights)
    a, v = np.asarray(head.bilinear), np.asarray(head.value)
    z = np.sum(mass * np.exp(points @ (a.T @ x)))
    m = (mass * np.exp(points @ (a.T @ x))) @ points / z
    return np.exp(x @ a @ y) / z * v @ (np.eye(2) + np.outer(y - m, a.T @ x)), m


def formula(head, mu, p):
    """Σ over the whole cloud of the two terms of the costate's equation."""
    points, mass = np.asarray(mu.points), np.asarray(mu.weights)
    a, v = np.asarray(head.bilinear), np.asarray(head.value)
    out = []
    for x, px in zip(points, np.asarray(p), strict=True):
        _, m = lions(head, mu, x, x)
        w = mass * np.exp(points @ (a.T @ x))
        covariance = np.einsum("j,ja,jb->ab", w / w.sum(), points - m, points - m)
        own = (v @ covariance @ a.T).T @ px
        others = sum(mass[i] * lions(head, mu, points[i], x)[0].T @ np.asarray(p)[i] for i in range(len(mass)))
        out.append(own + others)
    return np.asarray(out)


def test_the_formula_of_softmax_is_the_paper_s_and_the_general_form_agrees(mu, p):
    head = kinds.one(kinds.softmax(scale=0.7))
    expected = formula(head, mu, p)
    assert mu.weights[-1] == 0
    assert np.all(np.isfinite(expected))
    forms = jax.jit(lambda h, mu, p: (h.costate(mu, p), h.costate(mu, p, 4), mk.Head.costate(h, mu, p)))
    for image in forms(head, mu, p):
        assert np.allclose(image, expected, rtol=0, atol=ROUNDING)


def test_hidden_units_agree_with_the_general_form(mu, p):
    head = kinds.one(kinds.perceptron())
    general, own = jax.jit(lambda mu, p: (mk.Head.costate(head, mu, p), head.costate(mu, p)))(mu, p)
    assert np.allclose(general, own, rtol=0, atol=ROUNDING)


def test_the_lions_derivative_is_the_derivative_in_mass_and_then_in_position(mu):
    head = kinds.one(kinds.softmax(scale=0.7))
    x, step = mu.points[0], 1e-3

    def phi(z, eps):
        cloud = unchecked(jnp.concatenate([mu.points, z[None]]), jnp.append(mu.weights, eps))
        return head.map(x, cloud)

    many = jax.jit(jax.vmap(phi))
    y = np.asarray([0.4, -0.9])
    corners = [(y + s * step * e, t * step) for e in np.eye(2) for s in (1, -1) for t in (1, -1)]
    values = np.asarray(many(np.asarray([c[0] for c in corners]), np.asarray([c[1] for c in corners]))).reshape(2, 2, 2, 2)
    by_mass = (values[:, :, 0] - values[:, :, 1]) / (2 * step)  # (coordinate, side, output)
    measured = ((by_mass[:, 0] - by_mass[:, 1]) / (2 * step)).T
    assert np.allclose(measured, lions(head, mu, np.asarray(x), y)[0], rtol=0, atol=DIFFERENCES)


def test_mass_times_the_costate_is_the_gradient_of_the_finite_system(mu, p):
    head = kinds.one(kinds.softmax(scale=0.7))
    pairing = lambda points: jnp.sum(mu.weights[:, None] * p * head.apply(points, mu.with_points(points)))  # noqa: E731
    gradient, image = jax.jit(lambda: (jax.grad(pairing)(mu.points), mu.weights[:, None] * head.costate(mu, p)))()
    assert np.allclose(image, gradient, rtol=0, atol=ROUNDING)
