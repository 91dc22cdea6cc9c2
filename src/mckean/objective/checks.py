"""What a problem asks of its prompts, targets and loss before anything is computed."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mckean._shapes import Array
from mckean.errors import Refused
from mckean.measures.empirical import Empirical, unchecked


def as_targets(targets: Any, dtype: Any) -> Any:
    """The targets as arrays; numbers with a fraction in the dtype of the tokens. Nested lists of numbers are an array written out."""
    try:
        if isinstance(targets, list | tuple) and all(np.isscalar(leaf) for leaf in jax.tree.leaves(targets)):
            targets = np.asarray(targets)
        targets = jax.tree.map(jnp.asarray, targets)
    except (TypeError, ValueError) as error:
        raise Refused(f"Targets must be an array of numbers (n, ...), or a pytree of such; {error}.") from error
    return jax.tree.map(lambda leaf: leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, targets)


def check_prompts(prompts: Any) -> None:
    """Refuse what is not a token measure, or a batch of them."""
    if not isinstance(prompts, Empirical):
        raise Refused(f"Prompts must be a measure, as mk.Empirical(points, weights); found {type(prompts).__name__}.")
    points = prompts.points
    if not hasattr(points, "ndim") or points.ndim != prompts.weights.ndim + 1:
        raise Refused("Prompts must be points of R^d: `points` (n, N, d) with weights (n, N), or (N, d) for a single one.")


def loss_struct(loss: Callable[[Empirical, Any], Array], prompts: Empirical, targets: Any) -> jax.ShapeDtypeStruct:
    """Shape and dtype of the loss of one prompt, or a refusal where it is not one real number. Nothing is computed."""
    data = (prompts.points, prompts.weights, targets)
    x, w, y = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), data)
    try:
        out = jax.eval_shape(lambda x, w, y: loss(unchecked(x, w), y), x, w, y)
    except Refused:
        raise
    except (TypeError, ValueError, IndexError) as error:
        shapes = [leaf.shape for leaf in jax.tree.leaves(y)]
        raise Refused(
            f"`loss(mu_T, target)` must work for one prompt of points {x.shape} and a target of shapes {shapes}; it raised "
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
        ) from error
    found = f"shape {out.shape} and dtype {out.dtype}" if hasattr(out, "shape") else type(out).__name__
    if not isinstance(out, jax.ShapeDtypeStruct) or out.shape != () or not jnp.issubdtype(out.dtype, jnp.floating):
        raise Refused(f"`loss(mu_T, target)` must give one real number, of shape (); found {found}. Sum or average it.")
    return out
