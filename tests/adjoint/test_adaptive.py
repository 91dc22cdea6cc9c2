"""The gradient of the adaptive scheme is that of its accepted steps, frozen."""

import jax
import jax.numpy as jnp
import numpy as np

import mckean as mk
from mckean.adjoint import particle_gradient
from tests.adjoint import cases

# Central differences on the frozen grid (step 1e-5): 1e-10; on the grid that is chosen anew: the scheme's tolerance 1e-9 over the step 1e-2.
FROZEN, FREE = 1e-9, 1e-5
DISCRETE = 1e-12


def test_the_adaptive_gradient_is_that_of_the_frozen_grid():
    base, rho = cases.problem("tsit5", 32, rtol=1e-9, atol=1e-9), cases.measure("block")
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


def _moved(rho, direction, e):
    return rho.with_points(jax.tree.map(lambda x, v: x + e * v, rho.points, direction))
