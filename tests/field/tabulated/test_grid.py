"""The grid in x: matrix products over few cells are the gathering of the points' own cells, forward and transposed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mckean.field.tabulated import grid
from mckean.field.tabulated.plan import Lattice

AGREEMENT = 2e-13  # relative to the largest: some hundred terms in another order


@pytest.mark.parametrize(("cells", "p"), [((2,), 9), ((1, 1), 24), ((3, 2), 7), ((2, 1, 3), 5)])
def test_products_are_gathering(cells, p, monkeypatch):
    rng = np.random.default_rng(0)
    lattice = Lattice(cells, p, 1.0)
    x = jnp.asarray(rng.normal(size=(300, len(cells))))
    values, charges = jnp.asarray(rng.normal(size=(lattice.nodes, 3))), jnp.asarray(rng.normal(size=(300, 3)))

    def all_of_it(few: int):
        monkeypatch.setattr(grid, "FEW_CELLS", few)
        both = jax.grad(lambda v, q: jnp.sum(charges * grid.interpolate(v, x, q, lattice)), argnums=(0, 1))
        return grid.interpolate(values, x, x, lattice), grid.anterpolate(charges, x, x, lattice), *both(values, x)

    products, gathered = all_of_it(10**9), all_of_it(0)
    for one, other in zip(products, gathered, strict=True):
        assert np.max(np.abs(one - other)) <= AGREEMENT * np.max(np.abs(other))
    assert np.array_equal(np.shape(products[1]), np.shape(values))


def test_a_polynomial_is_read_exactly():
    rng = np.random.default_rng(1)
    lattice = Lattice((1, 2), 6, 1.0)
    box = jnp.asarray(rng.uniform(-2, 3, size=(50, 2)))
    at = grid.around(box).lattice_points(lattice)
    polynomial = lambda z: (z[:, :1] ** 5 - z[:, 1:] ** 4 * z[:, :1]) / 50  # noqa: E731
    read = grid.interpolate(polynomial(at), box, box, lattice)
    assert np.max(np.abs(read - polynomial(box))) <= 1e-12
