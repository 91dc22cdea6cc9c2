"""Clouds, heads and plans shared by the tests of the tabulated field: few shapes and plans, because each is compiled once."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import mckean as mk
from mckean.field.choice import settle
from mckean.field.tabulated import costs
from mckean.field.tabulated.guarded import Planned
from mckean.field.tabulated.plan import Plan, Reach, Work, best
from tests.heads import kinds

EXACT = mk.Exact()
TOKENS, HEADS = 48, 4
MASSES = (0.4, 0.3, 0.2, 0.1)


def clouds(d: int, count: int = 2, seed: int = 0, away: float = 0.7) -> tuple[Any, Any]:
    """Ragged clouds beside the origin: points (count, TOKENS, d), weights of which the last four are 0."""
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.1, 1.0, size=(count, TOKENS))
    w[:, -4:] = 0.0
    x = rng.uniform(-1, 1, size=(count, TOKENS, d)) + away
    return jnp.asarray(x), jnp.asarray(w / w.sum(axis=1, keepdims=True))


def measure(kind: str, d: int = 2) -> mk.Empirical:
    """Four heads of unequal mass."""
    softmax = kinds.softmax(HEADS, d, 2 if d > 3 else d)
    made = {
        "softmax": lambda: softmax,
        "block": lambda: mk.Block(softmax, kinds.perceptron(HEADS, d)),
        "bounded": lambda: mk.Bounded(mk.Block(softmax, kinds.perceptron(HEADS, d)), 2.0, 3.0),
    }
    return mk.Empirical(made[kind](), np.asarray(MASSES))


def planned(rho: mk.Empirical, x: Any, w: Any, rtol: float) -> Planned:
    """The table for these clouds."""
    choice = settle(mk.Tabulated(rtol), rho, x, w)
    assert isinstance(choice.method, Planned), choice.reason
    return choice.method


def gridded(rho: mk.Empirical, x: Any, rtol: float) -> Planned:
    """A table read through a grid in x, as if there were many more heads and tokens."""
    d = x.shape[-1]
    plan = best(Reach((12.0,) * d, (6.0,) * d, 80.0), Work(10**6, 10**6, 10**4, d, d, False, 64), rtol, costs.CPU)
    assert isinstance(plan, Plan)
    assert plan.grid is not None
    return Planned(plan)


def distance(a: Any, b: Any) -> float:
    """The largest difference of two pytrees relative to the largest entry of the second, leaf by leaf."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return max(float(jnp.max(jnp.abs(x - y)) / jnp.max(jnp.abs(y))) for x, y in pairs)


def sizes(v: Any) -> Any:
    """max |v| of each cloud."""
    return jnp.max(jnp.linalg.norm(v, axis=-1), axis=-1)
