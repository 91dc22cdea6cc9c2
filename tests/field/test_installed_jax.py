"""A regression test of the installed JAX: jit must not change a small product followed by a sum, over many rows (jax-ml/jax#39103)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk

ROWS = 40_000  # the fault shows above 16,384 rows in float64 and above 32,768 in float32
AGREEMENT = {"float64": 1e-14, "float32": 1e-5}  # relative to the sum of absolute values: three terms a row


@pytest.mark.parametrize(
    ("power", "dtype"),
    [
        (1, "float64"),
        (2, "float64"),
        (2, "float32"),
        pytest.param(
            1,
            "float32",
            marks=pytest.mark.xfail(strict=False, reason="wrong in jaxlib 0.10.0 to 0.10.2 between 32,769 and 65,536 rows"),
        ),
    ],
)
def test_a_product_followed_by_a_sum_over_many_rows(power, dtype):
    rng = np.random.default_rng(0)
    x, matrix = rng.normal(size=(ROWS, 3)).astype(dtype), rng.normal(size=(3, 3)).astype(dtype)
    rows = jax.vmap(lambda row: jnp.sum((matrix @ row) ** power))
    terms = (x.astype(float) @ matrix.astype(float).T) ** power
    sizes = np.sum(np.abs(matrix)) ** power * np.abs(x).max(axis=1) ** power
    for value in (rows(jnp.asarray(x)), jax.jit(rows)(x)):
        assert value.dtype == dtype
        assert np.max(np.abs(np.asarray(value) - terms.sum(axis=1)) / sizes) <= AGREEMENT[dtype]


@pytest.mark.parametrize("power", [1, 2])
def test_the_sum_of_a_long_product(power):
    rng = np.random.default_rng(1)
    m, x = rng.normal(size=(ROWS, 3)), rng.normal(size=3)
    terms = (m @ x) ** power
    function = lambda m, x: jnp.sum((m @ x) ** power)  # noqa: E731
    for value in (function(jnp.asarray(m), jnp.asarray(x)), jax.jit(function)(m, x)):
        assert abs(float(value) - terms.sum()) <= 1e-12 * np.abs(terms).sum()


def test_the_library_in_single_precision_over_many_rows():
    """Velocity of many tokens, mean, integral and a squared-error loss of many prompts, float32 against float64."""
    rng = np.random.default_rng(2)
    weights, biases, outputs = rng.normal(size=(2, 3)), rng.normal(size=2), rng.normal(size=(2, 3))
    x, targets, matrix = rng.normal(size=(ROWS, 1, 3)), rng.normal(size=(ROWS, 2)), rng.normal(size=(2, 3))

    def all_of_it(x, targets, weights, biases, outputs, matrix):
        prompts = mk.Empirical(x, jnp.ones((ROWS, 1), x.dtype))
        one = mk.Empirical(x[:, 0])
        rho = mk.Empirical(mk.Perceptron(weights, biases, outputs))
        error = jax.vmap(mk.losses.SquaredError(mk.Readout(matrix)))
        return mk.velocity(rho, one), prompts.mean(), one.integrate(jnp.square), error(prompts, targets)

    double = (x, targets, weights, biases, outputs, matrix)
    single = tuple(jnp.asarray(a, jnp.float32) for a in double)
    compiled = jax.jit(all_of_it)
    for low, high in zip(compiled(*single), compiled(*double), strict=True):
        assert low.dtype == jnp.float32
        assert np.max(np.abs(np.asarray(low, float) - high)) <= 1e-5 * np.max(np.abs(high))
