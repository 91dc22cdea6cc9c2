"""What is computed by one device and by several: each case gives a pytree of numbers for a way to spread a method over devices.

The sizes divide no mesh of eight devices, prompts are ragged, weights unequal.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import mckean as mk

PROMPTS, TOKENS, HEADS, DIM = 3, 7, 5, 2
EXACT = mk.Exact()


class Towards(mk.Head):
    """A user's own kind: nothing but a map."""

    speed: Array
    width: Array

    def map(self, x, mu):
        return self.speed * mu.integrate(lambda y: jnp.tanh(self.width * (y - x)))


def _rng():
    return np.random.default_rng(11)


def _weights(rng, *shape):
    w = rng.uniform(0.5, 1.5, size=shape)
    return w / w.sum(axis=-1, keepdims=True)


def softmax(rng, *lead):
    return mk.Softmax(rng.normal(size=(*lead, 2, DIM)), rng.normal(size=(*lead, 2, DIM)), rng.normal(size=(*lead, DIM, DIM)))


def prompts(rng, count=PROMPTS, tokens=TOKENS, dim=DIM):
    w = _weights(rng, count, tokens)
    w[0, -2:] = 0
    return mk.Empirical(rng.normal(size=(count, tokens, dim)), w / w.sum(axis=-1, keepdims=True))


def problem(rng, method, **options):
    mu = prompts(rng)
    loss = mk.losses.SquaredError(mk.Readout(rng.normal(size=(1, DIM)), trained=True))
    options = {"horizon": 1.0, "steps": 2, "scheme": "euler", "confinement": 0.1, **options}
    return mk.Problem(mu, rng.normal(size=(PROMPTS, 1)), loss, method=method, **options)


def training(spread):
    """Noise, minibatches, a trained readout, layered heads."""
    rng = _rng()
    rho = mk.Empirical(mk.Layered(softmax(rng, 2, HEADS)), _weights(rng, 2, HEADS))
    given = problem(rng, spread(EXACT), temperature=0.01)
    done = mk.solve(given, rho, step_size=0.1, steps=3, key=jax.random.key(0), batch=2)
    return done.rho.points, done.risk, done.state.loss.readout.matrix


def gradients(spread):
    """The adjoint and the costate of softmax heads beside hidden units, at heads that ρ does not have too."""
    rng = _rng()
    units = mk.Perceptron(rng.normal(size=(HEADS, DIM)), rng.normal(size=HEADS), rng.normal(size=(HEADS, DIM)))
    rho = mk.Empirical(mk.Block(softmax(rng, HEADS), units), _weights(rng, HEADS))
    g = mk.functional_gradient(problem(rng, spread(EXACT), scheme="heun"), rho)
    return g.risk, g.particles, g.values, g.costate, g(softmax(rng, 3))


def reverse_mode(spread):
    """JAX's own reverse mode through the flow of heads that only have a map: in heads, their weights, and prompts."""
    rng = _rng()
    rho = mk.Empirical(Towards(jnp.asarray(rng.normal(size=HEADS)), jnp.asarray(rng.normal(size=HEADS))), _weights(rng, HEADS))
    given = problem(rng, spread(EXACT))

    def risk(points, weights, x):
        moved = mk.Problem(
            given.prompts.with_points(x), given.targets, given.loss, horizon=1.0, steps=2, scheme="euler", method=given.method
        )
        return mk.risk(moved, rho.with_points(points).with_weights(weights))

    return jax.grad(risk, argnums=(0, 1, 2))(rho.points, rho.weights, given.prompts.points)


def tables(spread):
    """One table of all heads along a flow and its adjoint, and a table of each head at queries of its own."""
    rng = _rng()
    rho = mk.Empirical(softmax(rng, HEADS), _weights(rng, HEADS))
    table = spread(mk.Tabulated(1e-4))
    mu = prompts(rng, 2, 45)
    flow = mk.transport(rho, mu, horizon=0.5, steps=2, scheme="euler", method=table)
    g = mk.functional_gradient(problem(rng, spread(mk.Tabulated(1e-3)), steps=1), rho)
    wide = [rng.normal(size=shape) / 4 for shape in ((3, 2, 4), (3, 2, 4), (3, 4, 4))]
    own = mk.certified_velocity(
        mk.Empirical(mk.Softmax(*wide)), prompts(rng, 1, 30, 4)[0], rng.normal(size=(9, 4)), method=table
    )
    assert flow.stats["field"]["tabulated"] == 4
    assert own.method == "tabulated"
    return flow.points, flow.stats["field"]["bound"], own.velocity, own.bound, g.particles, g.costate


def adaptive(spread):
    """Steps found for the whole batch, and chunks of prompts: 8 of them, two a device at a time."""
    rng = _rng()
    rho = mk.Empirical(softmax(rng, HEADS), _weights(rng, HEADS))
    mu = prompts(rng, 8)
    found = mk.transport(rho, mu, horizon=1.0, steps=40, scheme="tsit5", rtol=1e-4, method=spread(EXACT))
    chunks = mk.transport(rho, mu, horizon=1.0, steps=2, scheme="euler", method=spread(mk.Exact(block=8)))
    return found.final.points, chunks.points


CASES = {case.__name__: case for case in (training, gradients, reverse_mode, tables, adaptive)}


def farthest(one, many) -> float:
    """The largest difference of two pytrees of numbers, relative to the largest number of each array (or to 1)."""

    def apart(a, b):
        a, b = np.asarray(a), np.asarray(b)
        return float(np.max(np.abs(a - b)) / max(1.0, np.max(np.abs(a))))

    return max(jax.tree.leaves(jax.tree.map(apart, one, many)))
