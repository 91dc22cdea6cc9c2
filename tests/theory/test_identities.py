"""The exact identities hold to rounding, and each tells a wrong gradient or field from a right one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.adjoint import particle_gradient
from mckean.objective.evaluation import terminal
from mckean.theory import identities
from tests.adjoint import cases

# Sums of a few hundred terms, to rounding.
LIMIT = 1e-12
# A key bias moves all logits of a query together: what is left of its gradient is rounding.
ZERO = 1e-14
EXACT = ("mass", "scaling", "gauge", "splitting", "permutation", "costate")
# A central difference with a step of eps^{1/3}.
TAYLOR = 1e-8
CASES = {"tied": ("heun", "block", "tied"), "layered": ("heun", "softmax", "layered")}


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("name", EXACT)
def test_each_identity_holds_to_rounding(name, case):
    scheme, kind, depth = CASES[case]
    assert getattr(identities, name)(cases.problem(scheme), cases.measure(kind, depth)) <= LIMIT


def test_the_taylor_check_holds_to_its_order():
    problem, rho = cases.problem("heun"), cases.measure("block")
    assert identities.taylor(problem, rho, key=jax.random.key(0)) <= TAYLOR
    assert identities.taylor(problem, rho, key=jax.random.key(0), epsilon=0.1) > TAYLOR


def test_heads_without_attention_or_with_bounded_queries_have_no_gauge():
    problem = cases.problem("heun")
    assert np.isnan(identities.gauge(problem, cases.measure("perceptron")))
    assert np.isnan(identities.gauge(problem, cases.measure("bounded")))


def test_the_mass_check_tells_a_loss_of_mass():
    problem, rho = cases.problem("heun"), cases.measure("block")
    lost = eqx.tree_at(lambda p: p.prompts.weights, problem, problem.prompts.weights * 0.9)
    assert identities.mass(lost, rho) == pytest.approx(0.1)


def test_the_hamiltonian_is_the_derivative_in_the_horizon():
    problem, rho = cases.problem("rk4", 16), cases.measure("perceptron")
    h = np.asarray(identities.hamiltonian(problem, rho))
    longer = lambda e: float(mk.risk(eqx.tree_at(lambda p: p.horizon, problem, problem.horizon + e), rho))  # noqa: E731
    slope = (8 * (longer(0.01) - longer(-0.01)) - (longer(0.02) - longer(-0.02))) / 0.12
    # 16 steps of RK4: 1e-5 relative.
    assert np.max(np.abs(h.mean(axis=0) - slope)) <= 1e-5 * abs(slope)
    assert h.shape == (2, 17)


class KeyBias(mk.Head):
    """Softmax attention on the keys Ky + b."""

    query: jax.Array
    key: jax.Array
    value: jax.Array
    bias: jax.Array

    def map(self, x, mu):
        logits = (mu.points @ self.key.T + self.bias[None]) @ (self.query @ x)
        e = mu.weights * jnp.exp(logits - jax.lax.stop_gradient(jnp.max(logits)))
        return self.value @ (e @ mu.points) / jnp.sum(e)


def test_a_key_bias_has_no_gradient():
    plain = cases.heads("softmax")
    bias = jnp.asarray(np.random.default_rng(2).normal(size=(3, 2)))
    rho = mk.Empirical(KeyBias(plain.query, plain.key, plain.value, bias), jnp.asarray(cases.HEAD_WEIGHTS))
    problem = cases.problem("euler", confinement=0.0)
    gradient = particle_gradient(problem, rho).particles
    assert cases.largest(gradient.bias) <= ZERO
    assert cases.largest(gradient.key) >= 0.01
    same = particle_gradient(problem, cases.measure("softmax")).particles
    assert cases.distance(gradient.value, same.value) <= LIMIT


def test_the_identities_hold_where_the_risk_has_been_learned_to_nearly_nothing():
    problem, rho = cases.problem("heun"), cases.measure("block")
    readout = mk.Readout(jnp.asarray([[1.0, 0.3], [-0.4, 0.9]]), jnp.asarray([0.2, -0.1]))
    targets = jax.vmap(readout)(terminal(problem, rho)) + 1e-9
    problem = eqx.tree_at(lambda p: (p.loss, p.targets), problem, (mk.losses.SquaredError(readout), targets))
    defects = [identities.splitting(problem, rho), identities.permutation(problem, rho)]
    assert max(defects) <= LIMIT
    # Beside the risk itself the same rounding is large.
    assert max(defects) * float(identities.magnitude(problem, rho)) > LIMIT * float(mk.risk(problem, rho))
    assert identities.taylor(problem, rho, key=jax.random.key(0)) <= TAYLOR
