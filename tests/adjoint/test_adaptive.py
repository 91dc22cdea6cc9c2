"""The gradient of the adaptive scheme is that of its accepted steps, frozen."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.adjoint import particle_gradient
from mckean.theory import identities
from tests.adjoint import cases

# Central differences on the frozen grid (step 1e-5): 1e-10; on the grid that is chosen anew: the scheme's tolerance 1e-9 over the step 1e-2.
FROZEN, FREE = 1e-9, 1e-5
DISCRETE = 1e-12


def test_the_adaptive_gradient_is_that_of_the_frozen_grid():
    rho = cases.measure("block")
    base = cases.problem("tsit5", 32, rtol=1e-9, atol=1e-9).settled(rho)
    found = particle_gradient(base, rho)
    x, w = base.prompts.points, base.prompts.weights
    grid = jax.jit(lambda: base.grid(rho, x, w))()
    assert not bool(grid.overrun)
    frozen = cases.OnGrid(base, grid)
    rng = np.random.default_rng(4)
    direction = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), rho.points)
    total = jax.jit(lambda e: mk.regularised_risk(frozen, _moved(rho, direction, e)))
    parts = jax.tree.map(lambda g, v: np.sum(np.asarray(rho.weights) @ np.asarray(g * v).reshape(3, -1)), found.particles, direction)
    slope = sum(jax.tree.leaves(parts))
    assert abs(float(jax.jit(jax.grad(total))(0.0)) - slope) <= DISCRETE * abs(slope)
    assert abs((float(total(1e-5)) - float(total(-1e-5))) / 2e-5 - slope) <= FROZEN * max(abs(slope), 1.0)
    free = lambda e: float(mk.regularised_risk(base, _moved(rho, direction, e)))  # noqa: E731
    fourth = (8 * (free(0.01) - free(-0.01)) - (free(0.02) - free(-0.02))) / 0.12
    assert abs(fourth - slope) <= FREE * max(abs(slope), 1.0)


@pytest.mark.parametrize("depth", ["tied", "layered"])
def test_the_adaptive_risk_has_a_derivative_in_the_horizon(depth):
    """The accepted steps are fractions of T."""
    base, rho = cases.problem("tsit5", 64, rtol=1e-9, atol=1e-9), cases.measure("block", depth)
    at = jax.jit(lambda horizon: mk.risk(eqx.tree_at(lambda p: p.horizon, base, horizon), rho))
    slope = float(jax.grad(at)(base.horizon))
    fourth = (8 * float(at(1.01) - at(0.99)) - float(at(1.02) - at(0.98))) / 0.12
    assert abs(slope) > 0.01
    assert abs(fourth - slope) <= FREE * max(abs(slope), 1.0)
    assert identities.scaling(base, rho) <= DISCRETE


def _moved(rho, direction, e):
    return rho.with_points(jax.tree.map(lambda x, v: x + e * v, rho.points, direction))
