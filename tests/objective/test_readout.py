"""The readout is linear in the measure, and its input is checked."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.coupled.trained import trained_part
from tests.adjoint import cases

# Sums to rounding.
LIMIT = 1e-14
# The sample variance of 4,000 Gaussian entries lies within four standard errors, sqrt(2/4000) each, of the law's.
DRAWN = 4 * np.sqrt(2 / 4000)


def test_it_is_the_integral_of_its_features_and_affine_along_mixtures():
    features = lambda x: jnp.concatenate([x, x**2])  # noqa: E731
    matrix = np.random.default_rng(0).normal(size=(3, 4))
    readout = mk.Readout(matrix, np.asarray([1.0, 2.0, 3.0]), features=features)
    mu = cases.prompts()[0]
    x, w = np.asarray(mu.points), np.asarray(mu.weights)
    expected = matrix @ (w @ np.concatenate([x, x**2], axis=1)) + np.asarray([1.0, 2.0, 3.0])
    assert cases.distance(readout(mu), expected) <= LIMIT
    at = [np.asarray(readout(mu.with_weights(jnp.asarray((1 - e) * w + e * np.eye(4)[1])))) for e in (0.0, 0.5, 1.0)]
    assert cases.distance((at[0] + at[2]) / 2, at[1]) <= LIMIT


def test_its_bias_is_zero_by_default_and_its_penalty_spares_it():
    readout = mk.Readout(jnp.asarray([[3.0, 4.0]]), ridge=0.5)
    assert readout.bias.shape == (1,)
    assert float(readout.penalty()) == 0.5 * 0.5 * 25


def test_integers_become_floats():
    readout = mk.Readout([[3, 4]], [0.5], trained=True)
    assert readout.matrix.dtype == readout.bias.dtype == jnp.float64
    assert float(readout.bias[0]) == 0.5
    assert len(jax.tree.leaves(trained_part(readout))) == 2


def test_a_drawn_readout_has_the_stated_variance():
    readout = mk.Readout.normal(40, 100, key=jax.random.key(0), std=3.0, trained=True)
    assert readout.trained
    assert abs(float(jnp.mean(readout.matrix**2)) * 100 / 9 - 1) <= DRAWN


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [((np.zeros(3),), {}, "matrix"), ((np.zeros((3, 2)), np.zeros(2)), {}, "bias"), ((np.zeros((3, 2)),), {"ridge": -1.0}, "ridge")],
)
def test_bad_input_is_refused(arguments, options, words):
    with pytest.raises(mk.Refused, match=words):
        mk.Readout(*arguments, **options)
