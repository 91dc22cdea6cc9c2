"""The velocity with what its evaluation can say of its own error.

The bound of a table is known only relative to Σ_h mass_h |V_h|; what is asked for is relative to max|V|. So the first evaluation is looked
at, and the table planned again where heads cancel each other.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from mckean._shapes import Array
from mckean.field import dispatch, random
from mckean.field.choice import Choice, settle
from mckean.field.method import Method, RandomBatch
from mckean.field.tabulated.plan import Plan
from mckean.measures.empirical import Empirical


class CertifiedVelocity(NamedTuple):
    r"""A velocity, how it was evaluated, and the bound of its error, $\max_i|\hat V(x_i) - V(x_i)| / \max_i|V(x_i)|$.

    Attributes:
        velocity: (M, d), or (n, M, d) for a batch.
        method: "exact", "tabulated" or "random batch".
        reason: why that one was taken.
        bound: an upper bound of that error for any tokens and masses; 0 for the exact sum, whose error is rounding. For a random batch it is
            no bound but the largest standard error, in the same units.
        plan: the table's cells, nodes and errors, or None.

    Source: mathematics, section 8.
    """

    velocity: Array
    method: str
    reason: str
    bound: float
    plan: Plan | None


def certify(rho: Empirical, x: Array, w: Array, method: Method, queries: Array | None) -> tuple[Array, Choice, float]:
    """V of clouds (n, N, d), evaluated so that the bound relative to max|V| is met: planned again once where heads cancel, else exact."""
    heads, choice = rho.points, settle(method, rho, x, w, queries)
    exact = method.with_core(method.exact)
    if choice.plan is None:
        v = compiled(heads, rho.weights, x, w, choice.method, queries)
        spread = 0.0
        if isinstance(choice.method.core, RandomBatch):
            error = random.standard_error(heads, rho.weights, x, w, choice.method.core, queries)
            spread = float(jnp.max(error) / jnp.max(jnp.linalg.norm(v, axis=-1)))
        return v, choice, spread
    tighter = 1.0
    for _ in range(3):
        v, note = compiled_noted(heads, rho.weights, x, w, choice.method, queries)
        bound = float(jnp.max(note.bound))
        if not bool(jnp.all(note.tabulated)):
            return v, Choice(exact, "the table's guard found the clouds outside its plan"), 0.0
        # A plan that was settled before carries no tolerance to plan again for.
        if bound <= choice.rtol or choice.rtol == 0.0:
            return v, choice, bound
        tighter *= 1.5 * bound / choice.rtol
        again = settle(method, rho, x, w, queries, tighter=tighter)
        if again.plan is None:
            break
        choice = again
    reason = f"heads cancel: the table's error, relative to max|V|, can't be held below {choice.rtol:g}"
    return compiled(heads, rho.weights, x, w, exact, queries), Choice(exact, reason), 0.0


compiled = eqx.filter_jit(dispatch.field)
compiled_noted = eqx.filter_jit(dispatch.noted)
"""Compiled once for each shape and plan, also where a verb is called in a loop."""
