"""The risk: a mean over prompts that do not see each other, padding that changes nothing, and the confinement."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.objective.evaluation import prompt_losses
from tests.adjoint import cases

# The same flow in another batch, to rounding.
LIMIT = 1e-14
LABELS = (0, 2)
# A wrong type is stopped by the annotations, which the tests check, before the sentence that a user sees; both name the argument.
REFUSED = (mk.Refused, TypeError)


def _lone(mu, label, scheme="heun"):
    keep = np.asarray(mu.weights) > 0
    cloud = mk.Empirical(mu.points[keep], mu.weights[keep])
    return mk.Problem(
        cloud, jnp.asarray(label), mk.losses.CrossEntropy(cases.readout()), horizon=1.0, steps=4, scheme=scheme
    )


def test_the_risk_of_padded_prompts_is_the_mean_of_lone_ones():
    problem, rho = cases.problem(), cases.measure("block")
    losses = np.asarray(prompt_losses(problem, rho))
    lone = [float(mk.risk(_lone(problem.prompts[i], label), rho)) for i, label in enumerate(LABELS)]
    assert cases.distance(losses, np.asarray(lone)) <= LIMIT
    assert abs(float(mk.risk(problem, rho)) - np.mean(lone)) <= LIMIT


def test_the_flow_of_the_risk_is_the_flow_of_transport():
    problem, rho = cases.problem(), cases.measure("block")
    flow = mk.transport(rho, problem.prompts, horizon=1.0, steps=4, scheme="heun", save="last")
    by_hand = [float(problem.loss(flow.final[i], jnp.asarray(label))) for i, label in enumerate(LABELS)]
    assert cases.distance(np.asarray(prompt_losses(problem, rho)), np.asarray(by_hand)) <= LIMIT


def test_the_confinement_is_half_lambda_times_the_mean_square_norm():
    problem, rho = cases.problem(), cases.measure("block")
    squares = sum(np.sum(np.asarray(leaf) ** 2, axis=tuple(range(1, leaf.ndim))) for leaf in jax.tree.leaves(rho.points))
    extra = float(mk.regularised_risk(problem, rho)) - float(mk.risk(problem, rho))
    assert abs(extra - 0.5 * cases.CONFINEMENT * np.asarray(rho.weights) @ squares) <= LIMIT * 10


def test_a_layered_confinement_is_the_depth_integral_of_the_layers():
    rho, layered = cases.measure("softmax"), cases.measure("softmax", "layered")
    long = cases.problem(horizon=3.0)
    extra = lambda measure: float(mk.regularised_risk(long, measure)) - float(mk.risk(long, measure))  # noqa: E731
    squares = sum(np.sum(np.asarray(leaf) ** 2, axis=tuple(range(2, leaf.ndim))) for leaf in jax.tree.leaves(layered.points))
    per_layer = np.sum(np.asarray(layered.weights) * squares, axis=1)
    assert abs(extra(layered) - 0.5 * cases.CONFINEMENT * 3.0 * np.mean(per_layer)) <= LIMIT * 100
    repeated = mk.Empirical(mk.Layered.repeat(rho.points, 2), jnp.stack([rho.weights] * 2))
    # The same ρ at every depth, integrated over T = 3.
    assert abs(extra(repeated) - 3.0 * extra(rho)) <= LIMIT * 100
    assert abs(float(mk.risk(long, repeated)) - float(mk.risk(long, rho))) <= LIMIT * 10


def test_a_flow_that_leaves_the_finite_numbers_has_no_risk():
    rho = mk.Empirical(mk.Perceptron(jnp.full((1, 2), 40.0), jnp.zeros(1), jnp.full((1, 2), 40.0), activation=jnp.exp))
    assert not np.isfinite(float(mk.risk(cases.problem(), rho)))


def test_an_adaptive_flow_that_does_not_reach_the_horizon_has_no_risk():
    assert np.isnan(float(mk.risk(cases.problem("tsit5", 2, rtol=1e-9, atol=1e-9), cases.measure("softmax"))))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"horizon": 0.0}, "horizon"),
        ({"horizon": np.inf}, "horizon"),
        ({"steps": 0}, "depth steps"),
        ({"confinement": -1.0}, "confinement"),
        ({"temperature": np.nan}, "temperature"),
        ({"scheme": "leapfrog"}, "scheme"),
        ({"loss": 3.0}, "loss"),
        ({"targets": np.asarray([0, 1, 2])}, "target"),
        ({"targets": np.asarray(1)}, "target"),
    ],
)
def test_bad_problems_are_refused(options, words):
    given = {"targets": np.asarray(LABELS), "loss": mk.losses.CrossEntropy(cases.readout()), "horizon": 1.0, "steps": 4}
    given |= options
    with pytest.raises(REFUSED, match=words):
        mk.Problem(cases.prompts(), given.pop("targets"), given.pop("loss"), **given)


def test_head_measures_that_do_not_fit_are_refused():
    problem = cases.problem(steps=3)
    with pytest.raises(mk.Refused, match="layers"):
        mk.risk(problem, cases.measure("softmax", "layered"))
    wide = mk.Empirical(mk.Softmax(np.zeros((1, 1, 3)), np.zeros((1, 1, 3)), np.zeros((1, 3, 3))))
    for verb in (mk.risk, mk.functional_gradient):
        with pytest.raises(mk.Refused, match="do not fit"):
            verb(problem, wide)
    with pytest.raises(mk.Refused, match="measure of heads"):
        mk.risk(problem, problem.prompts)


def test_functional_gradients_refuse_layered_heads_and_other_adjoints():
    problem, rho = cases.problem("heun"), cases.measure("block")
    with pytest.raises(REFUSED, match="adjoint"):
        mk.functional_gradient(problem, rho, adjoint="frozen")
    with pytest.raises(mk.Refused, match="layered"):
        mk.functional_gradient(problem, rho)(cases.measure("block", "layered").points)
