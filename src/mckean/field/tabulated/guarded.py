"""The table behind its guard: clouds that the plan does not cover are evaluated exactly, one by one, inside compiled code too.

The guard *selects*: a table outside its range may hold infinities, and multiplying those by zero would not remove them.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Array, HeadMasses, PromptMasses, PromptQueries, Prompts
from mckean.field import exact, reverse
from mckean.field.method import Method
from mckean.field.part import Part, every
from mckean.field.tabulated import cloud, frames
from mckean.field.tabulated.plan import Plan
from mckean.heads.base import Head


class Planned(Method):
    """A table with its plan made; the exact method takes over where the plan does not hold."""

    plan: Plan = eqx.field(static=True)


class Note(NamedTuple):
    """What one evaluation can say of itself: whether each cloud (n,) went by the table, and its bound relative to max|V| (0 where exact)."""

    tabulated: Array
    bound: Array


def _covered(heads: Head, x: Array, w: Array, q: Array, plan: Plan) -> Array:
    return frames.fits(frames.live(heads, x, w, q, plan.grid is not None), plan)


def _each(one, *arrays):
    """`one` for each cloud, one after the other: a mapped guard would evaluate both sides."""
    if arrays[0].shape[0] == 1:
        return jax.tree.map(lambda leaf: leaf[None], one(*(a[0] for a in arrays)))
    return jax.lax.map(lambda part: one(*part), arrays)


def field(
    heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, method: Planned, queries: Any = None
) -> tuple[PromptQueries, Note]:
    """V at the queries, and what the evaluation says of itself."""
    v, covered = select(heads, mass, x, w, method, queries)
    return v, note(heads, mass, x, v, covered, method)


def select(
    heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, method: Planned, queries: Any = None, part: Part | None = None
) -> tuple[PromptQueries, Array]:
    """V at the queries, and whether each cloud (n,) went by the table; all parts of an evaluation answer alike."""

    def one(xi, wi, qi):
        ok = _covered(every(part, heads), xi, wi, qi, method.plan)
        v = jax.lax.cond(
            ok,
            lambda: cloud.field(heads, mass, xi, wi, qi, method.plan, part),
            lambda: exact.field(heads, mass, xi[None], wi[None], method.exact, qi[None], part)[0],
        )
        return v, ok

    return _each(one, x, w, x if queries is None else queries)


def note(heads: Head, mass: HeadMasses, x: Prompts, v: PromptQueries, covered: Array, method: Planned) -> Note:
    """What an evaluation of V says of itself."""

    def one(xi: Array, vi: Array, ok: Array) -> Note:
        largest = jnp.sqrt(jnp.max(jnp.sum(vi**2, axis=-1)))
        limit = frames.bound(heads, mass, xi, method.plan)
        return Note(ok, jnp.where(ok & (limit > 0), limit / largest, 0.0))

    heads, mass, x, v = jax.lax.stop_gradient((heads, mass, x, v))
    return _each(one, x, v, covered)


def pullback(heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, lam: Prompts, method: Planned, part: Part | None = None):
    """As `reverse.pullback`."""

    def one(xi, wi, li):
        def exactly():
            by_token, by_head, pairings = reverse.pullback(heads, mass, xi[None], wi[None], li[None], method.exact, part)
            return by_token[0], by_head, pairings

        return jax.lax.cond(
            _covered(every(part, heads), xi, wi, xi, method.plan),
            lambda: cloud.pullback(heads, mass, xi, wi, li, method.plan, part),
            exactly,
        )

    if x.shape[0] == 1:
        by_token, by_head, pairings = one(x[0], w[0], lam[0])
        return by_token[None], by_head, pairings

    def body(total, here):
        by_token, *sums = one(*here)
        return jax.tree.map(jnp.add, total, tuple(sums)), by_token

    zero = (jax.tree.map(jnp.zeros_like, heads), jnp.zeros_like(mass))
    (by_head, pairings), by_token = jax.lax.scan(body, zero, (x, w, lam))
    return by_token, by_head, pairings


def pairing(heads: Head, x: Prompts, w: PromptMasses, lam: Prompts, method: Planned, part: Part | None = None) -> HeadMasses:
    """As `reverse.pairing`; heads that ask for more than the plan covers are evaluated exactly."""

    def one(xi, wi, li):
        return jax.lax.cond(
            _covered(every(part, heads), xi, wi, xi, method.plan),
            lambda: cloud.pairing(heads, xi, wi, li, method.plan, part),
            lambda: reverse.pairing(heads, xi[None], wi[None], li[None], method.exact, part),
        )

    return jnp.sum(_each(one, x, w, lam), axis=0)


def costate_image(
    heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, p: Prompts, method: Planned, part: Part | None = None
) -> Prompts:
    """As `reverse.costate_image`."""

    def one(xi, wi, pi):
        return jax.lax.cond(
            _covered(every(part, heads), xi, wi, xi, method.plan),
            lambda: cloud.image(heads, mass, xi, wi, pi, method.plan, part),
            lambda: reverse.costate_image(heads, mass, xi[None], wi[None], pi[None], method.exact)[0],
        )

    return _each(one, x, w, p)
