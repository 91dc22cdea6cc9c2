"""2^x against NumPy's in extended precision, compiled too: a compiler that takes (x + c) − c for x breaks such a rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mckean.heads.power import power_of_two, smallest_power

ULPS = 2.0


@pytest.mark.parametrize(("dtype", "highest"), [(jnp.float64, 1023.0), (jnp.float32, 127.0)])
@pytest.mark.parametrize("wrapped", [lambda f: f, jax.jit], ids=["eager", "compiled"])
def test_to_two_ulps(dtype, highest, wrapped):
    x = np.linspace(smallest_power(dtype), highest, 200_003).astype(dtype)
    exact = np.exp2(x.astype(np.longdouble))
    found = np.asarray(wrapped(power_of_two)(jnp.asarray(x))).astype(np.longdouble)
    assert np.max(np.abs(found / exact - 1)) <= ULPS * np.finfo(dtype).eps


def test_of_a_product_compiled():
    """The argument is the result of a product, as in a tile."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(300, 3)), rng.normal(size=(200, 3))
    found = np.asarray(jax.jit(lambda a, b: power_of_two(a @ b.T))(a, b))
    assert np.max(np.abs(found / np.exp2(a @ b.T) - 1)) <= 1e-14


def test_whole_numbers_are_powers_exactly():
    n = np.arange(-1021.0, 1023.0)
    assert np.array_equal(power_of_two(jnp.asarray(n)), np.ldexp(1.0, n.astype(int)))
