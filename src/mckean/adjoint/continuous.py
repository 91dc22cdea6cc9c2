r"""The continuous adjoint: the backward equation with its own integration.

    −dp/dt = ∇_x V(x)ᵀ p + ∫ [D_μ V(x', ·)(x)]ᵀ p(x') dμ(x'),   p_T = ∇_x (δℓ/δμ)(μ_T),

along the stored tokens, by the same Runge–Kutta table run from T to 0. Tokens between grid times come from the cubic Hermite interpolant of
states and velocities (fourth order). The depth integral of δL/δρ is carried by the same table, so that everything is of the order
of the scheme. Source: mathematics, section 3.
"""

import jax
import jax.numpy as jnp

from mckean._shapes import Array, PromptMasses, Prompts
from mckean.field.dispatch import costate_image, field
from mckean.field.method import Method
from mckean.measures.empirical import Empirical
from mckean.tokens.grid import Grid, at_layer
from mckean.tokens.integrate import combine
from mckean.tokens.schemes import Scheme


def backward(
    rho: Empirical, states: Array, w: PromptMasses, terminal: Prompts, grid: Grid, scheme: Scheme, method: Method
) -> tuple[Array, tuple[Array, Array]]:
    """The costate (L+1, n, N, d), and the quadrature of the depth integral: points and h b_i w p (L, stages, n, N, d)."""

    def body(p, inputs):
        start, end, index, left, right = inputs
        here = at_layer(rho, index)
        h = end - start
        velocity = lambda y: field(here.points, here.weights, y, w, method)  # noqa: E731
        v_left, v_right = velocity(left), velocity(right)
        points, slopes, values = [], [], []
        for row, c in zip(scheme.a, scheme.c, strict=True):
            at = _hermite(1.0 - c, h, left, right, v_left, v_right)
            stage = p + h * combine(row, slopes) if slopes else p
            slopes.append(costate_image(here.points, here.weights, at, w, stage, method))
            points.append(at)
            values.append(stage)
        before = p + h * combine(scheme.b, slopes)
        duals = [h * b * w[..., None] * value for b, value in zip(scheme.b, values, strict=True)]
        return before, (before, jnp.stack(points), jnp.stack(duals))

    inputs = (grid.times[:-1], grid.times[1:], grid.layer, states[:-1], states[1:])
    _, (earlier, points, duals) = jax.lax.scan(body, terminal, inputs, reverse=True)
    return jnp.concatenate([earlier, terminal[None]]), (points, duals)


def _hermite(s: float, h: Array, left: Array, right: Array, v_left: Array, v_right: Array) -> Array:
    """The cubic through two states with given velocities, at the fraction s of the step."""
    if s == 0.0 or s == 1.0:
        return left if s == 0.0 else right
    jump = right - left
    bend = (1 - 2 * s) * jump + h * ((s - 1) * v_left + s * v_right)
    return left + s * jump + s * (s - 1) * bend
