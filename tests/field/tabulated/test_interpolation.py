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

    @jax.jit
    def both(grid, cell, t, q):
        dense, pull = jax.vjp(lambda s: _dense(grid, cell, s), t)
        return (gather(grid, cell, t), spread(cell, t, q, *SHAPES[axes]), slope(grid, cell, t, q)), (dense, pull(q)[0])

    (read, filled, inclined), (dense, expected) = both(grid, cell, t, q)
    assert np.allclose(read, dense, rtol=0, atol=ROUNDING)
    assert filled.shape == grid.shape
    size = float(jnp.linalg.norm(read) * jnp.linalg.norm(q))
    assert abs(float(jnp.vdot(filled, grid) - jnp.vdot(q, read))) <= 1e-15 * size
    assert np.allclose(inclined, expected, rtol=0, atol=1e-10)


def test_reverse_mode_is_that_of_the_dense_reading():
    grid, cell, t, q = _setting(2, points=9)

    def reading(read):
        return lambda grid, t, q: jnp.sum(jnp.sin(read(grid, cell, t)) * q)

    def filling(fill):
        return lambda grid, t, q: jnp.sum(jnp.sin(fill(t, q)) * grid)

    def transposed(t, q):
        return jax.vjp(lambda g: _dense(g, cell, t), jnp.zeros_like(grid))[1](q)[0]

    pairs = (
        (reading(gather), reading(_dense)),
        (filling(lambda t, q: spread(cell, t, q, *SHAPES[2])), filling(transposed)),
    )
    slopes = jax.jit(lambda *a: [[jax.grad(f, argnums=(0, 1, 2))(*a) for f in pair] for pair in pairs])(grid, t, q)
    for ours, dense in slopes:
        for one, other in zip(ours, dense, strict=True):
            assert np.allclose(one, other, rtol=0, atol=1e-11)


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
