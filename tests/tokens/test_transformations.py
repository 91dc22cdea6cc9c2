"""`transport` inside jax.jit, grad and vmap."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.tokens import grid as grids
from mckean.tokens.prompts import over_prompts
from mckean.tokens.saving import nothing
from mckean.tokens.schemes import RK4
from mckean.tokens.transport import _run
from tests.heads import kinds

ROUNDING = 1e-13
STEP = 1e-5
CENTRED = 1e-8  # relative, of a centred difference with that step
FROZEN = 1e-5  # relative: the adaptive steps of the two sides of the difference are not the same


def functional(arguments, scheme="rk4", **options):
    """A smooth functional of the terminal measure, of value, tokens, weights of tokens and horizon."""
    value, points, weights, horizon = arguments
    heads = kinds.softmax()
    rho = mk.Empirical(mk.Softmax(heads.query, heads.key, value))
    mu = kinds.cloud().with_points(points).with_weights(weights)
    final = mk.transport(rho, mu, horizon=horizon, steps=6 if scheme != "tsit5" else 40, scheme=scheme, **options).final
    return jnp.sum(jnp.sin(final.mean())) + final.integrate(lambda x: x[0] ** 2)


@pytest.fixture(scope="module")
def arguments():
    mu = kinds.cloud()
    return kinds.softmax().value, mu.points, mu.weights, jnp.asarray(0.8)


@pytest.mark.parametrize("scheme", ["heun", "tsit5"])
def test_the_gradient_is_that_of_finite_differences(arguments, scheme):
    f = jax.jit(lambda arguments: functional(arguments, scheme, save="last"))
    gradient = jax.jit(jax.grad(f))(arguments)
    keys = jax.random.split(jax.random.key(3), len(arguments))
    for i, (key, leaf, slope) in enumerate(zip(keys, arguments, gradient, strict=True)):
        direction = jax.random.normal(key, leaf.shape)
        moved = [f((*arguments[:i], leaf + sign * STEP * direction, *arguments[i + 1 :])) for sign in (1, -1)]
        difference = float(moved[0] - moved[1]) / (2 * STEP)
        assert float(jnp.sum(slope * direction)) == pytest.approx(difference, rel=CENTRED if scheme == "heun" else FROZEN)


def test_outside_jit_the_gradient_is_the_same(arguments):
    plain, compiled = jax.grad(functional)(arguments), jax.jit(jax.grad(functional))(arguments)
    for a, b in zip(plain, compiled, strict=True):
        assert np.allclose(a, b, rtol=ROUNDING, atol=ROUNDING)
    assert float(functional(arguments)) == pytest.approx(float(jax.jit(functional)(arguments)), rel=ROUNDING)


def test_a_vmap_is_its_flows_one_by_one():
    rho, clouds = mk.Empirical(kinds.softmax()), [kinds.cloud(seed=seed) for seed in (1, 2)]
    flow = lambda x: mk.transport(rho, kinds.cloud().with_points(x), horizon=0.8, steps=6)  # noqa: E731
    both = jax.vmap(lambda x: flow(x).points)(jnp.stack([c.points for c in clouds]))
    for points, c in zip(both, clouds, strict=True):
        assert np.allclose(points, flow(c.points).points, rtol=0, atol=ROUNDING)


def test_times_and_functions_are_saved_under_jit():
    rho, mu = mk.Empirical(kinds.softmax()), kinds.cloud()
    options = {"horizon": 0.8, "steps": 4}
    whole = mk.transport(rho, mu, **options)
    some = jax.jit(lambda mu: mk.transport(rho, mu, save=[0.2, 0.8], **options).points)(mu)
    assert np.allclose(some, whole.points[np.asarray([1, 4])], rtol=0, atol=ROUNDING)
    means = jax.jit(lambda mu: mk.transport(rho, mu, save=lambda m: m.mean(), **options).saved)(mu)
    assert np.allclose(means[-1], whole.final.mean(), rtol=0, atol=ROUNDING)
    with pytest.raises(mk.Refused, match="known when a program is compiled"):
        jax.jit(lambda T: mk.transport(rho, mu, horizon=T, steps=4, save=[0.2]).points)(0.8)


def test_how_it_ended_is_not_known_there():
    rho, mu = mk.Empirical(kinds.softmax()), kinds.cloud()
    seen = []

    def end(mu, steps):
        seen.append(mk.transport(rho, mu, horizon=0.8, steps=steps, scheme="tsit5", save="last"))
        return seen[-1].final.points

    short = jax.jit(end, static_argnums=1)(mu, 1)
    assert np.all(np.isnan(short))  # one step does not reach the horizon
    assert (seen[0].result.code, seen[0].result.ok, seen[0].stats["effective_sample_size"]) == ("traced", False, None)
    assert "t from 0 to T" in repr(seen[0])
    with pytest.raises(mk.NumericalFailure, match="not known inside a JAX transformation"):
        seen[0].result.raise_if_failed()


@pytest.mark.parametrize("save", ["all", "last"])
def test_chunks_of_prompts_change_nothing(save):
    rho, clouds = mk.Empirical(kinds.softmax()), [kinds.cloud(seed=seed) for seed in range(5)]
    batch = mk.Empirical(np.stack([c.points for c in clouds]), np.stack([c.weights for c in clouds]))
    options = {"horizon": 0.8, "steps": 4, "save": save}
    whole, cut = (mk.transport(rho, batch, method=mk.Exact(block=block), **options) for block in (2**19, 2 * 9))
    assert cut.points.shape == whole.points.shape == (5, 5 if save == "all" else 1, 6, 2)
    assert np.allclose(cut.points, whole.points, rtol=0, atol=ROUNDING)
    assert np.allclose(cut.final.points, whole.final.points, rtol=0, atol=ROUNDING)


def test_the_memory_of_a_batch_is_that_of_a_chunk():
    """2,048 prompts of 64 tokens: the keys, queries and stages of all of them together are not held."""
    rho, n, tokens = mk.Empirical(kinds.softmax(8)), 2048, 64
    x0, w = jax.ShapeDtypeStruct((n, tokens, 2), jnp.float64), jax.ShapeDtypeStruct((n, tokens), jnp.float64)
    grid = grids.fixed(1.0, 4, 1, jnp.float64)

    def memory(chunk):
        run = jax.jit(lambda x0, w: _run(rho, x0, w, grid, RK4, mk.Exact(), nothing, chunk, False)[0])
        return run.lower(x0, w).compile().memory_analysis().temp_size_in_bytes

    assert memory(64) < memory(n) / 5


def test_sums_and_stacks_over_chunks():
    x = jnp.arange(14.0).reshape(7, 2)
    body = lambda x: (jnp.sum(x, axis=0), 2 * x)  # noqa: E731
    for chunk in (1, 3, 7, 10):
        total, doubled = over_prompts(body, (x,), chunk)
        assert np.array_equal(total, np.sum(x, axis=0))
        assert np.array_equal(doubled, 2 * x)
