r"""The discrete adjoint: the exact reverse of an explicit Runge–Kutta scheme.

One step, with step h, weights b_i, matrix a_ij, stages Y_i and the adjoint P⁺ after the step:

    λ_i = h (b_i P⁺ + Σ_{j>i} a_ji κ_j),   κ_j = (∂V/∂Y_j)ᵀ λ_j,   P = P⁺ + Σ_i κ_i,

where the Jacobian is that of the whole cloud, nonlocal part included. δL/δρ(θ) = Σ_steps Σ_stages ⟨λ_i, φ_θ(Y_i, μ_{Y_i})⟩ at any θ.
Only the states at the grid times are kept from the forward pass; stages are computed again. Source: mathematics, section 3.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mckean._shapes import Array, PromptMasses, Prompts
from mckean.field.dispatch import costate_image, field, pullback
from mckean.field.method import Method
from mckean.heads.layered import Layered
from mckean.measures.empirical import Empirical
from mckean.tokens.grid import Grid, at_layer
from mckean.tokens.integrate import stages
from mckean.tokens.schemes import Scheme


def reverse_step(
    image: Callable[[Array, Array], Array], points: list[Array], after: Array, h: Array, scheme: Scheme
) -> tuple[Array, list[Array]]:
    """The adjoint before a step from the one after it, and the stage adjoints λ_i; `image(Y, λ)` is the transposed field."""
    images: list[Array] = []
    adjoints: list[Array] = []
    for i in reversed(range(scheme.stages)):
        later = range(i + 1, scheme.stages)
        terms = [scheme.b[i] * after] + [
            scheme.a[j][i] * images[scheme.stages - 1 - j] for j in later if i < len(scheme.a[j]) and scheme.a[j][i] != 0.0
        ]
        lam = h * sum(terms[1:], terms[0])
        adjoints.append(lam)
        images.append(image(points[i], lam))
    return after + sum(images[1:], images[0]), adjoints[::-1]


def sweep(
    rho: Empirical, states: Array, w: PromptMasses, after: Prompts, grid: Grid, scheme: Scheme, method: Method, keep: bool
) -> tuple[Prompts, Any, Array, Any]:
    """Reverse the whole flow, mass included.

    states (L+1, n, N, d); after = ∂ℓ/∂X_T (n, N, d). Gives P at t = 0; Σ⟨λ, ∇_θφ⟩ at the atoms (like rho.points) and Σ⟨λ, φ_θj⟩ (like
    rho.weights), both summed over prompts and not multiplied by the atoms' masses; and, where `keep`, the stage points and stage
    adjoints (L, stages, n, N, d), else None.
    """

    def body(carry, inputs):
        after, by_head, by_mass = carry
        start, end, index, x = inputs
        here = at_layer(rho, index)
        h = end - start
        points, _ = stages(lambda y: field(here.points, here.weights, y, w, method), x, h, scheme)
        parts = []

        def image(y: Array, lam: Array) -> Array:
            kappa, head_part, mass_part = pullback(here.points, here.weights, y, w, lam, method)
            parts.append((head_part, mass_part))
            return kappa

        before, adjoints = reverse_step(image, points, after, h, scheme)
        head_sum, mass_sum = jax.tree.map(lambda *leaves: sum(leaves[1:], leaves[0]), *parts)
        by_head, by_mass = _add(rho, (by_head, by_mass), (head_sum, mass_sum), index)
        return (before, by_head, by_mass), (jnp.stack(points), jnp.stack(adjoints)) if keep else None

    zero = jax.tree.map(jnp.zeros_like, (rho.points, rho.weights))
    inputs = (grid.times[:-1], grid.times[1:], grid.layer, states[:-1])
    (before, by_head, by_mass), kept = jax.lax.scan(body, (after, *zero), inputs, reverse=True)
    return before, by_head, by_mass, kept


def costates(
    rho: Empirical, states: Array, w: PromptMasses, terminal: Prompts, grid: Grid, scheme: Scheme, method: Method
) -> Array:
    """The costate p (L+1, n, N, d) of the scheme: the same recursion per unit of token mass, finite at weight 0."""

    def body(after, inputs):
        start, end, index, x = inputs
        here = at_layer(rho, index)
        h = end - start
        points, _ = stages(lambda y: field(here.points, here.weights, y, w, method), x, h, scheme)
        image = lambda y, p: costate_image(here.points, here.weights, y, w, p, method)  # noqa: E731
        before, _ = reverse_step(image, points, after, h, scheme)
        return before, before

    inputs = (grid.times[:-1], grid.times[1:], grid.layer, states[:-1])
    _, earlier = jax.lax.scan(body, terminal, inputs, reverse=True)
    return jnp.concatenate([earlier, terminal[None]])


def _add(rho: Empirical, totals: Any, parts: Any, index: Array) -> Any:
    if not isinstance(rho.points, Layered):
        return jax.tree.map(jnp.add, totals, parts)
    (heads, mass), (head_part, mass_part) = totals, parts
    added = jax.tree.map(lambda total, part: total.at[index].add(part), heads.heads_by_layer, head_part)
    return Layered(added), mass.at[index].add(mass_part)
