"""The table of one cloud against the sum itself, in units of what is certified."""

import jax
import jax.numpy as jnp

import mckean as mk
from mckean.field.tabulated import frames
from mckean.field.tabulated.plan import Plan
from mckean.field.tabulated.table import build


def mean(u, x, w):
    """m(u) (M, d), ∫|y − m| dP (M,), centred, so that rounding is that of the spread."""
    middle = 0.5 * (jnp.min(x, axis=0) + jnp.max(x, axis=0))
    y = x - middle[None]
    logits = jnp.where(w[None] > 0, u @ y.T, -jnp.inf)
    e = jnp.exp(logits - jnp.max(logits, axis=1, keepdims=True)) * w[None]
    p = e / jnp.sum(e, axis=1, keepdims=True)
    m = p @ y
    spread = jnp.sum(p * jnp.linalg.norm(y[None] - m[:, None], axis=2), axis=1)
    return m, spread, middle


def worst(x, w, a, q, plan: Plan):
    """max over queries and heads of |m̃ − m| / (η/(1 − η) ∫|y − m| dP + ρ·box), the absolute error over the box, and whether the plan fits."""
    heads = mk.Softmax(jnp.swapaxes(a, 1, 2), jnp.broadcast_to(jnp.eye(x.shape[1], dtype=x.dtype), a.shape), jnp.zeros_like(a))
    frame, asked = frames.shared_frame(heads, x, w, q, plan.grid is not None)
    table = build(x, x, w, frame, plan)
    u = jnp.einsum("hab,qa->hqb", heads.bilinear, q).reshape(-1, x.shape[1])
    m, spread, middle = mean(u, x, w)
    box = jnp.sqrt(jnp.max(jnp.sum((x - middle[None]) ** 2, axis=1)))
    error = jnp.linalg.norm(table(u) - middle[None] - m, axis=1)
    limit = plan.eta / (1 - plan.eta) * spread + plan.rounding * box + 16 * jnp.finfo(x.dtype).eps * jnp.linalg.norm(middle)
    return (
        jnp.max(jnp.where(limit > 0, error / limit, error)),
        jnp.max(error) / jnp.maximum(box, 1e-300),
        frames.fits(asked, plan),
    )


def ratios(plan: Plan, clouds):
    """`worst` of each of the clouds, one compilation for all."""
    return jax.jit(lambda parts: jax.lax.map(lambda part: worst(*part, plan), parts))(tuple(jnp.asarray(c) for c in clouds))
