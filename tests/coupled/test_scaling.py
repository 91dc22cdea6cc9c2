"""Training speed depends neither on the number of heads nor on the number of layers, and splitting heads changes nothing."""

import jax
import jax.numpy as jnp
import pytest

import mckean as mk
from tests.adjoint import cases

# The same sums in another order, over three steps.
LIMIT = 1e-12
STEPS = 3


def _train(rho):
    return mk.solve(cases.problem("heun"), rho, step_size=0.3, steps=STEPS, key=jax.random.key(0)).rho


@pytest.fixture(scope="module")
def tied():
    rho = cases.measure("block")
    return rho, _train(rho)


def test_one_step_size_serves_every_number_of_heads(tied):
    """Each head written four times at a quarter of its mass: each copy moves as the head did, at the same step size."""
    rho, trained = tied
    split = mk.Empirical(jax.tree.map(lambda leaf: jnp.tile(leaf, (4, *(1,) * (leaf.ndim - 1))), rho.points), jnp.tile(rho.weights / 4, 4))
    moved = _train(split)
    for copy in range(4):
        part = jax.tree.map(lambda leaf, copy=copy: leaf[3 * copy : 3 * copy + 3], moved.points)
        assert cases.distance(part, trained.points) <= LIMIT
    assert cases.distance(trained.points, rho.points) > 0.01


def test_training_speed_does_not_depend_on_the_number_of_layers():
    """Equal layers feel different costates and part; the mean of their velocities over depth is the tied one, for any number of layers."""
    rho = cases.measure("block")
    repeated = mk.Empirical(mk.Layered.repeat(rho.points, 4), jnp.stack([rho.weights] * 4))
    problem = cases.problem("heun")
    tied = mk.functional_gradient(problem, rho)
    layered = mk.functional_gradient(problem, repeated)
    # δL/δρ_t is a density in t: its depth integral is the tied variation, the confinement (λ/2)|θ|² once in each.
    decay = jax.tree.map(lambda leaf: problem.confinement * leaf, rho.points)
    data = jax.tree.map(lambda g, d: g - d, tied.particles, decay)
    mean = jax.tree.map(lambda g, d: jnp.mean(g, axis=0) - d, layered.particles.heads_by_layer, decay)
    assert cases.distance(jax.tree.map(lambda leaf: cases.HORIZON * leaf, mean), data) <= LIMIT
    assert cases.distance(cases.HORIZON * jnp.mean(layered.values, axis=0), tied.values) <= LIMIT
