"""The choice of a method for given heads and tokens, made on the host before anything is compiled."""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer

from mckean._shapes import Array
from mckean.errors import Refused
from mckean.field import exact
from mckean.field.method import SMALLEST_RTOL, Automatic, Exact, Method, Tabulated
from mckean.field.sharding import looked_at
from mckean.field.tabulated import costs, frames
from mckean.field.tabulated.guarded import Planned
from mckean.field.tabulated.parts import LARGEST_RANK, has_table, parts, rank
from mckean.field.tabulated.plan import Plan, Reach, Work, best, largest_fall
from mckean.heads.base import Head
from mckean.heads.layered import Layered
from mckean.measures.empirical import Empirical

SAMPLED_CLOUDS, SAMPLED_HEADS, SAMPLED_QUERIES, SAMPLED_KEYS, SAMPLED_PAIRS = 4, 4096, 32, 4096, 2**25
SMALL = 2**24  # pairs of one cloud below which the sum itself takes less than any table
AUTOMATIC_RTOL = {64: (1e-10, 1e-8), 32: (1e-5, 1e-4)}  # the first that a table reaches in less time than the sum


class Choice(NamedTuple):
    """A method ready to be compiled, and why it was taken."""

    method: Method
    reason: str
    rtol: float = 0.0

    @property
    def plan(self) -> Plan | None:
        """The table's plan, or None."""
        return self.method.core.plan if isinstance(self.method.core, Planned) else None


def undecided(method: Method) -> bool:
    """Whether the method still waits for its data."""
    return isinstance(method.core, Tabulated | Automatic)


def settle(
    method: Method, rho: Empirical, x: Array, w: Array, queries: Array | None = None, *, room: float = 1.0, tighter: float = 1.0
) -> Choice:
    """Decide for clouds x (n, N, d) with masses w (n, N) and their queries (n, M, d).

    room: how much further than now the tokens may spread.  tighter: divides the tolerance, where what is asked for is not V itself.
    """
    if not undecided(method):
        return Choice(method, "asked for")
    if method.core is not method:
        choice = settle(method.core, rho, x, w, queries, room=room, tighter=tighter)
        return choice._replace(method=method.with_core(choice.method))
    heads = rho.points.heads_by_layer if isinstance(rho.points, Layered) else rho.points
    layered = isinstance(rho.points, Layered)
    one = jax.tree.map(lambda leaf: leaf[0], heads) if layered else heads
    asked = method if isinstance(method, Tabulated) else None
    q = x if queries is None else queries
    if not has_table(one):
        if asked is not None:
            raise Refused(_no_table(one))
        return Choice(method.exact, "these heads have no table")
    if asked is None and x.shape[1] * q.shape[1] * one.heads < SMALL:
        return Choice(method.exact, "small: the sum itself takes less than a table")
    bits = 8 * x.dtype.itemsize
    rtols = AUTOMATIC_RTOL.get(bits, (1e-3,)) if asked is None else (asked.rtol,)
    if rtols[0] < SMALLEST_RTOL.get(bits, 1e-3):
        raise Refused(
            f"`rtol` must be at least {SMALLEST_RTOL[bits]:g} in {x.dtype.name}; found {rtols[0]:g}. Use float64, or mk.Exact()."
        )
    found = parts(one)
    assert found is not None
    axes, own = rank(found[0])
    dim = x.shape[-1]
    reach, size = _measured(method, heads, rho.weights, layered, (x, w, q), axes, own, bool(found[1]))
    if reach is None:
        return Choice(method.exact, "inside jit the tokens are unknown")
    reach = reach.widened(room).rounded() if room > 1 else reach
    work = Work(x.shape[1], q.shape[1], one.heads, axes, dim, own, bits)
    choices = [_planned(method, reach, work, rtol, size / tighter) for rtol in rtols]
    return next((choice for choice in choices if choice.plan is not None), choices[-1])


def _planned(method: Method, reach: Reach, work: Work, rtol: float, size: float) -> Choice:
    """The table to `rtol` of a V of this size; the sum where there is none, or, if nobody asked for a table, where the sum is faster."""
    # In steps of 25 %, so that data that differ little share a plan, and its compiled program.
    tolerance = 1.25 ** math.floor(math.log(rtol * size, 1.25)) if rtol * size > 0 else 0.0
    plan, asked = best(reach, work, tolerance, costs.CPU), isinstance(method, Tabulated)
    exponent = max(reach.exponents)
    if plan is None:
        beyond = reach.depth > largest_fall(work.bits)
        why = f"sums of exponentials as small as e^-{reach.depth:.3g}" if beyond else f"|A|R² of {exponent:.3g}"
        return Choice(method.exact, f"no table reaches {rtol:g} at {why}")
    if not asked and plan.seconds > costs.CPU.exact(work):
        return Choice(method.exact, f"the sum itself is faster at |A|R² = {exponent:.3g}")
    return Choice(Planned(plan, tile=method.tile, block=method.block), "asked for" if asked else "the table is faster", rtol)


