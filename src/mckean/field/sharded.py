"""The field and its transposes on a mesh of devices. Arguments as in `exact` and `reverse`, the method `Sharded`.

Each function opens a `shard_map` around the same function of one device. Its points are gathered, so that any kind of head is served, also one
that only has a map; gathered are only the tokens there are, so that no pad is seen. Between evaluations tokens are cut along the heads' axis
too: the sum over heads then leaves each device its own part of it, and nothing of a flow is held twice. Tables are built whole on
each device, from all heads and all tokens: then their boxes, their guards and their numbers are the same everywhere, and no branch of a
guard holds a collective operation.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from mckean._shapes import Array, HeadMasses, PromptMasses, PromptQueries, Prompts
from mckean.field.part import Part
from mckean.field.sharding import HEADS, PROMPTS, SPREAD, TOKENS, Sharded
from mckean.heads.base import Head

CLOUDS, HEADWISE = P(PROMPTS, SPREAD), P(HEADS)


def field(
    evaluate: Callable[..., tuple[PromptQueries, Array]],
    heads: Head,
    mass: HeadMasses,
    x: Prompts,
    w: PromptMasses,
    method: Sharded,
    queries: Any = None,
) -> tuple[PromptQueries, Array]:
    """V at the queries (n, M, d), and whether each cloud (n,) went by a table."""
    given = x if queries is None else queries
    (n, asked), tokens, count = given.shape[:2], x.shape[1], mass.shape[0]

    def here(heads: Head, mass: Array, x: Array, w: Array, *others: Array) -> tuple[Array, Array]:
        xs, ws = _gathered((x, w), tokens)
        q = _gathered(others, asked)[0] if others else xs
        v, covered = evaluate(heads, mass, xs, ws, method.core, q, _part(method, heads, count, asked))
        return jax.lax.psum_scatter(v, HEADS, scatter_dimension=1, tiled=True), covered

    clouds = (x, w) if queries is None else (x, w, queries)
    v, covered = _mapped(method, here, (HEADWISE, HEADWISE, *(CLOUDS,) * len(clouds)), (CLOUDS, P(PROMPTS)))(
        *_headwise(method, heads, mass), *(_cloudwise(method, array) for array in clouds)
    )
    return v[:n, :asked], covered[:n]


def pullback(
    evaluate: Callable[..., Any], heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, lam: Prompts, method: Sharded
) -> tuple[Prompts, Any, HeadMasses]:
    """As `reverse.pullback`."""
    n, tokens, count = x.shape[0], x.shape[1], mass.shape[0]

    def here(heads: Head, mass: Array, x: Array, w: Array, lam: Array):
        xs, ws = _gathered((x, w), tokens)
        by_token, *by_head = evaluate(heads, mass, xs, ws, _asked(lam), method.core, _part(method, heads, count, tokens))
        return _scattered(by_token, method), *jax.lax.psum(by_head, (PROMPTS, TOKENS))

    specs = (HEADWISE, HEADWISE, CLOUDS, CLOUDS, CLOUDS)
    by_token, by_head, pairings = _mapped(method, here, specs, (CLOUDS, HEADWISE, HEADWISE))(
        *_headwise(method, heads, mass), _cloudwise(method, x), _cloudwise(method, w), _cloudwise(method, lam, zero=True)
    )
    return by_token[:n, :tokens], *jax.tree.map(lambda leaf: leaf[:count], (by_head, pairings))


def pairing(
    evaluate: Callable[..., HeadMasses], heads: Head, x: Prompts, w: PromptMasses, lam: Prompts, method: Sharded
) -> HeadMasses:
    """As `reverse.pairing`."""
    tokens, count = x.shape[1], heads.heads

    def here(heads: Head, x: Array, w: Array, lam: Array) -> Array:
        xs, ws = _gathered((x, w), tokens)
        found = evaluate(heads, xs, ws, _asked(lam), method.core, _part(method, heads, count, tokens))
        return jax.lax.psum(found, (PROMPTS, TOKENS))

    padded, _ = _headwise(method, heads, jnp.zeros(count, x.dtype))
    return _mapped(method, here, (HEADWISE, CLOUDS, CLOUDS, CLOUDS), HEADWISE)(
        padded, _cloudwise(method, x), _cloudwise(method, w), _cloudwise(method, lam, zero=True)
    )[:count]


def costate_image(
    evaluate: Callable[..., Prompts], heads: Head, mass: HeadMasses, x: Prompts, w: PromptMasses, p: Prompts, method: Sharded
) -> Prompts:
    """As `reverse.costate_image`. A head's image is of a whole cloud, in its own formula: the devices along the tokens share the heads."""
    n, tokens, count = x.shape[0], x.shape[1], mass.shape[0]
    shared = (HEADS, TOKENS)

    def here(heads: Head, mass: Array, x: Array, w: Array, p: Array) -> Array:
        xs, ws, ps = _gathered((x, w, p), tokens)
        part = Part(_all_heads(heads, shared, count), jnp.zeros((), jnp.int32), tokens, 1)
        return _scattered(evaluate(heads, mass, xs, ws, ps, method.core, part), method)

    image = _mapped(method, here, (P(shared), P(shared), CLOUDS, CLOUDS, CLOUDS), CLOUDS)(
        *_headwise(method, heads, mass, method.heads * method.tokens), *(_cloudwise(method, array) for array in (x, w)),
        _cloudwise(method, p, zero=True),
    )  # fmt: skip
    return image[:n, :tokens]


