"""What the verbs say of numbers, keys and objects that cannot be."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean import _arguments


def test_whole_numbers_of_any_library_are_counts():
    for value in (3, np.int32(3), np.asarray(3), jnp.asarray(3)):
        found = _arguments.count(value, "steps", "depth steps")
        assert (type(found), found) == (int, 3)
    assert _arguments.count(0, "steps", "training steps", 0) == 0


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (0, "at least 1; found steps=0"),
        (2.5, "integer of at least 1; found steps=2.5"),
        (4.0, "found steps=4.0; write steps=4"),
        (np.float64(4), "write steps=4"),
        (True, "found steps=True"),
        (np.True_, "found steps=True"),
        ("4", "found steps='4'"),
        (None, "found steps=None"),
        (np.asarray([4]), r"an array of shape \(1,\) and dtype int64"),
    ],
)
def test_other_counts_are_refused(value, found):
    with pytest.raises(mk.Refused, match=found):
        _arguments.count(value, "steps", "depth steps")


def test_a_traced_count_is_refused():
    with pytest.raises(mk.Refused, match="plain integer"):
        jax.jit(lambda n: _arguments.count(n, "steps", "depth steps"))(3)


@pytest.mark.parametrize("value", [1, 1.5, np.float32(1.5), np.asarray(1.5), jnp.asarray(1.5)])
def test_real_numbers_are_floats(value):
    found = _arguments.positive(value, "horizon")
    assert type(found) is float
    assert found == value


@pytest.mark.parametrize("value", ["1", None, 1j, True, np.ones(2), np.nan, np.inf, 0.0, 10**400])
def test_what_is_not_a_positive_number_is_refused(value):
    with pytest.raises(mk.Refused, match="`horizon` must be a positive, finite number; found"):
        _arguments.positive(value, "horizon")


def test_traced_numbers_pass_and_traced_arrays_do_not():
    assert float(jax.grad(lambda h: 2 * _arguments.positive(h, "horizon"))(-1.0)) == 2.0
    with pytest.raises(mk.Refused, match=r"shape \(2,\)"):
        jax.jit(lambda h: _arguments.positive(h, "horizon"))(jnp.ones(2))


def test_keys():
    for key in (jax.random.key(0), jax.random.PRNGKey(0)):
        assert _arguments.random_key(key) is key
    jax.vmap(lambda key: jax.random.normal(_arguments.random_key(key)))(jax.random.split(jax.random.key(0), 3))
    for wrong, words in ((7, r"jax.random.key\(7\); found 7"), (None, "found None"), (jax.random.split(jax.random.key(0), 3), "found 3 keys")):
        with pytest.raises(mk.Refused, match=words):
            _arguments.random_key(wrong)


RAW = """
import jax, jax.numpy as jnp, numpy as np, optax, mckean as mk
jax.config.update("jax_enable_x64", True)
x, key = np.ones((3, 2)), jax.random.key(0)
heads = mk.Perceptron(x, np.zeros(3), x)
rho, mu = mk.Empirical(heads), mk.Empirical(x)
loss = mk.losses.SquaredError(mk.Readout(np.ones((1, 2))))
problem = mk.Problem(mu, [0.0], loss, horizon=1.0, steps=2, scheme="euler")
cube = np.ones((3, 2, 2))
def make(**options):
    return lambda: mk.Problem(mu, [0.0], loss, **{"horizon": 1.0, "steps": 2, **options})
def solve(**options):
    return lambda: mk.solve(problem, rho, **{"step_size": 0.1, "steps": 1, "key": key, **options})
def move(**options):
    return lambda: mk.transport(rho, mu, **{"horizon": 1.0, "steps": 2, **options})
calls = {
    "problem, fraction": (make(steps=2.5), "must be an integer"),
    "problem, bool": (make(steps=True), "must be an integer"),
    "problem, horizon": (make(horizon="1"), "`horizon` must be a positive depth T; found '1'"),
    "problem, confinement": (make(confinement=[1.0]), "`confinement` must be a finite number"),
    "problem, scheme": (make(scheme=3), "`scheme` must be one of"),
    "transport, fraction": (move(steps=2.5), "must be an integer"),
    "transport, horizon": (move(horizon=None), "`horizon` must be a positive depth T; found None"),
    "transport, swapped": (lambda: mk.transport(mu, rho, horizon=1.0, steps=2), "swapped?"),
    "solve, fraction": (solve(steps=2.5), "must be an integer"),
    "solve, every": (solve(every=1.5), "must be an integer"),
    "solve, batch": (solve(batch=2), "at most 1, the number of prompts"),
    "solve, fraction of a batch": (solve(batch=0.5), "must be an integer"),
    "solve, step size": (solve(step_size="a"), "`step_size` must be a positive, finite number; found 'a'"),
    "solve, key": (solve(key=0), "jax.random.key(0)"),
    "dynamics, name": (solve(dynamics="adam"), "mk.Optax("),
    "dynamics, optax": (solve(dynamics=optax.adam(1.0)), "mk.Optax("),
    "dynamics, class": (solve(dynamics=mk.Langevin), "mk.Langevin()"),
    "dynamics, class of optax": (solve(dynamics=mk.Optax), "mk.Optax(optax.adam(1.0))"),
    "optax, name": (lambda: mk.Optax("adam"), "mk.Optax(optax.adam(1.0))"),
    "optax, function": (lambda: mk.Optax(optax.sgd), "mk.Optax(optax.sgd(1.0))"),
    "heads, key": (lambda: mk.Softmax.normal(3, 2, 2, key=1), "jax.random.key(1)"),
    "laws, key": (lambda: mk.laws.ball(3, key=1), "jax.random.key(1)"),
    "scale, one a head": (lambda: mk.Softmax(cube, cube, cube, np.ones(3)), "`scale` must be one finite real number"),
    "scale, infinite": (lambda: mk.Softmax(cube, cube, cube, np.inf), "`scale` must be one finite real number"),
    "scale, traced": (lambda: jax.grad(lambda s: mk.Softmax(cube, cube, cube, s).bilinear.sum())(1.0), "found a traced value"),
    "gradient of a measure": (lambda: mk.functional_gradient(problem, rho)(rho), "the heads themselves"),
    "gradient of an array": (lambda: mk.functional_gradient(problem, rho)(x), "a batch of heads"),
}
for name, (call, words) in calls.items():
    try:
        call()
    except mk.Refused as refusal:
        if words not in str(refusal):
            print(f"{name}: {refusal}")
    except Exception as error:
        print(f"{name}: {type(error).__name__} {error}")
    else:
        print(f"{name}: accepted")
whole = mk.solve(problem, rho, step_size=np.float64(0.1), steps=np.int64(1), key=key)
if whole.stats["steps"] != 1 or move(steps=np.int32(2), horizon=np.float64(1.0))().times.shape != (3,):
    print("numbers of NumPy are not taken")
"""


def test_each_verb_says_what_is_wrong():
    """In a process of its own: the annotations that tests check would stop the calls first."""
    done = subprocess.run([sys.executable, "-c", RAW], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
