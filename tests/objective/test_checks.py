"""What a problem refuses when it is built, before anything is computed."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from tests.adjoint import cases


def _problem(targets, loss, prompts=None):
    return mk.Problem(cases.prompts() if prompts is None else prompts, targets, loss, horizon=1.0, steps=2, scheme="euler")


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (lambda mu, y: mu.mean(), r"one real number, of shape \(\); found shape \(2,\)"),
        (lambda mu, y: mu.mean()[:1], r"found shape \(1,\)"),
        (lambda mu, y: jnp.argmax(mu.mean()), "dtype int64"),
        (lambda mu, y: (jnp.sum(mu.mean()), y), "found tuple"),
        (lambda mu, y: mu.mean() @ jnp.ones(3), r"must work for one prompt of points \(4, 2\)"),
    ],
)
def test_a_loss_that_is_not_one_real_number_is_refused(loss, words):
    with pytest.raises(mk.Refused, match=words):
        _problem(np.zeros(2), loss)


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (np.asarray([0, 3]), "0 … 2; found the class 3"),
        (np.asarray([-1, 2]), "found the class -1"),
        (np.asarray([0.0, 2.0]), r"found float64 targets of shape \(2,\)"),
        (np.eye(3, dtype=int)[:2], r"shape \(2, 3\).*argmax"),
        (None, "NoneType"),
    ],
)
def test_targets_that_are_no_classes_are_refused(targets, words):
    with pytest.raises(mk.Refused, match=words):
        _problem(targets, mk.losses.CrossEntropy(cases.readout()))


def test_classes_that_are_traced_are_taken_on_trust():
    rho = cases.measure("softmax")
    risk = lambda y: mk.risk(_problem(y, mk.losses.CrossEntropy(cases.readout())), rho)  # noqa: E731
    assert abs(float(jax.jit(risk)(jnp.asarray([0, 2]))) - float(risk(jnp.asarray([0, 2])))) <= 1e-14


def test_lists_of_numbers_are_arrays():
    loss = mk.losses.SquaredError(mk.Readout(jnp.ones((1, 2))))
    assert _problem([1.0, 2.0], loss).targets.shape == (2,)
    assert _problem([0, 2], mk.losses.CrossEntropy(cases.readout())).targets.dtype == jnp.int64
    assert _problem([1.0, 2.0, 3.0], mk.losses.SquaredError(cases.readout()), cases.prompts()[0]).targets.shape == (1, 3)
    with pytest.raises(mk.Refused, match="array of numbers"):
        _problem([[1.0], [2.0, 3.0]], loss)


def test_floating_targets_take_the_dtype_of_the_tokens():
    prompts = mk.Empirical(jnp.zeros((2, 4, 2), jnp.float32), jnp.full((2, 4), 0.25))
    narrow = mk.Readout(jnp.ones((1, 2), jnp.float32))
    problem = _problem(np.asarray([0.1, 0.2]), mk.losses.SquaredError(narrow), prompts)
    assert problem.targets.dtype == problem.risk_dtype == jnp.float32
    wide = mk.Readout(jnp.ones((1, 2)))
    with jax.numpy_dtype_promotion("standard"):
        assert _problem(np.asarray([0.1, 0.2]), mk.losses.SquaredError(wide), prompts).risk_dtype == jnp.float64


@pytest.mark.parametrize("name", ["horizon", "confinement", "temperature"])
def test_numbers_that_are_traced_are_taken_on_trust(name):
    rho = cases.measure("softmax")
    given = {"horizon": 1.0, "confinement": 0.1, "temperature": 0.0}

    def total(value):
        loss = mk.losses.CrossEntropy(cases.readout())
        options = {**given, name: value}
        return mk.regularised_risk(mk.Problem(cases.prompts(), [0, 2], loss, steps=2, scheme="euler", **options), rho)

    value = 0.7
    slope = float(jax.grad(total)(value))
    centred = float(total(value + 1e-5) - total(value - 1e-5)) / 2e-5
    assert abs(slope - centred) <= 1e-8
    assert (slope == 0) == (name == "temperature")


def test_a_problem_prints_as_a_card():
    lines = repr(_problem([0, 2], mk.losses.CrossEntropy(cases.readout()))).splitlines()
    assert lines[0] == "Problem: 2 prompts of 4 tokens in R^2, float64; loss CrossEntropy"
    assert lines[1].startswith("  depth T = 1, euler, 2 depth steps, field ")
    assert lines[2] == "  confinement λ = 0, temperature β = 0"
    one = mk.Problem(cases.prompts()[0], 0, lambda mu, y: mu.mean()[0], horizon=1.0, steps=9, scheme="tsit5")
    assert "1 prompt of 4 tokens" in repr(one)
    assert "tsit5, at most 9 depth steps" in repr(one)


RAW = """
import numpy as np, mckean as mk
x = np.zeros((3, 2))
rho = mk.Empirical(mk.Perceptron(x, np.zeros(3), x))
loss = mk.losses.SquaredError(mk.Readout(np.ones((1, 2))))
calls = [
    lambda: mk.velocity(rho, x),
    lambda: mk.velocity(x, mk.Empirical(x)),
    lambda: mk.transport(rho, x, horizon=1.0, steps=2),
    lambda: mk.Problem(x, [0.0], loss, horizon=1.0, steps=2),
    lambda: mk.risk(mk.Problem(mk.Empirical(x), [0.0], loss, horizon=1.0, steps=2), x),
]
for call in calls:
    try:
        call()
    except mk.Refused as refusal:
        assert "mk.Empirical(" in str(refusal), refusal
    else:
        raise SystemExit("not refused")
"""


def test_arrays_where_a_measure_is_needed_are_refused():
    """In a process of its own: the annotations that tests check would stop them first."""
    done = subprocess.run([sys.executable, "-c", RAW], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
