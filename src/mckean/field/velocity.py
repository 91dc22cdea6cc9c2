"""The public verbs: the velocity of tokens, and the same with its certificate."""

from typing import Any

import jax
import jax.numpy as jnp

from mckean._shapes import Array
from mckean.errors import Refused
from mckean.field.certified import CertifiedVelocity, certify, compiled
from mckean.field.choice import settle, unknown
from mckean.field.method import Automatic, Method, RandomBatch
from mckean.field.sharding import place_clouds
from mckean.heads.base import Head
from mckean.heads.layered import Layered
from mckean.measures.empirical import Empirical


def velocity(rho: Empirical, mu: Empirical, x: Any = None, *, method: Method | None = None) -> Array:
    r"""$V_{\rho,\mu}(x) = \int \varphi_\theta(x, \mu)\,d\rho(\theta)$.

    Arguments:
        rho: head measure, H atoms.  mu: token measure (N, d), or a batch (n, N, d).
        x: queries (M, d) (for a batch (n, M, d)); by default the tokens of mu.
        method: `mk.Exact()`, `mk.Tabulated(rtol)` or `mk.RandomBatch(size)`; None takes the faster of exact and table (to 1e-10, else 1e-8).
            `mk.Sharded(method, ...)` is any of them on several devices.

    Gives (M, d) (a batch: (n, M, d)). Differentiable in every argument. Raises `Refused` for heads and tokens that do not fit together.
    Inside jax.jit a table needs its `reach`, and its bound relative to max|V| is not checked afterwards. Source: mathematics, section 2.

    >>> import jax.numpy as jnp, mckean as mk
    >>> one = jnp.ones((1, 1, 1))
    >>> rho = mk.Empirical(mk.Softmax(one, one, one))
    >>> mu = mk.Empirical(jnp.array([[1.0], [-1.0]]))
    >>> v = mk.velocity(rho, mu)[:, 0]                  # tanh(1) at x = 1, -tanh(1) at x = -1
    >>> [round(float(x), 4) for x in v]
    [0.7616, -0.7616]
    """
    method, points, weights, queries = _prepared(rho, mu, x, method)
    if any(unknown(leaf) for leaf in jax.tree.leaves((rho, mu, queries))):
        settled = settle(method, rho, points, weights, queries).method
        out = compiled(rho.points, rho.weights, points, weights, settled, queries)
    else:
        out = certify(rho, points, weights, method, queries)[0]
    return out if mu.batch is not None else out[0]


def certified_velocity(rho: Empirical, mu: Empirical, x: Any = None, *, method: Method | None = None) -> CertifiedVelocity:
    r"""The velocity with its certificate: how it was evaluated, why, and the bound of its relative error. Arguments as for `velocity`.

    The bound of a table follows from its numbers of cells and nodes alone: each token's weight e^{⟨u, y⟩} is multiplied by 1 + ε with
    |ε| ≤ η, so that |m̃ − m| ≤ η/(1 − η) ∫|y − m| dP. Not inside jax.jit. Source: mathematics, section 8.

    >>> import jax, jax.numpy as jnp, mckean as mk
    >>> rho = mk.Empirical(mk.Softmax.normal(heads=4, dim=2, key_dim=2, key=jax.random.key(0)))
    >>> mu = mk.Empirical(jax.random.uniform(jax.random.key(1), (300, 2)))
    >>> found = mk.certified_velocity(rho, mu, method=mk.Tabulated(rtol=1e-3))
    >>> found.method, found.bound <= 1e-3
    ('tabulated', True)
    """
    method, points, weights, queries = _prepared(rho, mu, x, method)
    if any(unknown(leaf) for leaf in jax.tree.leaves((rho, mu, queries))):
        raise Refused(
            "A certificate looks at values, which are unknown inside jax.jit and vmap; call it outside, or use mk.velocity."
        )
    out, choice, bound = certify(rho, points, weights, method, queries)
    name = "tabulated" if choice.plan is not None else "random batch" if isinstance(choice.method.core, RandomBatch) else "exact"
    return CertifiedVelocity(out if mu.batch is not None else out[0], name, choice.reason, bound, choice.plan)


def _prepared(rho: Empirical, mu: Empirical, x: Any, method: Method | None) -> tuple[Method, Array, Array, Array | None]:
    heads = check_heads(rho)
    if isinstance(heads, Layered):
        raise Refused("The velocity needs the heads of one depth; pass `mk.Empirical(heads.layer(index), weights[index])`.")
    check_fit(rho, mu)
    batched = mu.batch is not None
    points, weights = (mu.points, mu.weights) if batched else (mu.points[None], mu.weights[None])
    queries = None if x is None else _queries(x, mu).reshape(points.shape[0], -1, points.shape[-1])
    method = check_method(method)
    points, weights = place_clouds(method, points, weights)
    return method, points, weights, queries


def check_method(method: Method | None) -> Method:
    """The method asked for, or the automatic choice."""
    if method is None:
        return Automatic()
    if not isinstance(method, Method):
        raise Refused(
            f"`method` must be mk.Exact(), mk.Tabulated(rtol), mk.RandomBatch(size), mk.Sharded(...) or None; found {method!r}."
        )
    return method


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
