"""Stationary laws in a quadratic well, with no data: they tell the right size of the noise, and the scheme's own bias."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

import mckean as mk
from mckean.training.dynamics import axpy, normal_like

LAM, BETA, H = 1.0, 0.3, 0.5
HEADS = 4096
# Snapshots every 12 steps are independent to (1 − λh)^24 = 6e-8: 20 of them of 5 × 4,096 numbers, after 48 steps from 0.
EVERY, BURN, SNAPSHOTS = 12, 4, 20
NUMBERS = SNAPSHOTS * 5 * HEADS
SIGMAS = 4.0
FRICTION, INERTIAL_H = 1.0, 0.25


def _nothing(x):
    return jnp.zeros((), x.dtype)


def _second_moments(dynamics, step_size, every=EVERY):
    """Mean squares of all numbers of all heads along a run from 0."""
    problem = mk.Problem(
        mk.Empirical(np.zeros((1, 2))), None, mk.losses.Potential(_nothing),
        horizon=1.0, steps=1, scheme="euler", confinement=LAM, temperature=BETA,
    )  # fmt: skip
    rho = mk.Empirical(mk.Perceptron(np.zeros((HEADS, 2)), np.zeros(HEADS), np.zeros((HEADS, 2))))
    solution = mk.solve(
        problem, rho, step_size=step_size, steps=every * (BURN + SNAPSHOTS), key=jax.random.key(1), dynamics=dynamics,
        observe=_mean_square, every=every,
    )  # fmt: skip
    return np.asarray(solution.observed)[-SNAPSHOTS:], solution


def _mean_square(rho):
    flat = jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(rho.points)])
    return jnp.mean(flat**2)


def _sigmas(found, expected, numbers=NUMBERS):
    """How many standard errors a sample variance of Gaussian numbers of mean 0 is away."""
    return abs(found / expected - 1) / np.sqrt(2 / numbers)


def test_langevin_has_the_variance_of_euler_maruyama():
    found = _second_moments(mk.Langevin(), H)[0].mean()
    assert _sigmas(found, BETA / (LAM * (1 - LAM * H / 2))) <= SIGMAS
    assert _sigmas(found, BETA / LAM) > 10 * SIGMAS


class HalfNoise(mk.Langevin):
    """The mistake: noise √(βh)."""

    def update(self, theta, memory, drift, h, beta, key):
        return axpy(jnp.sqrt(beta * h), normal_like(key, theta), axpy(-h, drift, theta)), memory


def test_a_noise_of_the_wrong_size_is_seen():
    found = _second_moments(HalfNoise(), H)[0].mean()
    assert _sigmas(found, BETA / (LAM * (1 - LAM * H / 2))) > 10 * SIGMAS


def test_inertial_has_the_variances_of_its_scheme_and_of_the_physics():
    found, solution = _second_moments(mk.Inertial(FRICTION), INERTIAL_H, every=40)
    law = _law(INERTIAL_H)
    assert _sigmas(found.mean(), law[0, 0]) <= SIGMAS
    velocity = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(solution.state.memory)])
    assert _sigmas(np.mean(velocity**2), law[1, 1], velocity.size) <= SIGMAS
    # The scheme's law is the physical one, N(0, β/λ) × N(0, β), up to O(h).
    steps = np.asarray([0.02, 0.01, 0.005])
    laws = np.stack([np.diag(_law(h)) for h in steps])
    assert np.all(np.abs(laws / np.asarray([BETA / LAM, BETA]) - 1) <= steps[:, None])


def _law(h):
    """The stationary covariance of v ← keep (v − hλθ) + noise, θ ← θ + h v: a linear map of (θ, v), solved as a Lyapunov equation."""
    keep = np.exp(-FRICTION * h)
    kick = np.asarray([-keep * h * LAM, keep])
    linear = np.stack([np.asarray([1.0, 0.0]) + h * kick, kick])
    shape = np.asarray([h, 1.0])
    return solve_discrete_lyapunov(linear, BETA * (1 - keep**2) * np.outer(shape, shape))


@pytest.mark.parametrize("friction", [0.0, -1.0])
def test_a_friction_that_is_not_positive_is_refused(friction):
    with pytest.raises(mk.Refused, match="friction"):
        mk.Inertial(friction)
