"""Heads and tokens of weight 0: their gradient and costate are finite, and the limit of a vanishing weight."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import mckean as mk
from tests.adjoint import cases

# A cubic through four small weights, extrapolated to 0: error of order (1e-2)⁴ times a constant of order one to ten.
LIMIT = 1e-6
SMALL = 1e-2 * np.arange(1, 5)


def _extrapolate(values):
    """The value at 0 of the cubic through SMALL."""
    return sum(c * np.asarray(v) for c, v in zip((4, -6, 4, -1), values, strict=True))


def test_a_head_of_weight_zero_has_the_gradient_of_a_vanishing_head():
    problem, rho = cases.problem("heun"), cases.measure("block")
    at = lambda e: mk.functional_gradient(problem, rho.with_weights(jnp.asarray([0.6 * (1 - e), 0.4 * (1 - e), e])))  # noqa: E731
    limit, near = at(0.0), [at(e) for e in SMALL]
    for leaf, *others in zip(*(jax.tree.leaves(g.particles) for g in (limit, *near)), strict=True):
        assert np.all(np.isfinite(leaf))
        assert cases.distance(leaf[2], _extrapolate([other[2] for other in others])) <= LIMIT
    assert cases.distance(limit.values[2], _extrapolate([g.values[2] for g in near])) <= LIMIT


def test_a_token_of_weight_zero_has_the_costate_of_a_vanishing_token():
    problem, rho = cases.problem("heun"), cases.measure("block")

    def at(e):
        mass = np.asarray(problem.prompts.weights).copy()
        mass[1] = [0.5 * (1 - e), 0.3 * (1 - e), 0.2 * (1 - e), e]
        return mk.functional_gradient(eqx.tree_at(lambda p: p.prompts.weights, problem, jnp.asarray(mass)), rho)

    limit, near = at(0.0), [at(e) for e in SMALL]
    assert cases.distance(limit.costate[1], _extrapolate([g.costate[1] for g in near])) <= LIMIT
    assert float(jnp.max(jnp.abs(limit.costate[1, 0, 3]))) > 0.01


def test_a_token_of_weight_zero_moves_nothing_wherever_it_is():
    problem, rho = cases.problem("heun"), cases.measure("block")
    here = mk.functional_gradient(problem, rho)
    far = eqx.tree_at(lambda p: p.prompts.points, problem, problem.prompts.points.at[1, 3].set(jnp.asarray([40.0, -30.0])))
    there = mk.functional_gradient(far, rho)
    assert float(there.risk) == float(here.risk)
    assert cases.distance(there.particles, here.particles) <= 1e-14
    assert cases.distance(there.costate[:, :, :3], here.costate[:, :, :3]) <= 1e-14
    assert bool(jnp.all(jnp.isfinite(there.costate)))
