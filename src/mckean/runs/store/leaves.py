"""The state's tree of device arrays as a list of named host arrays, and back."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mckean.errors import Refused
from mckean.runs.store.checkpoint import Leaf


def to_leaves(state: Any) -> tuple[Leaf, ...]:
    """Every array of the state, by its path in the tree. Random keys go as their data."""
    return tuple(_leaf(jax.tree_util.keystr(path), item) for path, item in _arrays(state))


def from_leaves(template: Any, leaves: tuple[Leaf, ...]) -> Any:
    """The state with the shape of `template` and the bits of `leaves`; raises Refused where they do not fit."""
    paths, structure = jax.tree_util.tree_flatten_with_path(template)
    stored = {leaf.path: leaf for leaf in leaves}
    expected = [jax.tree_util.keystr(path) for path, item in paths if _is_array(item)]
    if sorted(stored) != sorted(expected):
        odd = sorted(set(stored) ^ set(expected))[0]
        raise Refused(
            f"A checkpoint must hold the state of this version of mckean; {odd} is only in one of the two: "
            "resume with the version that the manifest names."
        )
    items = [_restored(item, stored[jax.tree_util.keystr(path)]) if _is_array(item) else item for path, item in paths]
    return jax.tree_util.tree_unflatten(structure, items)


def first_non_finite(state: Any) -> str | None:
    """The first entry that is not finite, as its path and index (`.rho.points.query[12, 0, 3]`); None where
    all are.
    """
    for path, item in _arrays(state):
        if _is_key(item) or not jnp.issubdtype(jnp.result_type(item), jnp.inexact):
            continue
        finite = np.isfinite(np.asarray(item))
        if not finite.all():
            index = ", ".join(str(int(i)) for i in np.argwhere(~finite)[0])
            return jax.tree_util.keystr(path) + (f"[{index}]" if index else "")
    return None


def _arrays(state: Any) -> list[tuple[Any, Any]]:
    return [(path, item) for path, item in jax.tree_util.tree_flatten_with_path(state)[0] if _is_array(item)]


def _is_array(item: Any) -> bool:
    return isinstance(item, jax.Array | np.ndarray | np.generic | int | float)


def _is_key(item: Any) -> bool:
    return isinstance(item, jax.Array) and jnp.issubdtype(item.dtype, jax.dtypes.prng_key)


def _leaf(path: str, item: Any) -> Leaf:
    if _is_key(item):
        return Leaf(path, np.asarray(jax.random.key_data(item)), str(jax.random.key_impl(item)))
    return Leaf(path, np.asarray(item))


def _restored(template: Any, leaf: Leaf) -> Any:
    fresh = _leaf(leaf.path, template)
    if (fresh.data.shape, fresh.data.dtype, fresh.key_impl) != (
        leaf.data.shape,
        leaf.data.dtype,
        leaf.key_impl,
    ):
        raise Refused(
            f"A checkpoint must hold the state of this configuration; {leaf.path} is "
            f"{leaf.data.dtype}{leaf.data.shape} there and {fresh.data.dtype}{fresh.data.shape} here: "
            "resume where the run was made."
        )
    if leaf.key_impl is not None:
        return jax.random.wrap_key_data(jnp.asarray(leaf.data), impl=leaf.key_impl)
    if isinstance(template, bool | int | float):
        return type(template)(leaf.data.item())
    return jnp.asarray(leaf.data) if isinstance(template, jax.Array) else leaf.data
