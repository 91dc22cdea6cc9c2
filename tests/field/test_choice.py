"""The choice among methods: what is small stays exact, what is large goes by a table, and plans are shared by data that differ little."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.field import choice
from mckean.field.method import Automatic
from mckean.field.tabulated import costs
from mckean.field.tabulated.costs import Costs
from tests.heads import kinds


def _cloud(tokens, d=2, seed=0, stretch=1.0):
    x = stretch * np.random.default_rng(seed).uniform(-1, 1, size=(1, tokens, d))
    return jnp.asarray(x), jnp.full((1, tokens), 1 / tokens)


RHO = mk.Empirical(kinds.softmax(4))
LARGE = 8192


def test_small_clouds_are_exact():
    chosen = choice.settle(Automatic(), RHO, *_cloud(300))
    assert isinstance(chosen.method, mk.Exact)
    assert chosen.plan is None
    assert "small" in chosen.reason
    found = mk.certified_velocity(RHO, mk.Empirical(_cloud(300)[0][0]))
    assert (found.method, found.bound) == ("exact", 0.0)


def test_large_clouds_go_by_a_table_to_1e_10_and_by_the_sum_where_that_is_faster(monkeypatch):
    chosen = choice.settle(Automatic(), RHO, *_cloud(LARGE))
    assert chosen.plan is not None
    assert chosen.reason == "the table is faster"
    assert chosen.rtol == 1e-10
    assert chosen.plan.seconds < costs.CPU.exact(choice.Work(LARGE, LARGE, 4, 2, 2, False, 64))
    monkeypatch.setattr(costs, "CPU", Costs(pair=1e-9, coordinate=0.0))
    slow = choice.settle(Automatic(), RHO, *_cloud(LARGE))
    assert isinstance(slow.method, mk.Exact)
    assert "the sum itself is faster" in slow.reason
    assert choice.settle(mk.Tabulated(1e-6), RHO, *_cloud(LARGE)).plan is not None  # asked for: not a matter of time


def test_steeper_attention_is_planned_to_less_and_then_exact():
    def at(factor):
        steep = mk.Empirical(mk.Softmax(factor * RHO.points.query, RHO.points.key, RHO.points.value))
        return choice.settle(Automatic(), steep, *_cloud(LARGE))

    assert at(40).rtol == 1e-8
    chosen = at(1000)
    assert isinstance(chosen.method, mk.Exact)
    assert "|A|R²" in chosen.reason or "sums of exponentials" in chosen.reason


def test_other_kinds_are_exact_and_a_settled_method_stays():
    x, w = _cloud(LARGE)
    chosen = choice.settle(Automatic(), mk.Empirical(kinds.perceptron()), x, w)
    assert (type(chosen.method), chosen.reason) == (mk.Exact, "these heads have no table")
    for method in (mk.Exact(tile=64), mk.RandomBatch(8)):
        assert choice.settle(method, RHO, x, w).method is method
        assert not choice.undecided(method)
    assert choice.settle(Automatic(tile=64), RHO, *_cloud(300)).method.tile == 64


def test_under_jit_the_automatic_choice_is_exact_and_under_grad_it_looks_at_the_data():
    seen = []

    def look(x):
        seen.append(choice.settle(Automatic(), RHO, x, _cloud(LARGE)[1]))
        return jnp.sum(x)

    x, _ = _cloud(LARGE)
    jax.grad(look)(x)
    jax.jit(look)(x)
    assert [c.plan is not None for c in seen] == [True, False]
    assert "inside jit" in seen[1].reason


@pytest.mark.parametrize("room", [1.0, 1.5])
def test_data_that_differ_little_share_a_plan(room):
    """Another plan is another program to compile."""
    plans = {
        choice.settle(mk.Tabulated(1e-6), RHO, *_cloud(400, seed=seed, stretch=stretch), room=room).plan
        for seed, stretch in ((0, 1.0), (0, 1.001), (1, 1.0), (0, 1.0))
    }
    assert None not in plans
    assert len(plans) <= 2  # of four clouds, where a step of the rounding lies between them
