"""Flows by tables: planned for the range that tokens reach, ended right where they outgrow it, and trained through."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.field.tabulated.guarded import Planned
from mckean.tokens import planning
from tests.heads import kinds

EXACT = mk.Exact()
RTOL = 1e-5
TOKENS = 64


def _tokens(seed=0, stretch=1.0):
    x = stretch * np.random.default_rng(seed).uniform(-1, 1, size=(2, TOKENS, 1))
    w = np.random.default_rng(1).uniform(0.1, 1.0, size=(2, TOKENS))
    w[1, -5:] = 0.0
    return mk.Empirical(x, w, normalize=True)


def _tied(value=1.0):
    """Two heads of A = 1 and V: the cloud widens for V = 1 and narrows for V = −1."""
    one = jnp.ones((2, 1, 1))
    return mk.Empirical(mk.Softmax(one, one * jnp.asarray([1.0, 0.5])[:, None, None], value * one))


def _flow(rho, mu, method):
    return mk.transport(rho, mu, horizon=1.0, steps=4, scheme="heun", save="last", method=method)


def _error(flow, exact):
    return float(jnp.max(jnp.abs(flow.final.points - exact.final.points)) / jnp.max(jnp.abs(exact.final.points)))


@pytest.mark.parametrize("kind", ["tied", "layered"])
def test_a_flow_by_a_table_is_the_flow(kind):
    rho = _tied() if kind == "tied" else mk.Empirical(mk.Layered(kinds.softmax(2, 1, 1, lead=(2,))), np.full((2, 2), 0.5))
    flow, exact = (_flow(rho, _tokens(), method) for method in (mk.Tabulated(RTOL), EXACT))
    stats = flow.stats["field"]
    assert stats["method"] == "Tabulated"
    assert stats["tabulated"] == stats["evaluations"] == 2 * 4 * 2  # prompts, steps, stages
    assert 0 < _error(flow, exact) <= 10 * RTOL
    assert "field by a table: 16 of 16" in flow.card()
    assert exact.stats["field"]["method"] == "Exact"


def test_a_flow_that_outgrows_its_plan_ends_right_and_says_so(monkeypatch):
    monkeypatch.setattr(planning, "_growth", lambda *_: 0.2)
    flow, exact = (_flow(_tied(1.2), _tokens(), method) for method in (mk.Tabulated(RTOL), EXACT))
    stats = flow.stats["field"]
    assert stats["tabulated"] < stats["evaluations"]
    assert "outgrew the table's plan" in stats["note"]
    assert "outgrew" in flow.card()
    assert _error(flow, exact) <= 10 * RTOL


def test_the_pilot_sees_tokens_spread_and_never_asks_for_less():
    mu, t = _tokens(), jnp.asarray(1.0)
    wide, narrow = (planning._growth(_tied(v), mu.points, mu.weights, t) for v in (1.5, -1.0))
    assert wide > 2.0
    assert narrow == 1.0
    flow = _flow(_tied(1.5), mu, EXACT).final.points
    actual = float(
        jnp.max(jnp.max(flow, axis=1) - jnp.min(flow, axis=1)) / jnp.max(jnp.max(mu.points, axis=1) - jnp.min(mu.points, axis=1))
    )
    assert wide * planning.MARGIN >= actual**2


def test_flows_of_data_that_differ_little_share_a_plan():
    t = jnp.asarray(1.0)
    clouds = [_tokens(0), _tokens(0, 1.001), _tokens(0, 1.003)]
    plans = {planning.settle_flow(mk.Tabulated(RTOL), _tied(), mu.points, mu.weights, t).plan for mu in clouds}
    assert None not in plans
    assert len(plans) <= 2


def _problem(method):
    targets = jnp.asarray([[0.5], [-0.5]])
    loss = mk.losses.SquaredError(mk.Readout(jnp.ones((1, 1))))
    return mk.Problem(_tokens(), targets, loss, horizon=1.0, steps=2, scheme="heun", confinement=0.1, method=method)


def test_a_problem_settles_once():
    problem = _problem(mk.Tabulated(RTOL))
    settled = problem.settled(_tied())
    assert isinstance(settled.method, Planned)
    assert settled.settled(_tied()) is settled
    assert settled.method.plan.error <= RTOL  # a hundred times tighter, in other units
    assert isinstance(_problem(None).settled(_tied()).method, mk.Exact)
    assert _problem(EXACT).settled(_tied()).method == EXACT


def test_the_functional_gradient_by_a_table():
    ours, exact = (mk.functional_gradient(_problem(method), _tied()) for method in (mk.Tabulated(RTOL), EXACT))
    assert abs(float(ours.risk - exact.risk)) <= RTOL * float(exact.risk)
    for name in ("particles", "values", "costate"):
        for a, b in zip(jax.tree.leaves(getattr(ours, name)), jax.tree.leaves(getattr(exact, name)), strict=True):
            assert float(jnp.max(jnp.abs(a - b)) / jnp.max(jnp.abs(b))) <= 10 * RTOL


def test_training_by_a_table_is_training():
    options = {"step_size": 0.1, "steps": 3, "key": jax.random.key(0)}
    ours, exact = (mk.solve(_problem(method), _tied(), **options) for method in (mk.Tabulated(RTOL), EXACT))
    assert ours.result.ok
    assert float(exact.risk[-1]) < float(exact.risk[0])
    assert np.allclose(ours.risk, exact.risk, rtol=1e-6, atol=0)
    for a, b in zip(jax.tree.leaves(ours.rho), jax.tree.leaves(exact.rho), strict=True):
        assert np.allclose(a, b, rtol=0, atol=1e-6)
