"""The Gaussian solution: closed forms in one dimension, blow-up, and clouds of Gauss–Hermite atoms that follow it."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.tokens.transport import ConcentrationWarning
from tests.heads import kinds

CLOSED = 1e-10  # relative: Dopri8 at rtol 1e-12
ATOMS = 1e-10  # a cloud of 24 or more nodes a dimension against the Gaussian solution while |A||S_t| ≤ 1/2
NODES = {1: 40, 2: 24}
SIZE = {1: 0.9, 2: 0.6}  # of query and key
SEED = {1: 48, 2: 40}
BLOWUP = 1e-3  # relative, for the depth at which the solver gives up
MASS = np.asarray([0.5, 0.3, 0.2])


def line(a, v):
    """One-dimensional heads: logit a·x·y, value v. Three equal ones, so that all tests here share one compilation."""
    one = np.ones((3, 1, 1))
    return mk.Empirical(mk.Softmax(a * one, one, v * one), MASS)


@pytest.mark.parametrize("start", [0.5, 1.0])
def test_value_plus_one_grows(start):
    t = np.asarray([0.0, 0.1, 0.2]) / start
    flow = mk.gaussian_transport(line(1.0, 1.0), [0.7], [[start]], horizon=0.2 / start, times=t)
    assert flow.result.ok
    shrink = 1 - 2 * start * t
    assert np.allclose(flow.covariance[:, 0, 0], start / shrink, rtol=CLOSED, atol=0)
    assert np.allclose(flow.mean[:, 0], 0.7 * np.exp(t) / np.sqrt(shrink), rtol=CLOSED, atol=0)


def test_its_card_says_what_was_solved():
    card = repr(mk.gaussian_transport(line(1.0, 1.0), [0.7], [[0.5]], horizon=0.4, times=np.asarray([0.0, 0.2, 0.4])))
    assert card.splitlines()[0] == "GaussianFlow: N(m, S) in R^1, saved at 3 depths from 0 to 0.4, float64"
    assert "largest variance 0.5 at t = 0, 0.833333 at the end" in card
    assert "result: The solve reached its end." in card


@pytest.mark.parametrize(
    ("mean", "covariance", "times", "message"),
    [
        ([0.0, np.nan], np.eye(2), None, "mean must be finite"),
        ([0.0, 0.0], [[1.0, 0.0], [0.0, np.inf]], None, "covariance must be finite"),
        ([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]], None, "must be symmetric; found entries that differ by 0.5"),
        ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], None, "positive semi-definite; found the eigenvalue -1"),
        ([0.0, 0.0], np.eye(2), [0.0, 1.5], "between 0 and `horizon`, 1; found 1.5"),
        ([0.0, 0.0], np.eye(2), [-0.5, 1.0], "found -0.5"),
        ([0.0, 0.0], np.eye(2), [0.0, np.nan], "found nan"),
        ([0.0, 0.0], np.eye(2), [0.0, 0.7, 0.2], "must increase; found 0.2 after 0.7"),
        ([0.0, 0.0], np.eye(2), 0.5, r"of shape \(m,\); found shape \(\)"),
        ([0.0, 0.0], np.eye(2), [], r"found shape \(0,\)"),
        ([0.0, 1j], np.eye(2), None, "real numbers; found dtype complex128"),
    ],
)
def test_a_law_or_times_that_cannot_be_are_refused(mean, covariance, times, message):
    with pytest.raises(mk.Refused, match=message):
        mk.gaussian_transport(mk.Empirical(kinds.softmax()), mean, covariance, horizon=1.0, times=times)


def test_value_minus_one_shrinks():
    t = np.asarray([0.0, 1.0, 3.0])
    flow = mk.gaussian_transport(line(1.0, -1.0), [0.7], [[1.3]], horizon=3.0, times=t)
    assert np.allclose(flow.covariance[:, 0, 0], 1.3 / (1 + 2.6 * t), rtol=CLOSED, atol=0)


@pytest.mark.parametrize("start", [0.5, 1.0])
def test_the_blow_up_is_reported_at_its_depth(start):
    flow = mk.gaussian_transport(line(1.0, 1.0), [0.0], [[start]], horizon=2 / start, times=np.asarray([0.0, 0.1, 0.2]), steps=2000)
    assert flow.result.code == "blow_up"
    print(f"blow-up at {flow.result.where}, exact {1 / (2 * start)}")
    assert flow.result.where["t"] == pytest.approx(1 / (2 * start), rel=BLOWUP)


def test_single_precision_reaches_the_horizon():
    """The tolerances follow the dtype: with those of float64 no step would be accepted."""
    one = jnp.ones((3, 1, 1), jnp.float32)
    rho = mk.Empirical(mk.Softmax(one, one, -one))
    flow = mk.gaussian_transport(rho, [0.7], [[1.3]], horizon=3.0, steps=2000)
    assert flow.result.ok
    assert flow.final.covariance.dtype == jnp.float32
    assert float(flow.final.covariance[0, 0]) == pytest.approx(1.3 / (1 + 2.6 * 3.0), rel=1e-4)


def test_running_out_of_steps_is_no_blow_up():
    flow = mk.gaussian_transport(line(1.0, -1.0), [0.7], [[1.3]], horizon=3.0, steps=3)
    assert flow.result.code == "depth_step_limit"
    assert 0 < flow.result.where["t"] < 3.0
    assert "Raise `steps`" in flow.result.message


def test_a_second_call_compiles_nothing(caplog):
    call = lambda a, horizon: mk.gaussian_transport(line(a, -1.0), [0.7], [[1.3]], horizon=horizon, steps=4000)  # noqa: E731
    with caplog.at_level(logging.WARNING, logger="jax"), jax.log_compiles(True):
        call(1.0, 3.0)
        assert "Compiling" in caplog.text
        caplog.clear()
        call(0.9, 2.5)
    assert "Compiling" not in caplog.text


@pytest.mark.parametrize("dim", [1, 2])
def test_a_cloud_of_gauss_hermite_atoms_follows_it(dim):
    """Several heads of unequal weight, bounded ones in the plane."""
    heads = kinds.softmax(3, dim=dim, seed=SEED[dim])
    heads = mk.Softmax(SIZE[dim] * heads.query, SIZE[dim] * heads.key, heads.value)
    rho = mk.Empirical(mk.Bounded(heads, 1.5, 1.5) if dim == 2 else heads, MASS)
    mean = np.asarray([0.3, -0.2])[:dim]
    covariance = np.asarray([[0.5, 0.1], [0.1, 0.3]])[:dim, :dim]
    exact = mk.gaussian_transport(rho, mean, covariance, horizon=0.5)
    bilinear = np.asarray((rho.points.bounded if dim == 2 else rho.points).bilinear)
    size = max(np.linalg.norm(a, 2) * np.linalg.norm(s, 2) for a in bilinear for s in np.asarray(exact.covariance))
    flow = mk.transport(rho, mk.gauss_hermite(mean, covariance, NODES[dim]), horizon=0.5, steps=128, save="last")
    x, w = np.asarray(flow.final.points), np.asarray(flow.weights)
    m = w @ x
    s = np.einsum("i,ia,ib->ab", w, x - m, x - m)
    errors = np.abs(m - exact.final.mean).max(), np.abs(s - exact.final.covariance).max()
    moved = np.abs(s - covariance).max()
    print(f"d = {dim}: mean {errors[0]:.1e}, covariance {errors[1]:.1e} (moved {moved:.2f}), |A||S| ≤ {size:.2f}")
    assert size <= 0.5
    assert moved > 0.02
    assert max(errors) <= ATOMS


def test_past_its_range_a_cloud_is_wrong_and_says_so():
    """σ₀ = 1, A = V = 1, 80 nodes, t = 0.8 t*: the variance is finite, plausible and about 14 % low."""
    with pytest.warns(ConcentrationWarning, match="no longer stands for a density"):
        flow = mk.transport(line(1.0, 1.0), mk.gauss_hermite(0.0, 1.0, 80), horizon=0.4, steps=100, save="last")
    variance = float(jnp.dot(flow.weights, flow.final.points[:, 0] ** 2))
    print(f"variance {variance:.3f} for 5, {100 * (1 - variance / 5):.1f} % low; {flow.stats['effective_sample_size']}")
    assert flow.result.ok
    assert 0.12 <= 1 - variance / 5 <= 0.16
    assert len(flow.stats["warnings"]) == 1
    assert "warning:" in flow.card()


@pytest.mark.parametrize(
    ("heads", "mean", "covariance"),
    [
        (lambda: kinds.perceptron(), [0.0, 0.0], np.eye(2)),
        (lambda: mk.Block(kinds.softmax(), kinds.perceptron()), [0.0, 0.0], np.eye(2)),
        (lambda: mk.Bounded(mk.Block(kinds.softmax(), kinds.perceptron()), 2.0), [0.0, 0.0], np.eye(2)),
        (lambda: mk.Layered(kinds.softmax(lead=(2,))), [0.0, 0.0], np.eye(2)),
        (lambda: kinds.softmax(), [0.0], [[1.0]]),
    ],
)
def test_what_has_no_gaussian_solution_is_refused(heads, mean, covariance):
    with pytest.raises(mk.Refused):
        mk.gaussian_transport(mk.Empirical(heads()), mean, covariance, horizon=1.0)
