"""The gradient at the atoms of ρ alone: what one training step needs, with nothing kept of the depth flow but its states."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Array
from mckean.adjoint import discrete, terminal
from mckean.field.sharding import place_heads
from mckean.heads.layered import Layered
from mckean.measures.empirical import Empirical
from mckean.objective.problem import Problem
from mckean.tokens.integrate import integrate
from mckean.tokens.prompts import over_prompts


class ParticleGradient(eqx.Module):
    """Attributes:

    risk: L(ρ), the data term; losses: ℓ_i (n,).
    particles: ∇_θ δL_λ/δρ at the atoms (like rho.points): H times the gradient of the risk where weights are equal.
    values: δL/δρ at the atoms (like rho.weights), the data term.
    loss: the gradient of L in the arrays of the loss (a trained readout).
    initial: ∂L/∂X_0 (n, N, d), token mass included.
    """

    risk: Array
    losses: Array
    particles: Any
    values: Array
    loss: Any
    initial: Array


def particle_gradient(problem: Problem, rho: Empirical) -> ParticleGradient:
    """Risk and gradient at the atoms by the discrete adjoint. Source: mathematics, sections 3 and 4."""
    return _particle_gradient(problem.settled(rho), place_heads(problem.method, rho))


@eqx.filter_jit
def _particle_gradient(problem: Problem, rho: Empirical) -> ParticleGradient:
    count = problem.size
    adaptive = problem.scheme.adaptive

    def body(x0: Array, w: Array, targets: Any):
        grid = problem.grid(rho, x0, w)
        _, _, states = integrate(rho, x0, w, grid, problem.scheme, problem.method, observe=lambda x: x)
        losses, after, by_loss = terminal.start(problem, states[-1], w, targets)
        losses = jnp.where(grid.overrun, jnp.nan, losses)
        before, by_head, by_mass, _ = discrete.sweep(rho, states, w, after, grid, problem.scheme, problem.method, keep=False)
        return (by_head, by_mass, by_loss), (losses, before)

    # An adaptive grid is shared by the batch, so that the batch must not be cut.
    chunk = count if adaptive else problem.chunk(rho.size)
    (by_head, by_mass, by_loss), (losses, before) = over_prompts(body, problem.data, chunk, problem.method)
    by_head, by_mass, by_loss, before = jax.tree.map(lambda leaf: leaf / count, (by_head, by_mass, by_loss, before))
    by_head, by_mass = as_density(problem, rho, by_head), as_density(problem, rho, by_mass)
    particles = jax.tree.map(lambda g, theta: g + problem.confinement * theta, by_head, rho.points)
    return ParticleGradient(jnp.mean(losses), losses, particles, by_mass, by_loss, before)


def as_density(problem: Problem, rho: Empirical, tree: Any) -> Any:
    """For a layered ρ, the derivative in one layer's measure divided by its interval T/layers: the density in t."""
    if not isinstance(rho.points, Layered):
        return tree
    length = problem.horizon / rho.points.layers
    return jax.tree.map(lambda leaf: leaf / length, tree)
