"""Exact solutions of finite clouds: two tokens, one token, A = 0, hidden units alone."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import mckean as mk
from tests.heads import kinds

RK4 = 1e-9  # 200 steps of RK4 over a depth of 1 or 2: h⁴ = 1e-8, times a small constant
MASS = np.asarray([0.5, 0.3, 0.2])
STEPS = 200


def scipy_end(rhs, start, horizon):
    """An independent integrator at 1e-12."""
    return solve_ivp(lambda t, y: rhs(y), (0.0, horizon), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.parametrize(("a", "v", "x0"), [(1.0, 0.5, 0.8), (-2.0, 1.0, 0.5), (3.0, -1.0, 1.2)])
def test_two_tokens_at_plus_and_minus_x(a, v, x0):
    """x' = v x tanh(a x²)."""
    rho = mk.Empirical(mk.Softmax([[[a]]], [[[1.0]]], [[[v]]]))
    flow = mk.transport(rho, mk.Empirical([[x0], [-x0]]), horizon=1.0, steps=STEPS, save="last")
    (expected,) = scipy_end(lambda x: v * x * np.tanh(a * x**2), [x0], 1.0)
    error = abs(float(flow.final.points[0, 0]) - expected)
    print(f"two tokens: error {error:.1e}, moved {abs(expected - x0):.2f}")
    assert error <= RK4
    assert abs(expected - x0) > 0.1
    assert float(flow.final.points[1, 0]) == pytest.approx(-expected, abs=RK4)


def test_one_token_follows_its_values():
    """x(T) = e^{T∫V dρ} x, whatever Q and K are; many equal tokens do the same."""
    heads = kinds.softmax()
    x0 = np.asarray([0.7, -0.4])
    expected = expm(2.0 * np.einsum("h,hab->ab", MASS, np.asarray(heads.value))) @ x0
    rho = mk.Empirical(heads, MASS)
    for points in (x0[None], np.stack([x0] * 5)):
        flow = mk.transport(rho, mk.Empirical(points), horizon=2.0, steps=STEPS, save="last")
        assert np.abs(np.asarray(flow.final.points) - expected).max() <= RK4


def test_without_logits_the_dynamics_are_linear():
    """A = 0: every token moves with V times the mean."""
    heads = kinds.softmax()
    still = mk.Softmax(jnp.zeros_like(heads.query), heads.key, heads.value)
    mu = kinds.cloud()
    flow = mk.transport(mk.Empirical(still, MASS), mu, horizon=2.0, steps=STEPS, save="last")
    v = np.einsum("h,hab->ab", MASS, np.asarray(heads.value))
    mean = np.asarray(mu.weights) @ np.asarray(mu.points)
    expected = np.asarray(mu.points) + (expm(2.0 * v) - np.eye(2)) @ mean
    assert np.abs(np.asarray(flow.final.points) - expected).max() <= RK4


def test_hidden_units_alone_are_a_neural_ode():
    units = kinds.perceptron()
    mu = kinds.cloud()
    flow = mk.transport(mk.Empirical(units, MASS), mu, horizon=2.0, steps=STEPS, save="last")
    a, w, b = (np.asarray(leaf) for leaf in (units.output, units.weight, units.bias))
    expected = [scipy_end(lambda x: (MASS * np.tanh(w @ x + b)) @ a, x, 2.0) for x in np.asarray(mu.points)]
    assert np.abs(np.asarray(flow.final.points) - expected).max() <= RK4
    assert np.abs(np.asarray(expected) - mu.points).max() > 0.3


def test_a_cloud_against_an_independent_integrator():
    """Softmax heads and hidden units of unequal weight on weighted tokens: the finite system of mathematics, section 2."""
    heads, units, mu = kinds.softmax(), kinds.perceptron(), kinds.cloud()
    flow = mk.transport(mk.Empirical(mk.Block(heads, units), MASS), mu, horizon=1.0, steps=STEPS, save="last")
    bilinear, value, a, w, b = (np.asarray(x) for x in (heads.bilinear, heads.value, units.output, units.weight, units.bias))

    def rhs(flat):
        x = flat.reshape(-1, 2)
        e = np.exp(np.einsum("ia,hab,jb->hij", x, bilinear, x)) * np.asarray(mu.weights)
        m = np.einsum("hij,jb->hib", e / e.sum(axis=2, keepdims=True), x)
        return (np.einsum("h,hab,hib->ia", MASS, value, m) + (MASS * np.tanh(x @ w.T + b)) @ a).ravel()

    expected = scipy_end(rhs, np.asarray(mu.points).ravel(), 1.0).reshape(-1, 2)
    error = np.abs(np.asarray(flow.final.points) - expected).max()
    print(f"block on a cloud: error {error:.1e}")
    assert error <= RK4
