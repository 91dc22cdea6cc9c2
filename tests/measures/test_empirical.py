"""The rules of weights, batches, integrals, atoms of weight 0 and split atoms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk

ROUNDING = 1e-14  # sums of a few numbers of size 1 in float64
POINTS = np.asarray([[0.0, 1.0], [2.0, -1.0], [-3.0, 0.5]])
WEIGHTS = np.asarray([0.5, 0.3, 0.2])


def test_weights_default_to_one_over_N():
    mu = mk.Empirical(POINTS)
    assert np.array_equal(mu.weights, np.full(3, 1 / 3))
    assert mu.size == 3
    assert mu.batch is None
    assert mu.points.dtype == jnp.float64


def test_integers_and_nested_lists_become_arrays_of_floats():
    assert mk.Empirical(np.asarray([[1, 2]])).points.dtype == jnp.float64
    mu = mk.Empirical([[1, 2], [3, 4.5]], [0.25, 0.75])
    assert mu.points.shape == (2, 2)
    assert mu.points.dtype == jnp.float64
    assert mk.Empirical([[[1.0]], [[2.0]]], [[1.0], [1.0]]).batch == 2
    assert mk.Empirical((np.zeros((3, 2)), np.zeros(3))).points[1].shape == (3,)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.6, 0.6, -0.2], "non-negative; found -0.2"),
        ([0.5, 0.3, 0.1], "sum to 1; found a sum of 0.9"),
        ([0.5, 0.3, np.nan], "Weights must be finite"),
        ([np.inf, 0.3, 0.2], "Weights must be finite"),
        ([0.5, 0.5], "One weight an atom"),
        ([[0.5, 0.3, 0.2]], "share its first 2 axes|One weight an atom"),
        (0.5, "one axis .* or two"),
        ([[[1.0]]], "one axis .* or two"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(mk.Refused, match=message):
        mk.Empirical(POINTS, np.asarray(weights))


def test_a_sum_off_by_less_than_the_tolerance_is_accepted_and_more_is_not():
    mk.Empirical(POINTS, WEIGHTS * (1 + 5e-10))
    with pytest.raises(mk.Refused, match="normalize=True"):
        mk.Empirical(POINTS, WEIGHTS * (1 + 5e-9))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((0, 2)), "at least one atom"),
        ((), "at least one atom"),
        ({}, "no array in it"),
        ([[1.0], [2.0, 3.0]], "nested lists of numbers must have one shape"),
        ((np.zeros((3, 2)), np.zeros((2, 2))), "must share its first 1 axes"),
        (np.asarray([[0.0, np.nan]]), "Coordinates must be finite"),
        (np.asarray([[1j, 0.0]]), "Points must be real numbers; found dtype complex128. Take the real part"),
        ([[1j, 0.0]], "Points must be real numbers"),
        (np.asarray([["a", "b"]]), "Points must be real numbers"),
        ([["a", "b"]], "Points must be real numbers"),
        (np.float64(1.0), "must share its first 1 axes"),
    ],
)
def test_bad_points_are_refused(points, message):
    with pytest.raises(mk.Refused, match=message):
        mk.Empirical(points)


def test_coordinates_must_be_finite_even_at_weight_zero():
    with pytest.raises(mk.Refused, match="also at atoms of weight 0"):
        mk.Empirical(np.asarray([[1.0], [np.inf]]), np.asarray([1.0, 0.0]))


def test_normalize_divides_by_the_sum_and_refuses_a_sum_of_zero():
    mu = mk.Empirical(POINTS, 7 * WEIGHTS, normalize=True)
    assert np.allclose(mu.weights, WEIGHTS, rtol=0, atol=ROUNDING)
    batch = mk.Empirical(np.stack([POINTS, POINTS]), np.stack([WEIGHTS, 9 * WEIGHTS]), normalize=True)
    assert np.allclose(batch.weights, np.stack([WEIGHTS, WEIGHTS]), rtol=0, atol=ROUNDING)
    with pytest.raises(mk.Refused, match="sum to 0"):
        mk.Empirical(POINTS, np.zeros(3), normalize=True)
    with pytest.raises(mk.Refused, match="non-negative"):
        mk.Empirical(POINTS, np.asarray([2.0, 1.0, -1.0]), normalize=True)


def test_integrals_and_means_over_a_pytree():
    mu = mk.Empirical({"a": POINTS, "b": np.asarray([1.0, 2.0, 4.0])}, WEIGHTS)
    mean = mu.mean()
    assert np.allclose(mean["a"], WEIGHTS @ POINTS, rtol=0, atol=ROUNDING)
    assert np.allclose(mean["b"], 0.5 + 0.6 + 0.8, rtol=0, atol=ROUNDING)
    both = mu.integrate(lambda z: (z["b"] ** 2, jnp.outer(z["a"], z["a"])))
    assert np.allclose(both[0], 0.5 + 1.2 + 3.2, rtol=0, atol=ROUNDING)
    assert np.allclose(both[1], np.einsum("i,ia,ib->ab", WEIGHTS, POINTS, POINTS), rtol=0, atol=ROUNDING)


def test_a_batch_is_one_measure_a_row():
    points, weights = np.stack([POINTS, 2 * POINTS]), np.stack([WEIGHTS, WEIGHTS[::-1]])
    batch = mk.Empirical(points, weights)
    assert batch.batch == 2
    assert batch.size == 3
    assert np.allclose(batch.mean(), np.einsum("ni,nia->na", weights, points), rtol=0, atol=ROUNDING)
    squares = batch.integrate(lambda x: jnp.sum(x**2))
    for i in range(2):
        assert np.allclose(batch[i].mean(), batch.mean()[i], rtol=0, atol=ROUNDING)
        assert np.allclose(batch[i].integrate(lambda x: jnp.sum(x**2)), squares[i], rtol=0, atol=ROUNDING)
    with pytest.raises(mk.Refused, match="picks a measure out of a batch"):
        mk.Empirical(POINTS)[0]


def test_an_atom_of_weight_zero_is_as_if_it_were_not_there_and_splitting_changes_nothing():
    f = lambda x: jnp.sum(jnp.sin(x)) ** 2  # noqa: E731
    value = mk.Empirical(POINTS, WEIGHTS).integrate(f)
    padded = mk.Empirical(np.concatenate([POINTS, [[1e6, 1e6]]]), np.append(WEIGHTS, 0.0))
    split = mk.Empirical(np.concatenate([POINTS, POINTS[:1]]), np.asarray([0.25, 0.3, 0.2, 0.25]))
    assert padded.integrate(f) == pytest.approx(float(value), abs=ROUNDING)
    assert split.integrate(f) == pytest.approx(float(value), abs=ROUNDING)
    assert not np.allclose(mk.Empirical(POINTS).integrate(f), value)


def test_inside_jit_only_shapes_are_checked():
    total = jax.jit(lambda x, w: mk.Empirical(x, w).mean())(POINTS, -WEIGHTS)
    assert np.allclose(total, -WEIGHTS @ POINTS, rtol=0, atol=ROUNDING)
    with pytest.raises(mk.Refused, match="One weight an atom"):
        jax.jit(lambda x, w: mk.Empirical(x, w).mean())(POINTS, WEIGHTS[:2])


def test_mass_derivatives_are_taken_on_unnormalised_mass():
    mu = mk.Empirical(POINTS, WEIGHTS)
    by_mass = jax.grad(lambda w: jnp.sum(mu.with_weights(w).mean()))(mu.weights)
    assert np.allclose(by_mass, POINTS.sum(axis=1), rtol=0, atol=ROUNDING)
    assert np.allclose(mu.with_points(2 * mu.points).mean(), 2 * WEIGHTS @ POINTS, rtol=0, atol=ROUNDING)
