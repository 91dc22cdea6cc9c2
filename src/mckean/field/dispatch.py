"""The field and its transposes by any method that is ready to be compiled. Arguments as in `exact` and `reverse`."""

from typing import Any

import jax.numpy as jnp

from mckean._shapes import Array, HeadMasses, PromptMasses, PromptQueries, Prompts
from mckean.errors import Refused
from mckean.field import exact, random, reverse, sharded
from mckean.field.choice import undecided
from mckean.field.method import Method, RandomBatch
from mckean.field.part import Part
from mckean.field.sharding import Sharded
from mckean.field.tabulated import guarded
from mckean.field.tabulated.guarded import Note, Planned
from mckean.heads.base import Head


def noted(
    heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, method: Method, queries: Any = None
) -> tuple[PromptQueries, Note]:
    """V at the queries, and what the evaluation says of its own error."""
    if isinstance(method, Sharded):
        v, covered = sharded.field(_field, heads, mass, x, w, method, queries)
    else:
        v, covered = _field(heads, mass, x, w, method, queries)
    if isinstance(method.core, Planned):
        return v, guarded.note(heads, mass, x, v, covered, method.core)
    return v, Note(covered, jnp.zeros(x.shape[0], x.dtype))


def field(heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, method: Method, queries: Any = None) -> PromptQueries:
    """V_{ρ,μ} at the queries (n, M, d), by default at the clouds' own points."""
    return noted(heads, mass, x, w, method, queries)[0]


def pullback(heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, lam: Prompts, method: Method):
    """`reverse.pullback`."""
    if isinstance(method, Sharded):
        return sharded.pullback(_pullback, heads, mass, x, w, lam, method)
    return _pullback(heads, mass, x, w, lam, method)


def pairing(heads: Head, x: Prompts, w: PromptMasses, lam: Prompts, method: Method) -> HeadMasses:
    """`reverse.pairing`."""
    if isinstance(method, Sharded):
        return sharded.pairing(_pairing, heads, x, w, lam, method)
    return _pairing(heads, x, w, lam, method)


def costate_image(heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, p: Prompts, method: Method) -> Prompts:
    """`reverse.costate_image`."""
    if isinstance(method, Sharded):
        return sharded.costate_image(_costate_image, heads, mass, x, w, p, method)
    return _costate_image(heads, mass, x, w, p, method)


def _field(heads, mass, x, w, method: Method, queries, part: Part | None = None) -> tuple[PromptQueries, Array]:
    """V at the queries, and whether each cloud (n,) went by a table."""
    if isinstance(method, Planned):
        return guarded.select(heads, mass, x, w, method, queries, part)
    none = jnp.zeros(x.shape[0], bool)
    if isinstance(method, RandomBatch):
        return random.field(heads, mass, x, w, method, queries, part), none
    return exact.field(heads, mass, x, w, _ready(method), queries, part), none


def _pullback(heads, mass, x, w, lam, method: Method, part: Part | None = None):
    if isinstance(method, Planned):
        return guarded.pullback(heads, mass, x, w, lam, method, part)
    if isinstance(method, RandomBatch):
        return random.pullback(heads, mass, x, w, lam, method, part)
    return reverse.pullback(heads, mass, x, w, lam, _ready(method), part)


def _pairing(heads, x, w, lam, method: Method, part: Part | None = None) -> HeadMasses:
    if isinstance(method, Planned):
        return guarded.pairing(heads, x, w, lam, method, part)
    if isinstance(method, RandomBatch):
        return random.pairing(heads, x, w, lam, method, part)
    return reverse.pairing(heads, x, w, lam, _ready(method), part)


def _costate_image(heads, mass, x, w, p, method: Method, part: Part | None = None) -> Prompts:
    if isinstance(method, Planned):
        return guarded.costate_image(heads, mass, x, w, p, method, part)
    if isinstance(method, RandomBatch):
        raise Refused(
            "A random batch has no costate of its own: tokens outside the batch would have none. Use mk.Exact() for it."
        )
    return reverse.costate_image(heads, mass, x, w, p, _ready(method))


def _ready(method: Method) -> exact.Exact:
    if undecided(method):
        raise Refused("The method of the field must be settled before a program is compiled; call the problem's public verbs.")
    return method.exact
