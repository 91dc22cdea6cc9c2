"""Quadrature nodes give the flow of a smooth density to spectral accuracy, and the density along them."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import legendre

import mckean as mk

q = mk.quadrature
LINE, PLANE = 1e-11, 1e-8  # the token limit, d = 1 and d = 2
L1 = 1e-8
FASTER = 0.2  # each pair of nodes more divides the error by five at least (d = 1, from 6 to 14)
MOVED = 1e-2  # in L1, so that agreement is not that of a density at rest
GAUSS = 1e-8
HORIZON, STEPS = 1.0, 8
SIZE = {1: 20, 2: 289}


@functools.cache
def heads(dim, seed=1):
    return mk.Empirical(mk.Softmax.normal(heads=3, dim=dim, key_dim=dim, key=jax.random.key(seed)), [0.5, 0.3, 0.2])


def bump(x):
    return jnp.exp(jnp.sin(2 * x[0])) if x.shape == (1,) else jnp.exp(jnp.sin(x[0] + x[1]) + x[0])


def padded(mu, size):
    """Pads of weight 0: clouds of every size share one compiled program."""
    pads = size - mu.size
    return mk.Empirical(jnp.pad(mu.points, ((0, pads), (0, 0))), jnp.pad(mu.weights, (0, pads)))


def functional(mu0):
    dim = mu0.points.shape[1]
    start = padded(mu0, SIZE[dim])
    flow = mk.transport(heads(dim), start, horizon=HORIZON, steps=STEPS, scheme="heun", save="last", method=mk.Exact())
    x = np.asarray(flow.final.points)
    return np.asarray(start.weights) @ np.concatenate([x, np.cos(x)], axis=1)


def panels():
    """The same flow in NumPy: six panels of twelve nodes and Heun steps of our own."""
    z, w = legendre.leggauss(12)
    middle = (np.arange(6) + 0.5) / 3 - 1
    x = np.add.outer(middle, z / 6).ravel()
    w = np.tile(w, 6) * np.exp(np.sin(2 * x))
    w /= w.sum()
    part = heads(1)
    a = np.asarray(part.points.bilinear)[:, 0, 0]
    v = np.asarray(part.points.value)[:, 0, 0]

    def field(x):
        total = np.zeros_like(x)
        for mass, aj, vj in zip(np.asarray(part.weights), a, v, strict=True):
            e = np.exp(aj * np.outer(x, x))
            total += mass * vj * (e @ (w * x)) / (e @ w)
        return total

    h = HORIZON / STEPS
    for _ in range(STEPS):
        k1 = field(x)
        x = x + h / 2 * (k1 + field(x + h * k1))
    return np.asarray([w @ x, w @ np.cos(x)])


def test_the_token_limit_on_a_line():
    limit = panels()
    nodes = np.arange(6, 15, 2)
    errors = [np.abs(functional(q.tensor(-1.0, 1.0, int(n)).measure(bump)) - limit).max() for n in nodes]
    slope = math.exp(np.polyfit(nodes, np.log(np.maximum(errors, 1e-16)), 1)[0] * 2)
    assert slope < FASTER
    assert np.abs(functional(q.tensor(-1.0, 1.0, 20).measure(bump)) - limit).max() < LINE


def test_the_token_limit_in_the_plane():
    limit = functional(q.tensor([-1.0] * 2, [1.0] * 2, 17, rule="clenshaw_curtis").measure(bump))
    coarse, fine = (np.abs(functional(q.tensor([-1.0] * 2, [1.0] * 2, n).measure(bump)) - limit).max() for n in (4, 10))
    assert fine < PLANE < coarse


def test_the_estimate_of_a_flow_is_at_least_its_error():
    limit = panels()
    found = q.nested(functional, lambda n: q.tensor(-1.0, 1.0, n, rule="clenshaw_curtis").measure(bump), 5)
    assert found.trusted
    assert np.abs(found.value - limit).max() <= found.error < 1e-4


def line(a, v):
    return mk.Empirical(mk.Softmax(jnp.full((1, 1, 1), a), jnp.ones((1, 1, 1)), jnp.full((1, 1, 1), v)))


def test_a_gaussian_keeps_its_formula():
    # A = V = 1: variance s/(1 − 2st), mean m eᵗ/√(1 − 2st), with |A|S ≤ ½ all along
    m, s, t = 0.3, 0.25, 0.8
    mu = mk.gauss_hermite(m, s, 40)
    start = -0.5 * (mu.points[:, 0] - m) ** 2 / s - 0.5 * math.log(2 * math.pi * s)
    flow = mk.density_along(line(1.0, 1.0), mu, start, horizon=t, steps=64, scheme="tsit5", rtol=1e-11, atol=1e-12)
    assert flow.result.ok
    end_s, end_m = s / (1 - 2 * s * t), m * math.exp(t) / math.sqrt(1 - 2 * s * t)
    exact = -0.5 * (np.asarray(flow.final.points)[:, 0] - end_m) ** 2 / end_s - 0.5 * math.log(2 * math.pi * end_s)
    # ∫|p − p_T| dx = ∫|1 − p_T/p| dμ_T
    error = np.asarray(mu.weights) @ np.abs(1 - np.exp(exact - np.asarray(flow.log_density[-1])))
    assert error < GAUSS


def derivative(values, z, dim):
    """d values / dz of a function on Gauss–Legendre nodes, by its polynomial."""
    if dim == 1:
        return legendre.legval(z, legendre.legder(legendre.legfit(z, values, len(z) - 1)))
    table = values.reshape(len(z), len(z))
    return np.stack(
        [
            legendre.legval(z, legendre.legder(legendre.legfit(z, table, len(z) - 1))).T.ravel(),
            legendre.legval(z, legendre.legder(legendre.legfit(z, table.T, len(z) - 1))).ravel(),
        ],
        axis=-1,
    )


def jacobian(points, z, dim):
    """det dX_T/dX_0 from the flow map alone."""
    if dim == 1:
        return derivative(points[:, 0], z, 1)
    return np.linalg.det(np.stack([derivative(points[:, k], z, 2) for k in range(2)], axis=1))


@pytest.mark.parametrize(("dim", "nodes"), [(1, 24), (2, 14)])
def test_the_density_is_the_pushforward_and_has_mass_one(dim, nodes):
    rule = q.tensor([-1.0] * dim, [1.0] * dim, nodes)
    mass = rule.mass(bump)
    flow = mk.density_along(
        heads(dim), rule.measure(bump), lambda x: jnp.log(bump(x)) - math.log(mass), horizon=HORIZON, steps=64
    )
    det = jacobian(np.asarray(flow.final.points), np.polynomial.legendre.leggauss(nodes)[0], dim)
    carried = np.exp(np.asarray(flow.log_density))
    w = np.asarray(rule.weights)
    assert w @ np.abs(carried[-1] * det - carried[0]) < L1
    assert abs(w @ (carried[-1] * det) - 1) < L1
    assert w @ np.abs(carried[-1] - carried[0]) > MOVED


def test_tokens_move_as_in_transport_and_weightless_ones_carry_the_density():
    rho = heads(2)
    rule = q.tensor([-1.0] * 2, [1.0] * 2, 6)
    mu = rule.measure(bump)
    probe = jnp.asarray([[0.1, -0.2]])
    both = mk.Empirical(jnp.concatenate([mu.points, probe, mu.points[:1]]), jnp.concatenate([mu.weights, jnp.zeros(2)]))
    along = mk.density_along(rho, both, lambda x: jnp.log(bump(x)), horizon=1.0, steps=4, scheme="euler")
    plain = mk.transport(rho, both, horizon=1.0, steps=4, scheme="euler", method=mk.Exact())
    assert np.abs(np.asarray(along.points - plain.points)).max() < 1e-14
    assert np.abs(np.asarray(along.log_density[:, -1] - along.log_density[:, 0])).max() < 1e-14
    # Tiles and a batch give the same.
    batch = mk.Empirical(jnp.stack([both.points] * 2), jnp.stack([both.weights] * 2))
    tiled = mk.density_along(
        rho, batch, lambda x: jnp.log(bump(x)), horizon=1.0, steps=4, scheme="euler", method=mk.Exact(tile=16)
    )
    assert np.abs(np.asarray(tiled.log_density[1] - along.log_density)).max() < 1e-13


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": mk.Tabulated()}, "exact divergence"),
        ({"log_density": jnp.zeros(3)}, r"one number a token, \(4,\)"),
        ({"log_density": lambda x: jnp.concatenate([x, x])}, "one number a token"),
        ({"horizon": -1.0}, "positive depth"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    call = {"log_density": jnp.zeros(4), "horizon": 1.0, "steps": 2} | options
    with pytest.raises(mk.Refused, match=message):
        mk.density_along(line(1.0, 1.0), q.tensor(-1.0, 1.0, 4).measure(), call.pop("log_density"), **call)


def test_a_flow_that_blows_up_says_where():
    flow = mk.density_along(
        line(1.0, 40.0), q.tensor(-3.0, 3.0, 4).measure(), jnp.zeros(4), horizon=1e3, steps=64, scheme="euler"
    )
    assert not flow.result.ok
    assert "depth step" in flow.result.where
