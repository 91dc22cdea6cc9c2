r"""Identities of the coupled system that hold exactly and cost one gradient.

Every function takes a problem and a head measure and gives a relative defect, a float that is zero up to rounding unless its docstring
names an order. Source: mathematics, section 7.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from mckean._shapes import Array, Key
from mckean.adjoint.functional_gradient import functional_gradient
from mckean.adjoint.particles import particle_gradient
from mckean.field.dispatch import field
from mckean.heads.base import Head
from mckean.heads.block import Block
from mckean.heads.bounded import Bounded
from mckean.heads.layered import Layered
from mckean.heads.softmax import Softmax
from mckean.measures.empirical import Empirical, unchecked
from mckean.objective.evaluation import prompt_losses, risk, trajectories
from mckean.objective.problem import Problem
from mckean.tokens.grid import at_layer


def mass(problem: Problem, rho: Empirical) -> float:
    """The largest distance of a measure's total mass from 1, over prompts and head measures."""
    totals = [np.asarray(m.weights, np.float64).sum(axis=-1) for m in (problem.prompts, rho)]
    return float(max(np.max(np.abs(total - 1)) for total in totals))


def scaling(problem: Problem, rho: Empirical) -> float:
    r"""∫ (δL/δρ) dρ = T ∂L/∂T: the velocity is linear in ρ, so that scaling ρ is scaling depth.

    The left side is the discrete adjoint's, the right side JAX's own derivative in the horizon: exact for fixed steps, any head kind, tied or
    layered (then the depth integral of ∫ δL/δρ_t dρ_t). Relative to Σ_j |weight_j δL/δρ(θ_j)|.
    """
    left, size = _mean_variation(problem, rho)
    right = problem.horizon * _depth_derivative(problem, rho)
    return float(jnp.abs(left - right) / jnp.maximum(size, jnp.finfo(size.dtype).tiny))


@eqx.filter_jit
def _mean_variation(problem: Problem, rho: Empirical) -> tuple[Array, Array]:
    terms = rho.weights * particle_gradient(problem, rho).values
    if isinstance(rho.points, Layered):
        terms = terms * problem.horizon / rho.points.layers
    return jnp.sum(terms), jnp.sum(jnp.abs(terms))


@eqx.filter_jit
def _depth_derivative(problem: Problem, rho: Empirical) -> Array:
    at = lambda horizon: jnp.mean(prompt_losses(eqx.tree_at(lambda p: p.horizon, problem, horizon), rho))  # noqa: E731
    return jax.grad(at)(problem.horizon)


def gauge(problem: Problem, rho: Empirical) -> float:
    """Q (∂L/∂Q)ᵀ = (∂L/∂K) Kᵀ for each softmax head, since (Q, K) → (GQ, G⁻ᵀK) changes nothing; relative to the larger side.

    NaN where the heads do not attend, or pass Q and K through a bound, which breaks the symmetry.
    """
    cold = eqx.tree_at(lambda p: p.confinement, problem, jnp.zeros_like(problem.confinement))
    gradient = particle_gradient(cold, rho).particles
    worst = [_gauge_defect(h, g) for h, g in zip(_softmax(rho.points), _softmax(gradient), strict=True)]
    return max(worst, default=float("nan"))


def _gauge_defect(head: Softmax, gradient: Softmax) -> float:
    left = jnp.einsum("...ka,...la->...kl", head.query, gradient.query)
    right = jnp.einsum("...ka,...la->...kl", gradient.key, head.key)
    size = jnp.linalg.norm(head.query) * jnp.linalg.norm(gradient.query) + jnp.linalg.norm(head.key) * jnp.linalg.norm(
        gradient.key
    )
    return float(jnp.linalg.norm(left - right) / jnp.maximum(size, jnp.finfo(size.dtype).tiny))


def _softmax(heads: Head) -> list[Softmax]:
    if isinstance(heads, Layered):
        return _softmax(heads.heads_by_layer)
    if isinstance(heads, Bounded):
        return [] if heads.inner_bound is not None else _softmax(heads.head)
    if isinstance(heads, Block):
        return _softmax(heads.attention) + _softmax(heads.perceptron)
    return [heads] if isinstance(heads, Softmax) else []


def splitting(problem: Problem, rho: Empirical) -> float:
    """The change of the risk when the first head and each prompt's first token are split into two atoms of half the mass.

    Relative to `magnitude`; with adaptive steps, zero up to their tolerance.
    """
    whole = risk(problem, rho)
    axis = rho.weights.ndim - 1
    heads = unchecked(jax.tree.map(lambda leaf: _twice(leaf, axis), rho.points), _halve(rho.weights))
    prompts = unchecked(_twice(problem.prompts.points, 1), _halve(problem.prompts.weights))
    return _change(problem, rho, whole, risk(eqx.tree_at(lambda p: p.prompts, problem, prompts), heads))


def permutation(problem: Problem, rho: Empirical) -> float:
    """The change of the risk when heads and tokens are listed in reverse order.

    Relative to `magnitude`; with adaptive steps, zero up to their tolerance.
    """
    axis = rho.weights.ndim - 1
    heads = jax.tree.map(lambda leaf: jnp.flip(leaf, axis), rho)
    prompts = jax.tree.map(lambda leaf: jnp.flip(leaf, 1), problem.prompts)
    return _change(problem, rho, risk(problem, rho), risk(eqx.tree_at(lambda p: p.prompts, problem, prompts), heads))


