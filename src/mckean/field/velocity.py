"""The public verb: the velocity of tokens."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Array
from mckean.errors import Refused
from mckean.field.exact import field
from mckean.field.method import Exact
from mckean.heads.base import Head
from mckean.heads.layered import Layered
from mckean.measures.empirical import Empirical


def velocity(rho: Empirical, mu: Empirical, x: Any = None, *, method: Exact | None = None) -> Array:
    r"""$V_{\rho,\mu}(x) = \int \varphi_\theta(x, \mu)\,d\rho(\theta)$.

    Arguments:
        rho: head measure, H atoms.  mu: token measure (N, d), or a batch (n, N, d).
        x: queries (M, d) (for a batch (n, M, d)); by default the tokens of mu.
        method: how it is evaluated; None chooses.

    Gives (M, d) (a batch: (n, M, d)). Differentiable in every argument. Raises `Refused` for heads and tokens that do not fit together.
    Source: mathematics, section 2.

    >>> import jax.numpy as jnp, mckean as mk
    >>> one = jnp.ones((1, 1, 1))
    >>> rho = mk.Empirical(mk.Softmax(one, one, one))
    >>> mu = mk.Empirical(jnp.array([[1.0], [-1.0]]))
    >>> v = mk.velocity(rho, mu)[:, 0]                  # tanh(1) at x = 1, -tanh(1) at x = -1
    >>> [round(float(x), 4) for x in v]
    [0.7616, -0.7616]
    """
    heads = check_heads(rho)
    if isinstance(heads, Layered):
        raise Refused("The velocity needs the heads of one depth; pass `mk.Empirical(heads.layer(index), weights[index])`.")
    check_fit(rho, mu)
    method = Exact() if method is None else method
    batched = mu.batch is not None
    points, weights = (mu.points, mu.weights) if batched else (mu.points[None], mu.weights[None])
    queries = None if x is None else _queries(x, mu).reshape(points.shape[0], -1, points.shape[-1])
    out = _field(heads, rho.weights, points, weights, method, queries)
    return out if batched else out[0]


_field = eqx.filter_jit(field)
"""Compiled once for each shape, also where the verb is called in a loop."""


def _queries(x: Any, mu: Empirical) -> Array:
    queries = jnp.asarray(x, mu.points.dtype)
    *batch, _, dim = mu.points.shape
    if queries.ndim != mu.points.ndim or queries.shape[-1] != dim or queries.shape[:-2] != tuple(batch):
        wanted = ", ".join(str(axis) for axis in [*batch, "M", dim])
        raise Refused(f"Queries x must have shape ({wanted}); found {queries.shape}.")
    return queries


def check_heads(rho: Empirical) -> Head:
    """The heads of ρ, or a refusal."""
    if not isinstance(rho, Empirical) or not isinstance(rho.points, Head):
        found = type(getattr(rho, "points", rho)).__name__
        raise Refused(f"rho must be a measure of heads, as mk.Empirical(mk.Softmax(...)); found {found}.")
    return rho.points


def check_fit(rho: Empirical, mu: Empirical) -> None:
    """Refuse heads and tokens of different dtype, or that the head map cannot join."""
    if not isinstance(mu, Empirical):
        raise Refused(f"Tokens must be a measure, as mk.Empirical(points); found {type(mu).__name__}.")
    points = mu.points
    if not hasattr(points, "ndim") or points.ndim != mu.weights.ndim + 1:
        raise Refused("Tokens must be points of R^d: `points` (N, d), or (n, N, d) for a batch with weights (n, N).")
    dtypes = {leaf.dtype.name for leaf in jax.tree.leaves(rho)}
    if dtypes != {points.dtype.name}:
        raise Refused(
            f"Heads and tokens must have one dtype; found heads {', '.join(sorted(dtypes))} and tokens {points.dtype.name}. "
            "Cast one of them (jax.config.update('jax_enable_x64', True) makes float64 the default)."
        )
    heads = rho.points.layer(0) if isinstance(rho.points, Layered) else rho.points
    one = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), heads)
    token = jax.ShapeDtypeStruct(points.shape[-1:], points.dtype)
    cloud = (jax.ShapeDtypeStruct(points.shape[-2:], points.dtype), jax.ShapeDtypeStruct(points.shape[-2:-1], points.dtype))
    try:
        out = jax.eval_shape(lambda h, x, c: h.map(x, Empirical(*c)), one, token, cloud)
    except (TypeError, ValueError) as error:
        shapes = sorted({leaf.shape for leaf in jax.tree.leaves(heads)})
        raise Refused(
            f"The heads do not fit tokens of R^{points.shape[-1]}: arrays of shapes {shapes} ({str(error).splitlines()[0]})."
        ) from error
    if out.shape != token.shape:
        raise Refused(f"A head's map must give a velocity of shape {token.shape} at one token; it gave {out.shape}.")
