"""Small problems shared by the tests of risk, adjoint and training: same shapes throughout, so that compiled code is shared."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import mckean as mk
from mckean.tokens.grid import Grid

HORIZON, STEPS, LAYERS, CONFINEMENT = 1.0, 4, 2, 0.1
PROMPT_WEIGHTS = ((0.1, 0.2, 0.3, 0.4), (0.5, 0.3, 0.2, 0.0))
HEAD_WEIGHTS = (0.5, 0.3, 0.2)
LAYER_WEIGHTS = ((0.5, 0.3, 0.2), (0.1, 0.3, 0.6))
KINDS = ("softmax", "perceptron", "block", "bounded")


def prompts(seed: int = 0) -> mk.Empirical:
    """Two prompts of four tokens in the plane, unequal weights, one token of weight 0."""
    return mk.Empirical(np.random.default_rng(seed).normal(size=(2, 4, 2)), np.asarray(PROMPT_WEIGHTS))


def heads(kind: str, count: int = 3, seed: int = 1, lead: tuple[int, ...] = ()) -> mk.Head:
    """A batch of `count` heads in the plane, Gaussian; drawn by NumPy, which compiles nothing."""
    rng = np.random.default_rng(seed)
    draw = lambda *shape: jnp.asarray(rng.normal(size=(*lead, count, *shape)) / np.sqrt(2))  # noqa: E731
    softmax = mk.Softmax(draw(2, 2), draw(2, 2), draw(2, 2))
    hidden = mk.Perceptron(draw(2), draw(), draw(2))
    if kind in ("softmax", "perceptron"):
        return softmax if kind == "softmax" else hidden
    block = mk.Block(softmax, hidden)
    return mk.Bounded(block, 2.0, 3.0) if kind == "bounded" else block


def measure(kind: str, depth: str = "tied", seed: int = 1) -> mk.Empirical:
    """Three heads of unequal weight, tied over depth or in two layers of different heads."""
    if depth == "tied":
        return mk.Empirical(heads(kind, seed=seed), np.asarray(HEAD_WEIGHTS))
    return mk.Empirical(mk.Layered(heads(kind, seed=seed, lead=(LAYERS,))), np.asarray(LAYER_WEIGHTS))


def readout(**options: Any) -> mk.Readout:
    """A readout to three outputs."""
    return mk.Readout(jnp.asarray([[1.0, -0.5], [0.3, 0.8], [-1.1, 0.2]]), jnp.asarray([0.1, -0.2, 0.3]), **options)


def problem(scheme: str = "heun", steps: int = STEPS, **options: Any) -> mk.Problem:
    """Cross-entropy of two prompts after a flow of depth 1."""
    options = {"confinement": CONFINEMENT, "horizon": HORIZON, **options}
    return mk.Problem(prompts(), jnp.asarray([0, 2]), mk.losses.CrossEntropy(readout()), steps=steps, scheme=scheme, **options)


class OnGrid(mk.Problem):
    """A problem on given depth times, padded with steps of length 0: other numbers of steps without compiling again."""

    frozen: Grid

    def __init__(self, base: mk.Problem, grid: Grid):
        for name in mk.Problem.__dataclass_fields__:
            setattr(self, name, getattr(base, name))
        self.frozen = grid

    def grid(self, rho: mk.Empirical, x0: Any, w: Any) -> Grid:
        return self.frozen


def padded(base: mk.Problem, steps: int) -> OnGrid:
    """`steps` equal depth steps on a grid of `base.steps` of them (tied depth)."""
    times = jnp.minimum(jnp.arange(base.steps + 1) / steps, 1.0) * base.horizon
    return OnGrid(base, Grid(times, jnp.zeros(base.steps, int), jnp.zeros((), bool)))


def slope(sizes: Any, errors: Any) -> float:
    """The least-squares slope of log(errors) against log(sizes)."""
    return float(np.polyfit(np.log(np.asarray(sizes, float)), np.log(np.asarray(errors, float)), 1)[0])


def largest(tree: Any) -> float:
    """The largest absolute entry of a pytree."""
    return max(float(np.max(np.abs(leaf))) for leaf in jax.tree.leaves(tree))


def distance(a: Any, b: Any) -> float:
    """The largest difference of two pytrees relative to the largest entry of the second."""
    return largest(jax.tree.map(lambda x, y: np.asarray(x) - np.asarray(y), a, b)) / largest(b)