def _mapped(method: Sharded, here: Callable[..., Any], in_specs: Any, out_specs: Any) -> Callable[..., Any]:
    # The loops inside start from zeros that lie on no device in particular; the check of that would refuse them.
    return jax.shard_map(here, mesh=method.mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)


def _gathered(arrays: tuple[Array, ...], count: int) -> tuple[Array, ...]:
    """All tokens of this device's prompts, without pads."""
    return tuple(jax.lax.all_gather(array, SPREAD, axis=1, tiled=True)[:, :count] for array in arrays)


def _asked(lam: Array) -> Array:
    """λ at the tokens that this device's heads are asked about."""
    return jax.lax.all_gather(lam, HEADS, axis=1, tiled=True)


def _scattered(by_token: Array, method: Sharded) -> Array:
    """Summands (n, N, d) of all devices, added up, each device keeping its own tokens."""
    filled = _filled(by_token, 1, method.tokens * method.heads, zero=True)
    return jax.lax.psum_scatter(filled, SPREAD, scatter_dimension=1, tiled=True)


def _part(method: Sharded, heads: Head, count: int, rows: int) -> Part:
    size = -(-rows // (method.tokens * method.heads)) * method.heads
    return Part(_all_heads(heads, HEADS, count), jax.lax.axis_index(TOKENS) * size, size, method.tokens)


def _all_heads(heads: Head, axes: str | tuple[str, ...], count: int) -> Head:
    """All heads of the measure; where nobody reads them, the compiler sends none."""
    return jax.tree.map(lambda leaf: jax.lax.all_gather(leaf, axes, tiled=True)[:count], heads)


def _headwise(method: Sharded, heads: Head, mass: Array, devices: int | None = None) -> tuple[Head, Array]:
    """Heads and masses that the devices divide: copies of the last head, of mass 0, fill up."""
    devices = devices or method.heads
    return jax.tree.map(partial(_filled, axis=0, multiple=devices), heads), _filled(mass, 0, devices, zero=True)


def _cloudwise(method: Sharded, array: Array, zero: bool = False) -> Array:
    """(n, N, …) that the devices divide: copies of the last token and the last prompt fill up, or zeros."""
    return _filled(_filled(array, 0, method.prompts, zero), 1, method.tokens * method.heads, zero)


def _filled(array: Array, axis: int, multiple: int, zero: bool = False) -> Array:
    beyond = -array.shape[axis] % multiple
    if not beyond:
        return array
    widths = [(0, beyond if a == axis else 0) for a in range(array.ndim)]
    return jnp.pad(array, widths) if zero else jnp.pad(array, widths, mode="edge")
