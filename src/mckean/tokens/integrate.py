"""The loop over depth, and one step of it. Clouds are x (n, N, d) with weights w (n, N)."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mckean._shapes import Array, PromptMasses, Prompts
from mckean.field.dispatch import noted
from mckean.field.method import Method
from mckean.field.tabulated.guarded import Note
from mckean.measures.empirical import Empirical
from mckean.tokens.grid import Grid, at_layer
from mckean.tokens.schemes import Scheme


def stages(velocity: Callable[[Array], Array], x: Array, h: Array, scheme: Scheme) -> tuple[list[Array], list[Array]]:
    """The stage points Y_i and the stage velocities k_i = V(Y_i), the last of which is left out: only b_s k_s needs it."""
    points, slopes = [x], []
    for row in scheme.a[1:]:
        slopes.append(velocity(points[-1]))
        points.append(x + h * combine(row, slopes))
    return points, slopes


def combine(weights: tuple[float, ...], arrays: list[Array]) -> Array:
    """Σ_i weights_i arrays_i, the zeros left out."""
    terms = [weight * array for weight, array in zip(weights, arrays, strict=True) if weight != 0.0]
    return sum(terms[1:], terms[0])


def step(velocity: Callable[[Array], Array], x: Array, h: Array, scheme: Scheme) -> Array:
    """One step of length h."""
    points, slopes = stages(velocity, x, h, scheme)
    return x + h * combine(scheme.b, [*slopes, velocity(points[-1])])


def integrate(
    rho: Empirical,
    x0: Prompts,
    w: PromptMasses,
    grid: Grid,
    scheme: Scheme,
    method: Method,
    observe: Callable[[Array], Any] = lambda x: None,
    checkpoint: bool = False,
) -> tuple[Prompts, Array, Any]:
    """Carry the clouds through depth.

    Gives the final points, the index of the first depth step after which a token of positive weight is not finite (L + 1 if none is), and
    `observe` of the points at every grid time, stacked (L+1, ...). `checkpoint` recomputes each step in a reverse pass.
    """
    return integrate_noted(rho, x0, w, grid, scheme, method, observe, checkpoint)[:3]


def integrate_noted(
    rho: Empirical,
    x0: Prompts,
    w: PromptMasses,
    grid: Grid,
    scheme: Scheme,
    method: Method,
    observe: Callable[[Array], Any] = lambda x: None,
    checkpoint: bool = False,
) -> tuple[Prompts, Array, Any, Note]:
    """As `integrate`, with what every evaluation of the field said of itself: a `Note` of arrays (L, stages, n)."""
    visible = (w > 0)[..., None]

    def advance(carry: tuple[Array, Array], inputs: tuple[Array, Array, Array, Array]):
        x, first_bad = carry
        index, start, end, layer = inputs
        here = at_layer(rho, layer)
        notes = []

        def velocity(y: Array) -> Array:
            v, note = noted(here.points, here.weights, y, w, method)
            notes.append(note)
            return v

        x = step(velocity, x, end - start, scheme)
        bad = ~jnp.all(jnp.isfinite(jnp.where(visible, x, 0)))
        first_bad = jnp.where(bad, jnp.minimum(first_bad, index + 1), first_bad)
        return (x, first_bad), (observe(x), jax.tree.map(lambda *parts: jnp.stack(parts), *notes))

    body = jax.checkpoint(advance) if checkpoint else advance
    inputs = (jnp.arange(grid.steps), grid.times[:-1], grid.times[1:], grid.layer)
    (x, first_bad), (seen, notes) = jax.lax.scan(body, (x0, jnp.asarray(grid.steps + 1)), inputs)
    seen = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), observe(x0), seen)
    return x, first_bad, seen, notes
