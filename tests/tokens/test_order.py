"""Orders of the schemes on a nonlinear problem with unequal weights, and what a measure frozen over the step does to them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.field.exact import field
from mckean.field.method import Exact
from mckean.tokens.grid import Grid, at_layer
from mckean.tokens.integrate import integrate, step
from mckean.tokens.schemes import SCHEMES
from tests.heads import kinds

SLOPE = 0.1  # half-width of the accepted interval around the order
COUNTS = (16, 24, 32, 48, 64)  # depth steps; at 64 the error of RK4 is still far above rounding
FINE = 512  # the reference: RK4, whose own error is (64/512)⁴ = 2e-4 of the smallest measured
HORIZON = 2.0
TSIT5 = 100.0  # local errors held at rtol give a global error of at most a hundred times as much
TABLE = 1e-13  # the published decimals
MASS = np.asarray([0.5, 0.3, 0.2])


@pytest.fixture(scope="module", params=["tied", "layered"])
def rho(request):
    if request.param == "tied":
        return mk.Empirical(mk.Block(kinds.softmax(), kinds.perceptron()), MASS)
    heads = mk.Block(kinds.softmax(lead=(2,)), jax.tree.map(lambda a, b: jnp.stack([a, b]), kinds.perceptron(), kinds.perceptron(seed=30)))
    return mk.Empirical(mk.Layered(heads), np.stack([MASS, MASS[::-1]]))


@pytest.fixture(scope="module")
def cloud():
    mu = kinds.cloud()
    return mu.points[None], mu.weights[None]


def on_grids(run, counts, layers, length):
    """`run(grid)` for each number of steps, on grids padded with steps of length 0 so that one compilation serves all."""
    index = np.arange(length + 1)
    times = np.stack([HORIZON * np.minimum(index / count, 1.0) for count in counts])
    layer = np.stack([np.minimum(index[:-1] // (count // layers), layers - 1) for count in counts])
    each = lambda t, i: run(Grid(t, i, jnp.zeros((), bool)))  # noqa: E731
    return np.asarray(jax.jit(jax.vmap(each))(times, layer))


def final(rho, cloud, counts, name, length):
    """The tokens at depth T for each number of steps."""
    layers = rho.points.layers if isinstance(rho.points, mk.Layered) else 1
    run = lambda grid: integrate(rho, *cloud, grid, SCHEMES[name], Exact())[0]  # noqa: E731
    return on_grids(run, counts, layers, length)


def slope(errors):
    return np.polyfit(np.log(COUNTS), np.log(errors), 1)[0]


@pytest.fixture(scope="module")
def fine(rho, cloud):
    """RK4 for all counts, and its reference."""
    values = final(rho, cloud, (*COUNTS, FINE), "rk4", FINE)
    return values[:-1], values[-1]


@pytest.mark.parametrize("name", SCHEMES)
def test_the_tables_satisfy_the_conditions_of_their_order(name):
    """Row sums, the quadrature conditions Σ b cᵏ = 1/(k+1), and those of the nested trees up to order 5."""
    scheme = SCHEMES[name]
    a = np.asarray([[*row, *[0.0] * (scheme.stages - len(row))] for row in scheme.a])
    b, c = np.asarray(scheme.b), np.asarray(scheme.c)
    assert np.allclose(a.sum(axis=1), c, rtol=0, atol=TABLE)
    conditions = [(k + 1, b @ c**k, 1 / (k + 1)) for k in range(5)]
    conditions += [(3, b @ a @ c, 1 / 6), (4, b @ a @ c**2, 1 / 12), (4, b @ (c * (a @ c)), 1 / 8), (4, b @ a @ a @ c, 1 / 24)]
    conditions += [(5, b @ a @ c**3, 1 / 20), (5, b @ a @ a @ a @ c, 1 / 120), (5, b @ (a @ c) ** 2, 1 / 20)]
    for order, found, wanted in conditions:
        assert (abs(found - wanted) <= TABLE) == (order <= scheme.order), (order, found, wanted)


@pytest.mark.parametrize("name", ["euler", "heun", "rk4"])
def test_order(rho, cloud, fine, name):
    coarse, reference = fine
    values = coarse if name == "rk4" else final(rho, cloud, COUNTS, name, max(COUNTS))
    errors = np.abs(values - reference).max(axis=(1, 2, 3))
    found = slope(errors)
    print(f"{name}: slope {found:.3f}, errors {errors}")
    assert abs(found + SCHEMES[name].order) <= SLOPE


def test_a_measure_frozen_over_the_step_is_first_order_and_seen(rho, cloud, fine):
    """The stage points move but the attention looks at the cloud of the step's beginning: sold as fourth order elsewhere."""
    x0, w = cloud

    def frozen(grid):
        def advance(x, inputs):
            start, end, layer = inputs
            here = at_layer(rho, layer)
            speed = lambda y: field(here.points, here.weights, x, w, Exact(), queries=y)  # noqa: E731
            return step(speed, x, end - start, SCHEMES["rk4"]), None

        return jax.lax.scan(advance, x0, (grid.times[:-1], grid.times[1:], grid.layer))[0]

    layers = rho.points.layers if isinstance(rho.points, mk.Layered) else 1
    values = on_grids(frozen, COUNTS, layers, max(COUNTS))
    found = slope(np.abs(values - fine[1]).max(axis=(1, 2, 3)))
    print(f"frozen RK4: slope {found:.3f}")
    assert abs(found + 1) <= SLOPE


def test_the_public_verb_takes_the_same_steps(rho, fine):
    mu = kinds.cloud()
    flow = mk.transport(rho, mu, horizon=HORIZON, steps=COUNTS[0], save="last")
    assert np.allclose(flow.final.points, fine[0][0][0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
def test_tsit5_holds_its_tolerance(rho, fine, rtol):
    flow = mk.transport(rho, kinds.cloud(), horizon=HORIZON, steps=500, scheme="tsit5", rtol=rtol, atol=0.01 * rtol, save="last")
    error = np.abs(np.asarray(flow.final.points) - fine[1][0])[:-1].max()
    print(f"tsit5 at {rtol:g}: error {error:.2e}, {flow.stats['steps']} steps")
    assert flow.result.ok
    assert error <= TSIT5 * rtol
    assert error >= 1e-3 * rtol  # no more work than was asked for
