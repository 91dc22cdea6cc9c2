"""Whether numbers may depend on how training steps are cut into calls."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import mckean as mk
from mckean.coupled.stepper import State, Stepper
from mckean.field.method import Method


def stepper(heads: int, tokens: int, key_dim: int, method: Method | None) -> tuple[Stepper, State]:
    prompts = mk.Empirical(jnp.zeros((1, tokens, 4)), jnp.full((1, tokens), 1 / tokens))
    loss = mk.losses.SquaredError(mk.Readout(jnp.ones((1, 4))))
    problem = mk.Problem(prompts, jnp.zeros(1), loss, horizon=1.0, steps=1, method=method)
    made = Stepper(problem, mk.Langevin(), step_size=0.1, total=1)
    rho = mk.Empirical(mk.Softmax.normal(heads, 4, key_dim, key=jax.random.key(0)))
    return made, made.init(rho, jax.random.key(1))


@pytest.mark.parametrize(
    ("heads", "tokens", "key_dim", "method", "free"),
    [
        (8, 16, 2, None, True),
        (64, 512, 2, None, False),
        (64, 512, 4, None, True),
        (64, 512, 2, mk.Exact(), True),
        (8, 16, 2, mk.Tabulated(1e-6), False),
    ],
    ids=["small", "large", "no table", "exact", "asked for"],
)
def test_cuts_matter_where_tables_may_be_planned(
    heads: int, tokens: int, key_dim: int, method: Method | None, free: bool
) -> None:
    made, state = stepper(heads, tokens, key_dim, method)
    assert made.cut_free(state) is free
