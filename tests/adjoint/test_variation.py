"""The functional gradient against differences: Taylor remainders, mixtures towards unseen heads, and token positions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.adjoint import particle_gradient
from mckean.objective.evaluation import square_norm
from tests.adjoint import cases

# The remainder is ε² (1 + O(ε)) over ε = 1e-2 … 1e-5: the least squares slope is off by the cubic term of the first point only.
TAYLOR = (1.98, 2.02)
EPSILONS = np.logspace(-2, -5, 7)
# Fourth-order differences with steps of 1e-2 and mass: truncation below 1e-9, rounding 1e-14.
MIXTURE = 1e-7
POSITION = 1e-8
# The same sums in another order.
EXACT = 1e-13
RUNGS = (1.0, 2.0, 4.0)


def _derivative(values: np.ndarray, step: float) -> np.ndarray:
    """Richardson's extrapolation (error O(step⁶)) of central differences; values (2, 3, ...) at ± step · RUNGS."""
    d1, d2, d4 = ((values[0, i] - values[1, i]) / (2 * step * r) for i, r in enumerate(RUNGS))
    e1, e2 = (4 * d1 - d2) / 3, (4 * d2 - d4) / 3
    return (16 * e1 - e2) / 15


def _signed(step: float) -> np.ndarray:
    return step * np.asarray([RUNGS, [-r for r in RUNGS]])


@pytest.mark.parametrize("what", ["heads", "masses"])
def test_the_taylor_remainder_is_of_second_order(what):
    problem, rho = cases.problem("rk4"), cases.measure("block")
    found = particle_gradient(problem, rho)
    rng = np.random.default_rng(5)
    if what == "heads":
        direction = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), rho.points)
        move = lambda e: rho.with_points(jax.tree.map(lambda x, v: x + e * v, rho.points, direction))  # noqa: E731
        parts = jax.tree.map(lambda g, v: np.sum(np.asarray(rho.weights) @ np.asarray(g * v).reshape(3, -1)), found.particles, direction)
        slope = sum(jax.tree.leaves(parts))
    else:
        direction = jnp.asarray([0.5, -0.4, 0.3])
        move = lambda e: rho.with_weights(rho.weights + e * direction)  # noqa: E731
        slope = float(jnp.vdot(direction, found.values + 0.5 * problem.confinement * square_norm(rho)))
    start = float(mk.regularised_risk(problem, rho))
    remainders = [abs(float(mk.regularised_risk(problem, move(e))) - start - e * slope) for e in EPSILONS]
    assert TAYLOR[0] <= cases.slope(EPSILONS, remainders) <= TAYLOR[1]
    # A derivative that is off by a thousandth leaves a remainder of first order.
    wrong = [abs(float(mk.regularised_risk(problem, move(e))) - start - e * slope * 1.001) for e in EPSILONS]
    assert cases.slope(EPSILONS, wrong) < TAYLOR[0]


@jax.jit
def _risks_at_masses(problem, points, masses):
    one = lambda m: mk.regularised_risk(problem, mk.Empirical(points, jnp.zeros(()) + m).with_weights(m))  # noqa: E731
    return jax.vmap(jax.vmap(one))(masses)


@pytest.mark.parametrize(("kind", "depth"), [(k, d) for k in ("softmax", "perceptron") for d in ("tied", "layered")])
def test_it_is_the_derivative_along_mixtures_towards_any_head(kind, depth):
    """ρ has an atom A of mass .2 (an interior mixture), and has never seen U, whose mass is differenced about 0."""
    problem, rho = cases.problem("heun"), cases.measure(kind, depth)
    unseen = cases.heads(kind, count=2, seed=11)
    g = mk.functional_gradient(problem, rho)
    layered = depth == "layered"
    at_atoms = np.atleast_2d(g.values + 0.5 * problem.confinement * square_norm(rho))
    at_unseen = np.atleast_2d(g(unseen))
    interval = cases.HORIZON / (cases.LAYERS if layered else 1)
    weights = np.atleast_2d(rho.weights)
    means = np.sum(weights * at_atoms, axis=1)
    for layer in range(weights.shape[0]):
        for target, value in (("A", at_atoms[layer, 2]), ("U", at_unseen[layer, 1])):
            points, masses = _towards(rho, unseen, layer, target)
            along = _derivative(np.asarray(_risks_at_masses(problem, points, masses)), 1e-2)
            predicted = interval * (value - means[layer])
            assert abs(along - predicted) <= MIXTURE * abs(interval * value)


def _towards(rho, unseen, layer, target):
    """The atoms of ρ and U, and the masses of (1 − ε)ρ + εν for signed ε, ν a Dirac at A or at U in one layer."""
    lead = rho.weights.shape[:-1]
    extra = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[1:], (*lead, 1, *leaf.shape[1:])), unseen)
    inner = rho.points.heads_by_layer if lead else rho.points
    points = jax.tree.map(lambda a, b: jnp.concatenate([a, b], axis=len(lead)), inner, extra)
    base = np.concatenate([rho.weights, np.zeros((*lead, 1))], axis=-1)
    dirac = np.zeros(4)
    dirac[2 if target == "A" else 3] = 1.0
    move = np.zeros_like(base)
    move[layer if lead else ...] = dirac - base[layer if lead else ...]
    masses = base + _signed(1e-2).reshape(2, 3, *(1,) * base.ndim) * move
    return mk.Layered(points) if lead else points, jnp.asarray(masses)


def test_heads_of_another_kind_are_heads_whose_other_part_is_silent():
    problem, rho = cases.problem("rk4"), cases.measure("block")
    g = mk.functional_gradient(problem, rho)
    part = cases.heads("softmax", seed=21)
    hidden = cases.heads("perceptron", seed=22)
    silent = eqx.tree_at(lambda p: p.output, hidden, jnp.zeros_like(hidden.output))
    assert cases.distance(g.data_term(part), g.data_term(mk.Block(part, silent))) <= EXACT


def test_its_gradient_at_the_atoms_is_the_particles():
    g = mk.functional_gradient(cases.problem("rk4"), cases.measure("block"))
    assert cases.distance(g.gradient(g.rho.points), g.particles) <= EXACT
    assert cases.distance(g.data_term(g.rho.points), g.values) <= EXACT


@jax.jit
def _risks_at_tokens(problem, rho, tokens):
    one = lambda x: mk.risk(eqx.tree_at(lambda p: p.prompts.points, problem, x), rho)  # noqa: E731
    return jax.lax.map(jax.vmap(one), tokens)


def test_the_costate_is_the_derivative_in_token_positions():
    problem, rho = cases.problem("rk4"), cases.measure("block")
    g = mk.functional_gradient(problem, rho)
    x = np.asarray(problem.prompts.points)
    probes = [(0, 0, 1), (0, 3, 0), (1, 1, 0), (1, 2, 1)]
    clouds = np.stack([x + e * _unit(x.shape, probe) for probe in probes for e in _signed(2e-3).ravel()])
    risks = np.asarray(_risks_at_tokens(problem, rho, jnp.asarray(clouds.reshape(4, 6, *x.shape)))).reshape(4, 2, 3)
    mass = np.asarray(problem.prompts.weights)
    for values, (prompt, token, axis) in zip(risks, probes, strict=True):
        predicted = mass[prompt, token] * float(g.costate[prompt, 0, token, axis]) / problem.size
        assert abs(_derivative(values, 2e-3) - predicted) <= POSITION * abs(predicted)


def _unit(shape, index):
    unit = np.zeros(shape)
    unit[index] = 1.0
    return unit