def magnitude(problem: Problem, rho: Empirical) -> Array:
    r"""The size of the numbers whose differences make the risk: the largest of the mean |ℓ| at μ_T, at μ_0 and at the mass at the origin.

    Scores, targets and logarithms do not shrink with a risk that has been learned to 0, and their rounding does not either: a defect of the
    risk is measured against this. A loss that is not finite at one of the other two measures leaves it out.
    """
    at_end = jnp.mean(jnp.abs(prompt_losses(problem, rho)))
    prompts = problem.prompts
    others = (prompts, unchecked(jnp.zeros_like(prompts.points), prompts.weights))
    sizes = jnp.stack([jnp.mean(jnp.abs(jax.vmap(problem.loss)(mu, problem.targets))) for mu in others])
    return jnp.maximum(at_end, jnp.max(jnp.where(jnp.isfinite(sizes), sizes, 0)))


def _twice(leaf: Array, axis: int) -> Array:
    return jnp.concatenate([jax.lax.slice_in_dim(leaf, 0, 1, axis=axis), leaf], axis=axis)


def _halve(weights: Array) -> Array:
    half = weights[..., :1] / 2
    return jnp.concatenate([half, half, weights[..., 1:]], axis=-1)


def _change(problem: Problem, rho: Empirical, before: Array, after: Array) -> float:
    return float(jnp.abs(after - before) / jnp.maximum(magnitude(problem, rho), jnp.finfo(before.dtype).tiny))


def costate(problem: Problem, rho: Empirical) -> float:
    """w_i p_0(x_i) from the costate's formula against ∂L/∂x_i by the reverse of the scheme; relative to the largest."""
    formula = functional_gradient(problem, rho).costate[:, 0] * problem.prompts.weights[..., None] / problem.size
    reverse = particle_gradient(problem, rho).initial
    return float(jnp.max(jnp.abs(formula - reverse)) / jnp.maximum(jnp.max(jnp.abs(reverse)), jnp.finfo(reverse.dtype).tiny))


def taylor(problem: Problem, rho: Empirical, *, key: Key, epsilon: float | None = None) -> float:
    """The derivative of the risk in a random direction of the heads against differences, relative to |derivative| + `magnitude`.

    Central differences at ε and ε/2, extrapolated: the defect is of order ε⁴ and eps/ε. How ε⁴ weighs depends on how sharp the trained flow is, so
    that without `epsilon` the least defect of ε = eps^{1/5}, an eighth and a 64th of it is given: a wrong derivative agrees with none of them.
    The direction has independent standard normal entries.
    """
    leaves, structure = jax.tree.flatten(rho.points)
    keys = jax.random.split(key, len(leaves))
    direction = structure.unflatten([jax.random.normal(k, x.shape, x.dtype) for k, x in zip(keys, leaves, strict=True)])
    start = float(np.finfo(leaves[0].dtype).eps ** (1 / 5))
    widths = [start, start / 8, start / 64] if epsilon is None else [epsilon]

    def difference(width: float) -> Array:
        at = lambda signed: risk(problem, rho.with_points(jax.tree.map(lambda x, v: x + signed * v, rho.points, direction)))  # noqa: E731
        return (at(width) - at(-width)) / (2 * width)

    gradient = _slope(problem, rho, direction)
    size = jnp.maximum(jnp.abs(gradient) + magnitude(problem, rho), jnp.finfo(gradient.dtype).tiny)
    defects = [jnp.abs(gradient - (4 * difference(width / 2) - difference(width)) / 3) / size for width in widths]
    return float(jnp.min(jnp.stack(defects)))


@eqx.filter_jit
def _slope(problem: Problem, rho: Empirical, direction: Any) -> Array:
    cold = eqx.tree_at(lambda p: p.confinement, problem, jnp.zeros_like(problem.confinement))
    particles = particle_gradient(cold, rho).particles
    weights = rho.weights
    if isinstance(rho.points, Layered):
        weights = weights * problem.horizon / rho.points.layers
    pair = lambda g, v: jnp.sum(g * v * weights.reshape(weights.shape + (1,) * (g.ndim - weights.ndim)))  # noqa: E731
    return sum(jax.tree.leaves(jax.tree.map(pair, particles, direction)), jnp.zeros((), weights.dtype))


def hamiltonian(problem: Problem, rho: Empirical) -> Array:
    r"""H(t) = Σ_i w_i ⟨p_t(x_i), V(x_i)⟩ for each prompt (n, L+1): constant in t where depth is tied, to the order of the scheme, and its mean is
    ∂L/∂T. The number to look at when asking whether L depth steps resolve the flow.
    """
    problem = problem.settled(rho)
    g = functional_gradient(problem, rho)
    w = problem.prompts.weights
    _, states = trajectories(problem, rho)
    last = jnp.concatenate([g.layer, g.layer[-1:]])

    def at(x: Array, p: Array, index: Array) -> Array:
        here = at_layer(rho, index)
        v = field(here.points, here.weights, x, w, problem.method)
        return jnp.einsum("ni,nia,nia->n", w, p, v)

    values = jax.lax.map(lambda args: at(*args), (jnp.moveaxis(states, 1, 0), jnp.moveaxis(g.costate, 1, 0), last))
    return values.T
