"""The discrete adjoint is the transpose of each step's tangent map: ⟨w, Jv⟩ = ⟨Jᵀw, v⟩."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.adjoint.discrete import reverse_step
from mckean.field.exact import field
from mckean.field.reverse import pullback
from mckean.measures.empirical import unchecked
from mckean.tokens.integrate import stages, step
from mckean.tokens.schemes import SCHEMES
from tests.adjoint import cases

# Sixteen products a pairing: a few roundings of |w||Jv|.
LIMIT = 1e-14
# A Jacobian without the nonlocal part is wrong in its leading order.
FAR = 1e-3
SEEDS = 8
METHOD = mk.Exact(tile=None)
STEP = 0.3


def _pairings(draws, scheme, local):
    """(⟨w, Jv⟩, ⟨Jᵀw, v⟩, |w||Jv|) of one step at random clouds, heads and directions."""
    rho, x, mass, v, dual = draws
    velocity = lambda y: field(rho.points, rho.weights, y, mass, METHOD)  # noqa: E731
    h = jnp.asarray(STEP)
    _, jv = jax.jvp(lambda y: step(velocity, y, h, scheme), (x,), (v,))
    points, _ = stages(velocity, x, h, scheme)

    def image(y, lam):
        if not local:
            return pullback(rho.points, rho.weights, y, mass, lam, METHOD)[0]
        _, pull = jax.vjp(lambda q: field(rho.points, rho.weights, y, mass, METHOD, q), y)
        return pull(lam)[0]

    transposed, _ = reverse_step(image, points, dual, h, scheme)
    return jnp.vdot(dual, jv), jnp.vdot(transposed, v), jnp.linalg.norm(dual) * jnp.linalg.norm(jv)


def _defects(name, local=False):
    rng = np.random.default_rng(7)
    mass = rng.uniform(0.1, 1.0, size=(SEEDS, 2, 4))
    rho = unchecked(cases.heads("block", seed=8, lead=(SEEDS,)), jnp.tile(jnp.asarray(cases.HEAD_WEIGHTS), (SEEDS, 1)))
    x, v, dual = jnp.asarray(rng.normal(size=(3, SEEDS, 2, 4, 2)))
    draws = (rho, x, jnp.asarray(mass / mass.sum(axis=2, keepdims=True)), v, dual)
    left, right, size = jax.jit(jax.vmap(partial(_pairings, scheme=SCHEMES[name], local=local)))(draws)
    return np.abs(left - right) / size


@pytest.mark.parametrize("name", ["euler", "heun", "rk4"])
def test_a_reversed_step_is_the_transpose_of_the_step(name):
    assert _defects(name).max() <= LIMIT


def test_the_identity_tells_when_the_nonlocal_part_is_missing():
    assert _defects("euler", local=True).max() >= FAR
