"""p_T(x) = ∇_x (δℓ/δμ)(x) of each loss against its formula, also at atoms of weight 0."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.adjoint import terminal
from tests.adjoint import cases

# The same formula to rounding.
LIMIT = 1e-14
BANDWIDTH = 0.7


def _bend(x):
    return x + 0.3 * jnp.sin(x)


def _bend_slope(x):
    return 1 + 0.3 * np.cos(x)


def _potential(x, target):
    return target * jnp.cos(x[0]) * x[1]


def _by_formula(name, x, w, target):
    """p_T (N, d) of one prompt, in NumPy."""
    matrix, bias = (np.asarray(part) for part in (cases.readout().matrix, cases.readout().bias))
    scores = matrix @ (w @ (x + 0.3 * np.sin(x))) + bias
    if name == "squared":
        return (matrix.T @ (scores - target)) * _bend_slope(x)
    if name == "cross":
        p = np.exp(scores - scores.max())
        return (matrix.T @ (p / p.sum() - np.eye(3)[target])) * _bend_slope(x)
    if name == "potential":
        return target * np.stack([-np.sin(x[:, 0]) * x[:, 1], np.cos(x[:, 0])], axis=1)
    y, v = np.asarray(target.points), np.asarray(target.weights)
    force = _unit if name == "energy" else _gaussian
    return 2 * force(x[:, None] - y[None]).transpose(0, 2, 1) @ v - 2 * force(x[:, None] - x[None]).transpose(0, 2, 1) @ w


def _unit(r):
    length = np.linalg.norm(r, axis=-1, keepdims=True)
    return np.where(length > 0, r / np.where(length > 0, length, 1), 0)


def _gaussian(r):
    return r / BANDWIDTH**2 * np.exp(-np.sum(r**2, axis=-1, keepdims=True) / (2 * BANDWIDTH**2))


def _nu():
    rng = np.random.default_rng(9)
    return mk.Empirical(rng.normal(size=(2, 3, 2)), np.asarray([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]))


CASES = {
    "squared": (mk.losses.SquaredError(cases.readout(features=_bend)), np.asarray([[1.0, 0.0, -1.0], [0.5, 0.2, 0.1]])),
    "cross": (mk.losses.CrossEntropy(cases.readout(features=_bend)), np.asarray([0, 2])),
    "potential": (mk.losses.Potential(_potential, targeted=True), np.asarray([0.7, -1.3])),
    "energy": (mk.losses.EnergyDistance(), _nu()),
    "mmd": (mk.losses.MMD(BANDWIDTH), _nu()),
}


@pytest.mark.parametrize("name", list(CASES))
def test_the_terminal_costate_is_the_formula(name):
    loss, targets = CASES[name]
    problem = mk.Problem(cases.prompts(), targets, loss, horizon=1.0, steps=1)
    x, w = problem.prompts.points, problem.prompts.weights
    p, (_, gradient, _) = jax.jit(lambda t: (terminal.costate(problem, x, w, t), terminal.start(problem, x, w, t)))(problem.targets)
    for i in range(2):
        target = jax.tree.map(lambda leaf, i=i: np.asarray(leaf[i]), targets)
        assert cases.distance(p[i], _by_formula(name, np.asarray(x[i]), np.asarray(w[i]), target)) <= LIMIT
    assert cases.distance(w[..., None] * p, gradient) <= LIMIT
