"""The verb `solve`: what it records, that it goes on bit for bit, and how it ends when numbers leave the finite ones."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.coupled.stepper import minibatch
from tests.adjoint import cases

LIMIT = 1e-13
H = 0.1


def _problem(**options):
    options = {"horizon": 1.0, "steps": 2, "scheme": "euler", "confinement": 0.1, "temperature": 0.01, **options}
    return mk.Problem(
        cases.prompts(), jnp.asarray([0, 2]), mk.losses.CrossEntropy(cases.readout(trained=True, ridge=0.1)), **options
    )


def _solve(problem, rho, steps=8, **options):
    return mk.solve(problem, rho, **{"step_size": H, "steps": steps, "key": jax.random.key(5), **options})


def test_it_records_times_risks_and_temperatures_and_observes():
    problem, rho = _problem(), cases.measure("softmax")
    solution = _solve(problem, rho, steps=8, observe=lambda r: r.mean().query, every=3, annealing=mk.schedules.linear(0.0))
    assert np.allclose(solution.times, H * np.arange(9), rtol=1e-14)
    assert solution.risk.shape == solution.temperature.shape == (9,)
    assert abs(float(solution.risk[0]) - float(mk.risk(problem, rho))) <= LIMIT
    assert abs(float(solution.risk[-1]) - float(mk.risk(solution.problem, solution.rho))) <= LIMIT
    assert np.allclose(solution.temperature, 0.01 * (1 - np.arange(9) / 8), atol=1e-17)
    # s = 0, steps 3 and 6, and the end.
    assert solution.observed.shape == (4, 2, 2)
    assert cases.distance(solution.observed[0], rho.mean().query) <= LIMIT
    assert cases.distance(solution.observed[-1], solution.rho.mean().query) <= LIMIT
    assert solution.result.ok
    assert "trained readout" in repr(solution)
    # The readout is moved, and the problem that comes back has it.
    assert cases.distance(solution.problem.loss.readout.matrix, problem.loss.readout.matrix) > 0.01
    assert cases.largest(problem.loss.readout.matrix - cases.readout().matrix) == 0.0


def test_schedules_that_move_are_named_as_outside_the_theorems():
    annealed, decaying = "an annealed temperature", "a decaying step size"
    options = {"steps": 0, "annealing": mk.schedules.linear(0.1), "step_decay": mk.schedules.cosine()}
    problem, rho = _problem(), cases.measure("softmax")
    outside = lambda problem, **options: set(_solve(problem, rho, **options).stats["outside"])  # noqa: E731
    assert {annealed, decaying} <= outside(problem, **options)
    still = {"annealing": mk.schedules.linear(1.0), "step_decay": mk.schedules.constant()}
    assert not {annealed, decaying} & outside(problem, **{**options, **still})
    assert {annealed, decaying} & outside(_problem(temperature=0.0), **options) == {decaying}  # there is no noise to anneal


def test_an_estimated_field_is_named_as_outside_the_theorems():
    solution = _solve(_problem(method=mk.RandomBatch(2)), cases.measure("softmax"), steps=0)
    assert "a field estimated from 2 tokens" in repr(solution)


def test_no_steps_change_nothing():
    rho = cases.measure("softmax")
    solution = _solve(_problem(), rho, steps=0)
    assert cases.distance(solution.rho, rho) == 0.0
    assert solution.times.shape == (1,)


@pytest.mark.parametrize("dynamics", [mk.Inertial(2.0)], ids=["inertial"])
def test_two_halves_are_one_run_bit_for_bit(dynamics):
    problem, rho = _problem(), cases.measure("softmax")
    options = {"dynamics": dynamics, "batch": 1}
    whole = _solve(problem, rho, steps=10, **options)
    first = _solve(problem, rho, steps=4, **options)
    second = _solve(problem, rho, steps=6, state=first.state, **options)
    for a, b in zip(jax.tree.leaves(_arrays(whole.state)), jax.tree.leaves(_arrays(second.state)), strict=True):
        assert np.array_equal(a, b)
    joined = np.concatenate([first.risk[:-1], second.risk])
    assert np.array_equal(whole.risk, joined)
    assert np.array_equal(whole.times, np.concatenate([first.times[:-1], second.times]))


def _arrays(state):
    return state.rho, state.loss, state.memory, state.readout_memory, state.step, state.time, jax.random.key_data(state.key)


def test_an_annealed_run_goes_on_bit_for_bit_in_the_stepper():
    problem, rho = _problem(), cases.measure("softmax")
    stepper = mk.Stepper(problem, mk.Langevin(), step_size=H, total=10, step_decay=mk.schedules.cosine(0.1))
    start = stepper.init(rho, jax.random.key(1))
    whole, records = stepper.advance(start, 10)
    part, _ = stepper.advance(start, 3)
    part, _ = stepper.advance(part, 7)
    for a, b in zip(jax.tree.leaves(_arrays(whole)), jax.tree.leaves(_arrays(part)), strict=True):
        assert np.array_equal(a, b)
    decay = 0.1 + 0.9 * 0.5 * (1 + np.cos(np.pi * np.arange(10) / 10))
    assert np.allclose(np.diff([*records["time"], whole.time]), H * decay, rtol=1e-12)


def test_each_epoch_of_minibatches_covers_the_prompts():
    problem = mk.Problem(
        mk.Empirical(np.zeros((6, 1, 2)), np.ones((6, 1))), np.zeros((6, 3)), mk.losses.SquaredError(cases.readout()),
        horizon=1.0, steps=1, scheme="euler",
    )  # fmt: skip
    stepper = mk.Stepper(problem, mk.Langevin(), step_size=H, total=10, batch=2)
    state = stepper.init(cases.measure("softmax"), jax.random.key(0))
    pick = jax.jit(lambda step: minibatch(stepper, _at_step(state, step)))
    batches = np.stack([np.asarray(pick(jnp.asarray(step, jnp.int32))) for step in range(9)]).reshape(3, 6)
    assert np.array_equal(np.sort(batches, axis=1), np.tile(np.arange(6), (3, 1)))
    assert not np.array_equal(batches[0], batches[1])


def _at_step(state, step):
    return eqx.tree_at(lambda s: s.step, state, step)


@pytest.mark.parametrize("observe", [None, lambda rho: rho.mean().weight], ids=["one chunk", "a chunk a step"])
def test_a_run_that_leaves_the_finite_numbers_ends_at_the_last_state_with_a_risk(observe):
    """The heads of training step 2 are finite and their risk is not."""
    wild = mk.Perceptron(jnp.ones((2, 2)), jnp.zeros(2), jnp.ones((2, 2)), activation=jnp.square)
    problem = mk.Problem(
        cases.prompts(), np.zeros((2, 3)), mk.losses.SquaredError(cases.readout()), horizon=1.0, steps=2, scheme="euler"
    )
    solution = _solve(problem, mk.Empirical(wild), steps=30, step_size=1.0, observe=observe)
    assert solution.result.code == "nonfinite_risk"
    done = solution.stats["steps"]
    assert 0 < done < 30
    assert solution.result.where == {"s": pytest.approx(done + 1), "training step": done + 1}
    assert int(solution.state.step) == done
    assert np.isfinite(float(mk.risk(solution.problem, solution.rho)))
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(solution.rho))
    assert np.allclose(solution.times, np.arange(done + 1))
    assert np.all(np.isfinite(solution.risk))
    assert solution.risk.shape == solution.temperature.shape == (done + 1,)
    assert observe is None or solution.observed.shape == (done + 1, 2)
    with pytest.raises(mk.NumericalFailure, match="step_size"):
        solution.result.raise_if_failed()


def test_heads_whose_last_risk_is_not_finite_are_not_given():
    """The last state's risk is looked at only after the loop."""
    wild = mk.Perceptron(jnp.ones((2, 2)), jnp.zeros(2), jnp.ones((2, 2)), activation=jnp.square)
    problem = mk.Problem(
        cases.prompts(), np.zeros((2, 3)), mk.losses.SquaredError(cases.readout()), horizon=1.0, steps=2, scheme="euler"
    )
    solution = _solve(problem, mk.Empirical(wild), steps=2, step_size=1.0)
    assert solution.result.where["training step"] == 2
    assert solution.stats["steps"] == 1
    assert np.isfinite(float(solution.risk[-1]))


