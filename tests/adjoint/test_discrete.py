"""The discrete adjoint is JAX's reverse mode through the scheme, in heads, masses, readout and tokens."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.adjoint import particle_gradient
from mckean.adjoint.functional_gradient import _by_step
from mckean.objective.evaluation import square_norm
from tests.adjoint import cases

# Both are the same sums in another order.
LIMIT = 1e-13
# Every kind with two schemes, and either depth with every scheme and every kind.
COMBINATIONS = [
    ("softmax", "heun", "tied"),
    ("softmax", "rk4", "layered"),
    ("perceptron", "rk4", "tied"),
    ("perceptron", "euler", "layered"),
    ("block", "rk4", "tied"),
    ("block", "heun", "layered"),
    ("bounded", "euler", "tied"),
    ("bounded", "heun", "layered"),
]


@jax.jit
def _reverse_mode(problem, rho):
    """∂L_λ/∂(points of ρ, masses of ρ, readout, tokens) by JAX."""
    readout = lambda p: (p.loss.readout.matrix, p.loss.readout.bias)  # noqa: E731

    def total(points, mass, arrays, tokens):
        here = eqx.tree_at(readout, problem, arrays)
        here = eqx.tree_at(lambda p: p.prompts.points, here, tokens)
        return mk.regularised_risk(here, rho.with_points(points).with_weights(mass))

    return jax.grad(total, argnums=(0, 1, 2, 3))(rho.points, rho.weights, readout(problem), problem.prompts.points)


def _weighted(rho, tree):
    """A density at the atoms as derivatives in their parameters: times the mass, and times a layer's interval."""
    mass = rho.weights * cases.HORIZON / (cases.LAYERS if rho.weights.ndim == 2 else 1)
    return jax.tree.map(lambda leaf: leaf * mass.reshape(mass.shape + (1,) * (leaf.ndim - mass.ndim)), tree)


@pytest.mark.parametrize(("kind", "scheme", "depth"), COMBINATIONS)
def test_the_discrete_adjoint_is_reverse_mode(kind, scheme, depth):
    problem, rho = cases.problem(scheme), cases.measure(kind, depth)
    found = particle_gradient(problem, rho)
    points, mass, (matrix, bias), tokens = _reverse_mode(problem, rho)
    interval = cases.HORIZON / (cases.LAYERS if depth == "layered" else 1)
    variation = (found.values + 0.5 * problem.confinement * square_norm(rho)) * interval
    assert cases.distance(_weighted(rho, found.particles), points) <= LIMIT
    assert cases.distance(variation, mass) <= LIMIT
    assert cases.distance((found.loss.readout.matrix, found.loss.readout.bias), (matrix, bias)) <= LIMIT
    assert cases.distance(found.initial, tokens) <= LIMIT
    assert cases.distance(found.risk, mk.risk(problem, rho)) <= LIMIT


def test_chunks_of_prompts_change_nothing():
    prompts = mk.Empirical(np.random.default_rng(3).normal(size=(5, 4, 2)), np.full((5, 4), 0.25))
    make = lambda method: mk.Problem(  # noqa: E731
        prompts, jnp.asarray([0, 2, 1, 1, 0]), mk.losses.CrossEntropy(cases.readout()),
        horizon=1.0, steps=1, scheme="euler", confinement=0.1, method=method,
    )  # fmt: skip
    whole, cut = make(mk.Exact()), make(mk.Exact(block=8))
    assert (whole.chunk(3), cut.chunk(3)) == (5, 2)
    rho = cases.measure("softmax")
    assert cases.distance(mk.risk(cut, rho), mk.risk(whole, rho)) <= LIMIT
    left, right = (mk.functional_gradient(p, rho) for p in (cut, whole))
    for name in ("risk", "particles", "values", "costate", "cloud_points", "cloud_adjoints"):
        assert cases.distance(getattr(left, name), getattr(right, name)) <= LIMIT
    assert cases.distance(left(rho.points), right(rho.points)) <= LIMIT


def test_evaluating_the_functional_gradient_is_a_program_of_one_size():
    """Chunks of prompts are a loop, not copies of its body."""
    rho = cases.measure("softmax")

    def size(prompts):
        cloud = mk.Empirical(np.zeros((prompts, 4, 2)), np.full((prompts, 4), 0.25))
        loss = mk.losses.SquaredError(mk.Readout(jnp.ones((1, 2))))
        problem = mk.Problem(cloud, np.zeros(prompts), loss, horizon=1.0, steps=1, scheme="euler", method=mk.Exact(block=8))
        shape = (prompts, 1, 1, 4, 2)
        blank = mk.FunctionalGradient(
            problem, rho, jnp.zeros(()), rho.points, rho.weights, jnp.zeros((prompts, 2, 4, 2)), jnp.arange(2.0), jnp.zeros(1, int),
            jnp.zeros(shape), jnp.zeros(shape), "discrete",
        )  # fmt: skip
        return str(jax.make_jaxpr(lambda heads: _by_step(blank, heads))(rho.points)).count("\n")

    assert size(64) == size(8)