def _no_table(heads: Head) -> str:
    found = parts(heads)
    if found is None:
        return f"A table serves softmax heads, alone or beside hidden units; found {type(heads).__name__}. Use mk.Exact()."
    key_dim, dim = found[0].query.shape[-2:]
    return (
        f"A table serves tokens of R^d with d ≤ {LARGEST_RANK}, or heads of rank k ≤ {LARGEST_RANK}; found d = {dim} and k = {key_dim}. "
        "Use mk.Exact()."
    )


def _measured(method, heads, mass, layered, clouds, axes, own, units) -> tuple[Reach | None, float]:
    """What the clouds ask, and max|V| / (Σ_h mass_h |V_h| max|y − ȳ|): an estimate, checked after the evaluation."""
    dim = clouds[0].shape[-1]
    if any(unknown(leaf) for leaf in jax.tree.leaves((heads, mass, clouds))):
        reach = getattr(method, "reach", None)
        if reach is None:
            if isinstance(method, Automatic):
                return None, 1.0
            raise Refused(
                "Inside jax.jit the tokens are unknown when a table is planned: give the largest |A|R² that it is to cover, as "
                "mk.Tabulated(rtol, reach=...)."
            )
        along = () if own or units else (reach,) * dim
        return Reach((reach,) * axes, along, 2.0 * axes * reach), 0.1 / mass.shape[-1] ** 0.5
    asked, size = _asked(*jax.lax.stop_gradient((heads, mass, clouds)), layered, method.exact)
    values = jax.tree.map(lambda leaf: [float(v) for v in looked_at(leaf).ravel()], asked)
    # Hidden units beside the heads are evaluated at the tokens: a grid in x carries no bound for any activation.
    along = () if own or units else tuple(_up(v) for v in values.queries)
    return Reach(tuple(_up(v) for v in values.exponents), along, max(values.total), max(values.fall)), float(size)


def _up(value: float) -> float:
    """A little more, so that rounding and recomputation stay inside the plan."""
    return value * (1 + 1e-5)


def unknown(leaf: Any) -> bool:
    """Whether a value can't be looked at now: under jit or vmap, but not under grad."""
    if not isinstance(leaf, Tracer):
        return False
    try:
        float(jnp.ravel(jax.lax.stop_gradient(leaf))[0])
    except jax.errors.ConcretizationTypeError:
        return True
    return False


@eqx.filter_jit
def _asked(heads, mass, clouds, layered: bool, method: Exact):
    """The largest of what clouds and layers ask, and the smallest size of V, from a sample."""
    x, w, q = clouds
    few = slice(0, SAMPLED_CLOUDS)

    def one(batch, masses):
        each = jax.lax.map(lambda part: frames.live(batch, *part), (x, w, q))
        return jax.tree.map(lambda leaf: jnp.max(leaf, axis=0), each), _size(batch, masses, x[few], w[few], q[few], method)

    if not layered:
        return one(heads, mass)
    asked, size = jax.lax.map(lambda pair: one(*pair), (heads, mass))
    return jax.tree.map(lambda leaf: jnp.max(leaf, axis=0), asked), jnp.min(size)


def _size(heads: Head, mass: Array, x: Array, w: Array, q: Array, method: Exact) -> Array:
    """max|V| at a few queries over Σ_h mass_h |V_h| max|y − ȳ|; half of it, because more queries may not but fewer tokens may enlarge V."""
    some, few = _every(heads.heads, SAMPLED_HEADS), _every(q.shape[1], SAMPLED_QUERIES)
    keys = _every(x.shape[1], max(128, min(SAMPLED_KEYS, SAMPLED_PAIRS // (SAMPLED_QUERIES * min(heads.heads, SAMPLED_HEADS)))))
    part, masses = jax.tree.map(lambda leaf: leaf[some], heads), mass[some]
    near, held = x[:, keys], w[:, keys]
    held = held / jnp.maximum(jnp.sum(held, axis=1, keepdims=True), jnp.finfo(w.dtype).tiny)
    v = exact.field(part, masses, near, held, method, q[:, few])
    scale = jax.vmap(lambda points: frames.scale(part, masses, points))(x)
    largest = jnp.sqrt(jnp.max(jnp.sum(v * v, axis=-1), axis=1))
    fewer = (masses.shape[0] / heads.heads) ** 0.5  # independent heads cancel like 1/√H
    return jnp.clip(0.5 * fewer * jnp.min(largest / jnp.maximum(scale, jnp.finfo(w.dtype).tiny)), 1e-9, 1.0)


def _every(count: int, most: int) -> slice:
    return slice(None, None, max(1, -(-count // most)))
