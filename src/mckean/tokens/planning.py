"""The field's method for a whole flow: a table is planned for the range that the tokens will reach, not only for where they start.

A pilot carries a few tokens with a few heads through depth; by how much |A|R² grows along it, and a margin, is the room that the plan leaves.
Where the tokens outgrow it none the less, the guard takes the exact sum.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from mckean._shapes import Array
from mckean.field.certified import compiled_noted
from mckean.field.choice import Choice, settle, undecided, unknown
from mckean.field.method import Exact, Method
from mckean.field.sharding import looked_at
from mckean.field.tabulated import frames
from mckean.measures.empirical import Empirical, unchecked
from mckean.tokens.grid import Grid, at_layer, fixed, layer_count
from mckean.tokens.integrate import integrate
from mckean.tokens.schemes import find

TOKENS, HEADS, PROMPTS, STEPS = 192, 32, 4, 8
MARGIN = 1.25


def settle_flow(method: Method, rho: Empirical, x: Array, w: Array, horizon: Array, *, tighter: float = 1.0) -> Choice:
    """Decide for clouds (n, N, d) that are carried to depth T = horizon. `tighter` divides the tolerance, for gradients."""
    if not undecided(method):
        return Choice(method, "asked for")
    known = not any(unknown(leaf) for leaf in jax.tree.leaves((rho, x, w, horizon)))
    choice = settle(method, rho, x, w, tighter=tighter)
    if choice.plan is None or not known:
        return choice
    rho, x, w = jax.tree.map(jax.lax.stop_gradient, (rho, x, w))
    room = MARGIN * _growth(rho, x, w, horizon)
    choice = settle(method, rho, x, w, room=room, tighter=tighter)
    if choice.plan is None:
        return choice
    # Where heads cancel, max|V| is far below Σ mass|V|: look at V once, at the start, and leave a factor for the depth.
    here = at_layer(rho, 0)
    _, note = compiled_noted(here.points, here.weights, x[:1], w[:1], choice.method)
    bound = 2 * float(jnp.max(note.bound)) * tighter
    if bound <= choice.rtol:
        return choice
    # In powers of two, so that a little change of the heads does not make another plan.
    return settle(method, rho, x, w, room=room, tighter=tighter * 2.0 ** math.ceil(math.log2(bound / choice.rtol)))


def _growth(rho: Empirical, x: Array, w: Array, horizon: Array) -> float:
    """How much larger the exponents become along the flow than they are at its start."""
    tokens = _spaced(x.shape[1], TOKENS)
    prompts = _spaced(x.shape[0], PROMPTS)
    ends = np.unique(np.concatenate([looked_at(jnp.argmax(side * x[prompts[0]], axis=0)) for side in (1, -1)]))
    tokens = np.union1d(tokens, ends)
    x, w = x[prompts][:, tokens], w[prompts][:, tokens]
    w = w + 1e-3 * jnp.mean(w, axis=1, keepdims=True)  # the few tokens must not all be padding
    w = w / jnp.sum(w, axis=1, keepdims=True)
    axis = rho.weights.ndim - 1
    few = _spaced(rho.size, HEADS)
    some = jax.tree.map(lambda leaf: jnp.take(leaf, few, axis=axis), rho)
    total = jnp.sum(some.weights, axis=-1, keepdims=True)
    some = unchecked(some.points, jnp.where(total > 0, some.weights / total, 1 / len(few)))
    layers = layer_count(rho)
    grid = fixed(horizon, layers * -(-STEPS // layers), layers, x.dtype)
    exponents = looked_at(_pilot(rho, some, x, w, grid))
    growth = float(np.max(exponents) / max(float(exponents[0]), 1e-300)) if np.all(np.isfinite(exponents)) else 1.0
    return max(1.0, growth)


def _spaced(count: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


@eqx.filter_jit
def _pilot(rho: Empirical, some: Empirical, x: Array, w: Array, grid: Grid) -> Array:
    """The largest exponent at each depth (L+1,)."""
    _, _, states = integrate(some, x, w, grid, find("heun"), Exact(), observe=lambda y: y)
    layer = jnp.concatenate([grid.layer, grid.layer[-1:]])

    def asked(state: Array, index: Array) -> Array:
        here = at_layer(rho, index)
        each = jax.lax.map(lambda cloud: jnp.max(frames.live(here.points, cloud[0], cloud[1], cloud[0]).exponents), (state, w))
        return jnp.max(each)

    return jax.lax.map(lambda pair: asked(*pair), (states, layer))
