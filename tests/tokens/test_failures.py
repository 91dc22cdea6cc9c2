"""A failure is a result with its place, and a warning says when a cloud no longer stands for a density."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import mckean as mk
from mckean.tokens.transport import ConcentrationWarning
from tests.heads import kinds

STEPS_AGREE = 1e-4


class Square(mk.Head):
    """φ(x) = speed · x², elementwise: x blows up at t = 1/(speed · x₀)."""

    speed: Array

    def map(self, x, mu):
        return self.speed * x**2


def first_bad_step(x, h, scheme):
    """The number of steps of x' = x² after which x is not finite, by loops."""
    with np.errstate(all="ignore"):
        for step in range(1, 10_000):
            k1 = x**2
            if scheme == "euler":
                x = x + h * k1
            else:
                k2 = (x + h / 2 * k1) ** 2
                k3 = (x + h / 2 * k2) ** 2
                x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + (x + h * k3) ** 2)
            if not np.isfinite(x):
                return step
    raise AssertionError("it stayed finite")


@pytest.mark.parametrize("scheme", ["rk4", "tsit5"])
def test_no_depth_steps_are_refused(scheme):
    with pytest.raises(mk.Refused, match="at least 1; found steps=0"):
        mk.transport(mk.Empirical(kinds.softmax()), kinds.cloud(), horizon=1.0, steps=0, scheme=scheme)


@pytest.fixture(scope="module")
def square():
    return mk.Empirical(Square(jnp.ones(1)))


@pytest.mark.parametrize("scheme", ["euler", "rk4"])
def test_a_token_that_blows_up_ends_in_the_result_with_its_depth(square, scheme):
    flow = mk.transport(square, mk.Empirical([[0.1], [2.0]]), horizon=1.0, steps=100, scheme=scheme)
    bad = first_bad_step(np.float64(2.0), 0.01, scheme)
    assert 50 < bad < 100  # the exact depth is 0.5
    assert flow.result.code == "nonfinite_tokens"
    assert not flow.result.ok
    assert flow.result.where == {"t": pytest.approx(0.01 * bad), "depth step": bad}
    assert np.all(np.isfinite(flow.points[:bad]))
    assert not np.all(np.isfinite(flow.points[bad]))
    assert f"t = {0.01 * bad:.6g}" in flow.result.message
    with pytest.raises(mk.NumericalFailure, match="left the finite numbers"):
        flow.result.raise_if_failed()


def test_padding_that_blows_up_is_not_a_failure(square):
    flow = mk.transport(square, mk.Empirical([[0.1], [2.0]], [1.0, 0.0]), horizon=1.0, steps=100, scheme="rk4")
    assert flow.result.ok
    assert float(flow.final.points[0, 0]) == pytest.approx(0.1 / (1 - 0.1), rel=1e-9)


def test_one_bad_prompt_is_seen_in_a_batch(square):
    batch = mk.Empirical([[[0.1]], [[2.0]]], [[1.0], [1.0]])
    assert mk.transport(square, batch, horizon=1.0, steps=100).result.code == "nonfinite_tokens"


def test_tsit5_says_when_it_runs_out_of_steps(square):
    """Near a blow-up at t = 0.5 the steps shrink without end."""
    flow = mk.transport(square, mk.Empirical([[0.1], [2.0]]), horizon=1.0, steps=60, scheme="tsit5", save="last")
    assert flow.result.code == "depth_step_limit"
    assert not flow.result.ok
    assert "Raise `steps`" in flow.result.message
    reached = flow.result.where["t"]
    assert reached == pytest.approx(0.5, abs=0.03)
    assert f"t = {reached:.6g}" in flow.result.message
    assert float(flow.times[-1]) == reached  # no step across the gap to the horizon
    assert np.all(np.isfinite(flow.final.points))
    enough = mk.transport(square, mk.Empirical([[0.1], [2.0]]), horizon=0.4, steps=60, scheme="tsit5", save="last")
    assert enough.result.ok
    assert float(enough.final.points[1, 0]) == pytest.approx(10.0, rel=1e-6)


def test_padding_does_not_change_the_adaptive_steps(square):
    """Neither a far token of weight 0 nor one that blows up on the way asks for a step of its own."""
    flows = [
        mk.transport(square, mk.Empirical([[0.1], [padding]], [1.0, 0.0]), horizon=1.0, steps=60, scheme="tsit5") for padding in (0.1, 2.0)
    ]
    assert all(flow.result.ok for flow in flows)
    assert flows[0].times.shape == flows[1].times.shape
    # the first error estimate is of the size of its rounding: the steps agree to STEPS_AGREE, not to the last digit
    assert np.allclose(flows[0].times, flows[1].times, rtol=0, atol=STEPS_AGREE)
    assert np.allclose(flows[1].final.points[0], 0.1 / (1 - 0.1), rtol=1e-7)


@pytest.mark.parametrize(
    ("mu", "size"),
    [
        (lambda: mk.Empirical([[2.0], [-2.0]]), 1.5),  # two atoms, attention on one: no density was meant
        (lambda: mk.Empirical([[2.0], [-2.0]], [0.3, 0.7]), 1.5),
        (lambda: mk.gauss_hermite(0.0, 0.3, 80), 1.0),  # |A|S < 1 throughout
        (lambda: mk.gauss_hermite(0.0, 1.0, 20), 0.5),
        (lambda: mk.Empirical(np.random.default_rng(0).normal(size=(200, 1))), 0.5),
    ],
    ids=["two", "two unequal", "narrow", "weak", "sample"],
)
def test_benign_clouds_and_few_atoms_do_not_warn(mu, size):
    rho = mk.Empirical(mk.Softmax([[[size]]], [[[1.0]]], [[[1.0]]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConcentrationWarning)
        flow = mk.transport(rho, mu(), horizon=0.3, steps=10, save="last")
    assert flow.stats["warnings"] == ()


@pytest.mark.parametrize("nodes", [20, 40])
def test_concentrated_attention_warns(nodes):
    rho = mk.Empirical(mk.Softmax([[[1.0]]], [[[1.0]]], [[[1.0]]]))
    with pytest.warns(ConcentrationWarning, match="Take more tokens"):
        mk.transport(rho, mk.gauss_hermite(0.0, 1.0, nodes), horizon=0.4, steps=10, save="last")


def test_heads_that_do_not_attend_have_no_effective_sample_size():
    flow = mk.transport(mk.Empirical(kinds.perceptron()), kinds.cloud(), horizon=1.0, steps=4, save="last")
    assert flow.stats["effective_sample_size"] is None
    assert "effective" not in repr(flow)
