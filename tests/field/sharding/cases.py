"""What is computed by one device and by several: each case gives a pytree of numbers for a way to spread a method over devices.

The sizes divide no mesh of eight devices, prompts are ragged, weights unequal.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import mckean as mk
from mckean.field import dispatch
from mckean.field.choice import settle
from mckean.field.tabulated.guarded import Planned
from mckean.field.tabulated.plan import Lattice
from mckean.tokens.prompts import over_prompts

PROMPTS, TOKENS, HEADS, DIM = 3, 7, 5, 2


class Towards(mk.Head):
    """A user's own kind: nothing but a map."""

    speed: Array
    width: Array

    def map(self, x, mu):
        return self.speed * mu.integrate(lambda y: jnp.tanh(self.width * (y - x)))


def fresh():
    return np.random.default_rng(11)


def _weights(rng, *shape):
    w = rng.uniform(0.5, 1.5, size=shape)
    return w / w.sum(axis=-1, keepdims=True)


def softmax(rng, *lead):
    return mk.Softmax(rng.normal(size=(*lead, 2, DIM)), rng.normal(size=(*lead, 2, DIM)), rng.normal(size=(*lead, DIM, DIM)))


def prompts(rng, count, tokens=TOKENS, dim=DIM):
    w = _weights(rng, count, tokens)
    w[0, -2:] = 0
    return mk.Empirical(rng.normal(size=(count, tokens, dim)), w / w.sum(axis=-1, keepdims=True))


def problem(rng, method, count):
    """Noise, and a trained readout."""
    loss = mk.losses.SquaredError(mk.Readout(rng.normal(size=(1, DIM)), trained=True))
    options = {"horizon": 1.0, "steps": 2, "scheme": "euler", "confinement": 0.1, "temperature": 0.01}
    return mk.Problem(prompts(rng, count), rng.normal(size=(count, 1)), loss, method=method, **options)


def training(spread):
    """Layered heads, noise, minibatches of 6 of 8 prompts."""
    rng = fresh()
    rho = mk.Empirical(mk.Layered(softmax(rng, 2, HEADS)), _weights(rng, 2, HEADS))
    given = problem(rng, spread(mk.Exact()), 8)
    done = mk.solve(given, rho, step_size=0.1, steps=3, key=jax.random.key(0), batch=6)
    return done.rho.points, done.risk, done.state.loss.readout.matrix


def chunks(spread):
    """Ten prompts, five a device, two of them at a time and one left over: what is summed, and what is stacked in their order."""
    data = (jnp.arange(10.0), jnp.arange(20.0).reshape(10, 2) ** 2)
    return over_prompts(lambda a, b: (jnp.sum(a * b[:, 0]), (a, b)), data, 4, spread(mk.Exact()))


def flow(spread):
    """A flow that keeps all depths, with what it says of itself."""
    rng = fresh()
    rho = mk.Empirical(softmax(rng, HEADS), _weights(rng, HEADS))
    found = mk.transport(rho, prompts(rng, 2), horizon=1.0, steps=2, scheme="heun", method=spread(mk.Exact()))
    ess = found.stats["effective_sample_size"]
    return found.points, [ess["median"], ess["least"]]


def exact(spread):
    """Softmax heads beside hidden units, by everything."""
    rng = fresh()
    units = mk.Perceptron(rng.normal(size=(HEADS, DIM)), rng.normal(size=HEADS), rng.normal(size=(HEADS, DIM)))
    return _evaluated(rng, mk.Block(softmax(rng, HEADS), units), spread(mk.Exact()), *VERBS)


def own_kind(spread):
    """Heads that only have a map."""
    rng = fresh()
    heads = Towards(jnp.asarray(rng.normal(size=HEADS)), jnp.asarray(rng.normal(size=HEADS)))
    return _evaluated(rng, heads, spread(mk.Exact()), "pullback", "costate")


def random_batch(spread):
    """The same tokens are drawn."""
    rng = fresh()
    return _evaluated(rng, softmax(rng, HEADS), spread(mk.RandomBatch(4)), "pullback")


def table_with_grid(spread):
    """The table of all heads, which are evaluated on a grid over the tokens of the line."""
    rng = fresh()
    heads = mk.Softmax(*(2 * rng.normal(size=(HEADS, 1, 1)) for _ in range(3)))
    return _evaluated(rng, heads, spread(mk.Tabulated(0.1)), "pullback", dim=1, grid=Lattice((2,), 4, 1e3))


def own_tables(spread):
    """A table of each head, for tokens in four dimensions."""
    rng = fresh()
    wide = mk.Softmax(*(rng.normal(size=shape) / 4 for shape in ((HEADS, 1, 4), (HEADS, 1, 4), (HEADS, 4, 4))))
    return _evaluated(rng, wide, spread(mk.Tabulated(0.1)), "field", "costate", dim=4)


VERBS = ("field", "pullback", "pairing", "costate", "reverse mode")


def _evaluated(rng, heads, method, *verbs, dim=DIM, grid=None):
    """The field at other queries with its note, its transposes, or JAX's own reverse mode in heads, masses and tokens."""
    mass, mu = jnp.asarray(_weights(rng, HEADS)), prompts(rng, PROMPTS, TOKENS, dim)
    x, w = mu.points, mu.weights
    lam, queries = (jnp.asarray(rng.normal(size=(PROMPTS, size, dim))) for size in (TOKENS, 4))
    choice = settle(method, mk.Empirical(heads, mass), x, w, room=1.2)
    method = choice.method
    if choice.plan is not None and grid is not None:
        method = method.with_core(Planned(dataclasses.replace(choice.plan, grid=grid)))

    def differentiated(heads, mass, x, w):
        value = lambda h, m, y: jnp.sum(lam * dispatch.field(h, m, y, w, method))  # noqa: E731
        return jax.grad(value, argnums=(0, 1, 2))(heads, mass, x)

    doing = {
        "field": lambda *at: dispatch.noted(*at, method, queries),
        "pullback": lambda *at: dispatch.pullback(*at, lam, method),
        "pairing": lambda heads, mass, x, w: dispatch.pairing(heads, x, w, lam, method),
        "costate": lambda *at: dispatch.costate_image(*at, lam, method),
        "reverse mode": differentiated,
    }
    return jax.jit(lambda *at: [doing[verb](*at) for verb in verbs])(heads, mass, x, w)


EVALUATIONS = (exact, own_kind, random_batch, table_with_grid, own_tables)
CASES = {case.__name__: case for case in (training, chunks, flow, *EVALUATIONS)}


def farthest(one, many) -> float:
    """The largest difference of two pytrees of numbers, relative to the largest number of each array (or to 1)."""

    def apart(a, b):
        a, b = np.asarray(a), np.asarray(b)
        a, b = a.astype(float), b.astype(float)
        return float(np.max(np.abs(a - b)) / max(1.0, np.max(np.abs(a))))

    return max(jax.tree.leaves(jax.tree.map(apart, one, many)))
