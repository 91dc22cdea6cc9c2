"""The risk, evaluated through the depth flow."""

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Array
from mckean.field.sharding import place_heads
from mckean.measures.empirical import Empirical, unchecked
from mckean.objective.problem import Problem
from mckean.tokens.integrate import integrate
from mckean.tokens.prompts import over_prompts


def risk(problem: Problem, rho: Empirical) -> Array:
    r"""L(ρ) = (1/n) Σ_i ℓ(μ_T^{(i)}, y_i), a scalar.

    Differentiable by JAX in ρ (points and weights), prompts, horizon and loss: reverse mode recomputes each depth step. NaN or infinite when
    a token left the finite numbers. Source: mathematics, section 3.
    """
    problem.check(rho)
    return jnp.mean(prompt_losses(problem, rho))


def regularised_risk(problem: Problem, rho: Empirical) -> Array:
    r"""L_λ(ρ) = L(ρ) + (λ/2)∫|θ|² dρ (layered: the depth integral of (λ/2)∫|θ|² dρ_t). Source: mathematics, section 1."""
    return risk(problem, rho) + confinement(problem, rho)


def prompt_losses(problem: Problem, rho: Empirical) -> Array:
    """ℓ_i (n,): the loss of each prompt."""
    return _prompt_losses(problem.settled(rho), place_heads(problem.method, rho))


def terminal(problem: Problem, rho: Empirical) -> Empirical:
    """The terminal measures μ_T^{(i)}, a batch (n, N, d)."""
    return _terminal(problem.settled(rho), place_heads(problem.method, rho))


def trajectories(problem: Problem, rho: Empirical) -> tuple[Array, Array]:
    """The depth grid (L+1,) and the tokens of every prompt there (n, L+1, N, d)."""
    return _trajectories(problem.settled(rho), place_heads(problem.method, rho))


@eqx.filter_jit
def _prompt_losses(problem: Problem, rho: Empirical) -> Array:
    return jax.vmap(problem.loss)(_terminal(problem, rho), problem.targets)


@eqx.filter_jit
def _terminal(problem: Problem, rho: Empirical) -> Empirical:
    prompts = problem.prompts
    grid = problem.grid(rho, prompts.points, prompts.weights)

    def body(x0: Array, w: Array) -> tuple[tuple[()], Array]:
        x, _, _ = integrate(rho, x0, w, grid, problem.scheme, problem.method, checkpoint=True)
        return (), x

    _, x = over_prompts(body, (prompts.points, prompts.weights), problem.chunk(rho.size), problem.method)
    if problem.scheme.adaptive:
        # A grid that did not reach T has no terminal measure to offer.
        x = jnp.where(grid.overrun, jnp.nan, x)
    return unchecked(x, prompts.weights)


@eqx.filter_jit
def _trajectories(problem: Problem, rho: Empirical) -> tuple[Array, Array]:
    x0, w = problem.prompts.points, problem.prompts.weights
    grid = problem.grid(rho, x0, w)
    _, _, points = integrate(rho, x0, w, grid, problem.scheme, problem.method, observe=lambda x: x)
    return grid.times, jnp.moveaxis(points, 0, 1)


def confinement(problem: Problem, rho: Empirical) -> Array:
    """(λ/2)∫|θ|² dρ, or its depth integral for a layered ρ."""
    squares = square_norm(rho)
    total = jnp.sum(rho.weights * squares, axis=-1)
    if rho.weights.ndim == 2:
        total = problem.horizon * jnp.mean(total)
    return 0.5 * problem.confinement * total


def square_norm(rho: Empirical) -> Array:
    """|θ|² of each atom, with the shape of the weights."""
    axes = rho.weights.ndim
    leaves = jax.tree.leaves(rho.points)
    squares = [jnp.sum(leaf**2, axis=tuple(range(axes, leaf.ndim))) for leaf in leaves]
    return sum(squares[1:], squares[0])
