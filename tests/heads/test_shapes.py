"""Arrays that do not make a batch of heads are refused, with what was found."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from tests.heads import kinds

Z = np.zeros


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mk.Softmax(Z((3, 2)), Z((3, 2)), Z((3, 2))), r"`query` must have shape \(H, k, d\); found shape \(3, 2\)"),
        (lambda: mk.Softmax(Z((3, 4, 2)), Z((3, 1, 2)), Z((3, 2, 2))), r"query and key of one shape .* key \(3, 1, 2\)"),
        (lambda: mk.Softmax(Z((3, 4, 2)), Z((3, 4, 2)), Z((3, 4, 4))), r"value \(H, d, d\)"),
        (lambda: mk.Softmax(Z((3, 4, 2)), Z((3, 4, 2)), Z((2, 2, 2))), r"value \(2, 2, 2\)"),
        (lambda: mk.Perceptron(Z((3, 2)), Z(2), Z((3, 2))), r"bias \(H,\)"),
        (lambda: mk.Perceptron(Z((3, 2)), Z(3), Z((3, 1))), "weight and output of one shape"),
        (lambda: mk.Perceptron(Z(3), Z(3), Z(3)), r"`weight` must have shape \(H, d\)"),
        (lambda: mk.Block(kinds.softmax(3), kinds.perceptron(2)), "3 attention heads and 2 hidden units"),
        (lambda: mk.Block(kinds.softmax(dim=3), kinds.perceptron(dim=4)), r"heads of R\^3 and hidden units of R\^4"),
        (lambda: mk.Block(mk.Bounded(kinds.softmax(dim=3), 1.0), kinds.perceptron()), r"heads of R\^3 and hidden units of R\^2"),
        (lambda: mk.Perceptron(Z((3, 2)), Z(3), 1j * Z((3, 2))), "`output` must be real numbers; found dtype complex128. Take the real part"),
        (lambda: mk.Softmax(np.asarray("a"), Z((3, 4, 2)), Z((3, 2, 2))), "`query` must be real numbers"),
        (lambda: mk.Bounded(kinds.softmax(), 0.0), "`bound` must be positive and finite; found 0.0"),
        (lambda: mk.Bounded(kinds.softmax(), np.inf), "`bound` must be positive and finite; found inf"),
        (lambda: mk.Bounded(kinds.softmax(), np.nan), "`bound` must be positive and finite; found nan"),
        (lambda: mk.Bounded(kinds.softmax(), 1.0, np.inf), "`inner_bound` must be positive and finite"),
        (lambda: mk.Bounded(kinds.softmax(), 1.0, -1.0), "`inner_bound` must be positive"),
        (lambda: mk.Bounded(kinds.GaussianKernel(jnp.ones(2), jnp.ones(2)), 1.0), "does not say which of its fields are outputs"),
        (lambda: mk.Layered(mk.Perceptron(Z((3, 2)), Z(3), Z((3, 2)))), r"need arrays \(layers, H, ...\)"),
        (lambda: mk.Empirical(mk.Layered(kinds.softmax(2, lead=(2,))), [0.5, 0.5]), r"weights \(layers, H\); found 1 axis"),
        (lambda: mk.Empirical(kinds.softmax(3), [0.5, 0.5]), "One weight an atom|must share"),
    ],
)
def test_shapes_that_disagree_are_refused(call, message):
    with pytest.raises(mk.Refused, match=message):
        call()


def test_integers_become_floats():
    assert mk.Perceptron([[1, 2]], [0], [[1, 1]]).weight.dtype == jnp.float64


def test_a_bound_is_a_float():
    """A static field: an array there could not be compared, and would compile anew at every call."""
    assert type(mk.Bounded(kinds.softmax(), np.float64(2)).bound) is float
    assert mk.Bounded(kinds.softmax(), jnp.asarray(2.0), jnp.asarray(3.0)).inner_bound == 3.0


def test_number_of_heads():
    assert kinds.softmax(5).heads == 5
    assert mk.Bounded(mk.Block(kinds.softmax(4), kinds.perceptron(4)), 1.0).heads == 4
    layered = mk.Layered(kinds.softmax(3, lead=(2,)))
    assert (layered.layers, layered.heads) == (2, 3)
    rho = mk.Empirical(layered)
    assert rho.weights.shape == (2, 3)
    assert np.allclose(rho.weights, 1 / 3)


def test_laws_of_heads_have_the_stated_standard_deviations():
    dim, heads = 4, 2000
    batch = mk.Softmax.normal(heads, dim, dim, key=jax.random.key(0), query_std=2.0, key_std=0.5, value_std=3.0, scale=0.7)
    assert batch.scale == 0.7
    for name, std in (("query", 1.0), ("key", 0.25), ("value", 1.5)):
        # 32,000 entries: five standard errors are 2 %
        assert np.std(getattr(batch, name)) == pytest.approx(std, rel=0.02)
    units = mk.Perceptron.normal(heads, dim, key=jax.random.key(1), weight_std=2.0, bias_std=0.5, output_std=3.0)
    for name, std in (("weight", 1.0), ("bias", 0.5), ("output", 1.5)):
        # 2,000 entries or more: five standard errors are 8 %
        assert np.std(getattr(units, name)) == pytest.approx(std, rel=0.08)
    assert not np.allclose(units.weight, units.output / 1.5)
