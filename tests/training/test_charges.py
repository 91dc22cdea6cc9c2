"""QQᵀ − KKᵀ of each head: conserved by the gradient flow, damped by weight decay, kept only in the mean by noise."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from tests.adjoint import cases

# Explicit Euler in s: first order at a fixed s.
SLOPE = (0.9, 1.1)
END, STEP_COUNTS = 1.0, (32, 64, 128, 256)
HEADS = 256
# Noise: the mean over heads of a martingale of independent heads lies within four standard errors.
SIGMAS = 4.0
BETA = 0.05


def _charges(rho):
    q, k = np.asarray(rho.points.query), np.asarray(rho.points.key)
    return q @ q.transpose(0, 2, 1) - k @ k.transpose(0, 2, 1)


def _solve(lam, beta, steps):
    problem = cases.problem("euler", 1)
    # Arrays, so that one compiled step serves every λ and β. A risk times ten, so that the heads move.
    problem = eqx.tree_at(lambda p: (p.confinement, p.temperature), problem, (jnp.asarray(lam), jnp.asarray(beta)))
    readout = lambda p: p.loss.readout.matrix  # noqa: E731
    problem = eqx.tree_at(readout, problem, 5 * readout(problem))
    rho = mk.Empirical(cases.heads("softmax", count=HEADS))
    return rho, mk.solve(problem, rho, step_size=END / steps, steps=steps, key=jax.random.key(3)).rho


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_charges_are_conserved_or_decay_like_exp_of_minus_two_lambda_s(lam):
    drifts = []
    for steps in STEP_COUNTS:
        before, after = _solve(lam, 0.0, steps)
        expected = np.exp(-2 * lam * END) * _charges(before)
        drifts.append(np.linalg.norm(_charges(after) - expected) / np.linalg.norm(expected))
        moved = cases.distance(after.points.query * np.exp(lam * END), before.points.query)
        assert moved > 0.01
    assert SLOPE[0] <= -cases.slope(STEP_COUNTS, drifts) <= SLOPE[1], drifts


def test_with_noise_only_the_mean_over_heads_is_conserved():
    before, after = _solve(0.0, BETA, 64)
    change = _charges(after) - _charges(before)
    spread = change.std(axis=0)
    assert np.all(np.abs(change.mean(axis=0)) <= SIGMAS * spread / np.sqrt(HEADS))
    assert np.all(spread > 0.1)
