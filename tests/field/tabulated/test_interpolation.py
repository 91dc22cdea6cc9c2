"""Reading and filling a grid against dense NumPy, each other's transpose, and the rules of differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mckean.field.tabulated.bounds import nodes
from mckean.field.tabulated.interpolation import GROUP, gather, polynomials, slope, spread

# Sums of at most 6³ products of numbers of order one.
ROUNDING = 1e-12
SHAPES = {1: (5, 6), 2: (4, 5), 3: (3, 4)}
CHARGES, POINTS = 2, GROUP + 7  # two groups, the second one padded


def _setting(axes, points=POINTS):
    rng, (cells, p) = np.random.default_rng(axes), SHAPES[axes]
    grid = jnp.asarray(rng.normal(size=(cells, *(p,) * axes, CHARGES)))
    cell = jnp.asarray(rng.integers(0, cells, size=points), jnp.int32)
    t = jnp.asarray(rng.uniform(-1, 1, size=(points, axes)))
    return grid, cell, t, jnp.asarray(rng.normal(size=(points, CHARGES)))


def _dense(grid, cell, t):
    """Barycentric weights, all nodes at once: an independent reading that JAX differentiates by itself."""
    z = jnp.asarray(nodes(grid.shape[1]))
    gaps = z[:, None] - z[None, :] + jnp.eye(z.size)
    bary = 1 / jnp.prod(gaps, axis=1)
    out = grid[cell]
    for a in range(t.shape[1]):
        terms = bary[None] / (t[:, a, None] - z[None, :])
        weights = terms / jnp.sum(terms, axis=1, keepdims=True)
        out = jnp.einsum("mk...,mk->m...", out, weights)
    return out


@pytest.mark.parametrize("p", [2, 5, 13])
def test_the_polynomials_are_one_at_their_node_and_their_derivatives_are_theirs(p):
    assert np.allclose(polynomials(jnp.asarray(nodes(p)), p), np.eye(p), rtol=0, atol=ROUNDING)
    t = jnp.linspace(-1, 1, 23)
    exact = jax.vmap(jax.jacfwd(lambda s: polynomials(s, p)))(t)
    assert np.allclose(polynomials(t, p, 1), exact, rtol=0, atol=1e-10)
    assert np.allclose(jnp.sum(polynomials(t, p), axis=1), 1, rtol=0, atol=1e-11)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_reading_filling_and_their_slope(axes):
    grid, cell, t, q = _setting(axes)
    read = gather(grid, cell, t)
    assert np.allclose(read, _dense(grid, cell, t), rtol=0, atol=ROUNDING)
    filled = spread(cell, t, q, *SHAPES[axes])
    assert filled.shape == grid.shape
    size = float(jnp.linalg.norm(read) * jnp.linalg.norm(q))
    assert abs(float(jnp.vdot(filled, grid) - jnp.vdot(q, read))) <= 1e-15 * size
    expected = jax.grad(lambda s: jnp.vdot(q, _dense(grid, cell, s)))(t)
    assert np.allclose(slope(grid, cell, t, q), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("axes", [2])
def test_reverse_mode_is_that_of_the_dense_reading(axes):
    grid, cell, t, q = _setting(axes, points=9)

    def energy(read, grid, t):
        return jnp.sum(jnp.sin(read(grid, cell, t)) * q)

    for argument in (0, 1):
        ours = jax.grad(lambda *a: energy(gather, *a), argnums=argument)(grid, t)
        dense = jax.grad(lambda *a: energy(_dense, *a), argnums=argument)(grid, t)
        assert np.allclose(ours, dense, rtol=0, atol=1e-11)

    def filled(t, charges):
        return jnp.sum(jnp.sin(spread(cell, t, charges, *SHAPES[axes])) * grid)

    def naive(t, charges):
        _, pull = jax.vjp(lambda g: _dense(g, cell, t), jnp.zeros_like(grid))
        return jnp.sum(jnp.sin(pull(charges)[0]) * grid)

    for argument in (0, 1):
        assert np.allclose(jax.grad(filled, argument)(t, q), jax.grad(naive, argument)(t, q), rtol=0, atol=1e-11)


def test_reverse_over_reverse_is_that_of_the_dense_reading():
    grid, cell, t, q = _setting(2, points=9)
    direction = jnp.cos(jnp.arange(t.size, dtype=t.dtype)).reshape(t.shape)

    def curved(read):
        first = lambda g, s: jnp.vdot(direction, jax.grad(lambda r: jnp.sum(read(g, cell, r) ** 2 * q))(s))  # noqa: E731
        return jax.jit(jax.grad(first, argnums=(0, 1)))(grid, t)

    for ours, dense in zip(curved(gather), curved(_dense), strict=True):
        assert np.allclose(ours, dense, rtol=1e-11, atol=1e-9)


def test_what_a_point_sends_back_to_the_grid_can_be_scaled_and_nothing_else_is():
    grid, cell, t, q = _setting(2, points=9)
    back = jnp.linspace(0.0, 2.0, 9)
    read, pull = jax.vjp(lambda g, s: gather(g, cell, s, back), grid, t)
    assert np.array_equal(read, gather(grid, cell, t))
    to_grid, to_points = pull(q)
    assert np.allclose(to_grid, spread(cell, t, q * back[:, None], *SHAPES[2]), rtol=0, atol=ROUNDING)
    assert np.allclose(to_points, slope(grid, cell, t, q), rtol=0, atol=ROUNDING)