def test_a_start_without_a_finite_risk_is_given_back():
    wild = mk.Perceptron(jnp.full((2, 2), 1e90), jnp.zeros(2), jnp.full((2, 2), 1e90), activation=jnp.square)
    problem = mk.Problem(
        cases.prompts(), np.zeros((2, 3)), mk.losses.SquaredError(cases.readout()), horizon=1.0, steps=2, scheme="euler"
    )
    solution = _solve(problem, mk.Empirical(wild), steps=2, step_size=1.0)
    assert solution.result.where["training step"] == 0
    assert solution.times.shape == (1,)


@pytest.mark.parametrize("readout", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("dynamics", [mk.Langevin(), mk.Inertial()], ids=["langevin", "inertial"])
def test_a_readout_of_another_dtype_is_trained_in_its_own(readout, dynamics):
    """Tokens and heads in the one precision, readout and targets in the other; the risk is in the wider."""
    other = jnp.float64 if readout == jnp.float32 else jnp.float32
    cast = lambda tree, dtype: jax.tree.map(lambda leaf: leaf.astype(dtype), tree)  # noqa: E731
    with jax.numpy_dtype_promotion("standard"):
        loss = mk.losses.SquaredError(cast(cases.readout(trained=True, ridge=0.1), readout))
        problem = mk.Problem(
            cast(cases.prompts(), other), np.ones((2, 3)), loss, horizon=1.0, steps=2, scheme="euler", confinement=0.1
        )
        solution = _solve(problem, cast(cases.measure("softmax"), other), steps=3, dynamics=dynamics)
    assert solution.result.ok
    assert solution.risk.dtype == jnp.float64
    assert solution.problem.loss.readout.matrix.dtype == readout
    assert solution.rho.points.query.dtype == other
    assert float(solution.risk[-1]) < float(solution.risk[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [({"steps": -1}, "steps"), ({"every": 0}, "every"), ({"step_size": 0.0}, "step_size"), ({"batch": 3}, "batch"), ({"batch": 0}, "batch")],
)
def test_bad_arguments_are_refused(options, words):
    with pytest.raises(mk.Refused, match=words):
        _solve(_problem(), cases.measure("softmax"), **options)


def test_a_chunk_of_more_steps_than_it_holds_is_refused():
    stepper = mk.Stepper(_problem(), mk.Langevin(), step_size=H, total=100)
    with pytest.raises(mk.Refused, match="64"):
        stepper.advance(stepper.init(cases.measure("softmax"), jax.random.key(0)), 65)
