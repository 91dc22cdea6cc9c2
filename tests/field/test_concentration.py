"""The effective sample size of attention."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.field.concentration import effective_sample_size, softmax_part
from tests.heads import kinds

ROUNDING = 1e-12


def test_uniform_attention_averages_over_all_atoms():
    """A = 0: the weights are the masses, and ESS = 1/Σ w²."""
    mu = kinds.cloud(10)
    still = mk.Softmax(np.zeros((2, 1, 2)), np.zeros((2, 1, 2)), np.zeros((2, 2, 2)))
    ess = effective_sample_size(still, mu.points[None], mu.weights[None])
    assert ess.shape == (1, 2, 10)
    assert np.allclose(ess[..., :-1], 1 / np.sum(np.asarray(mu.weights) ** 2), rtol=ROUNDING)
    assert np.all(np.isinf(ess[..., -1]))


def test_sharp_attention_averages_over_one_atom():
    x = jnp.asarray([[1.0], [-1.0], [0.5]])
    sharp = mk.Softmax([[[30.0]]], [[[30.0]]], [[[1.0]]])
    ess = effective_sample_size(sharp, x[None], jnp.full((1, 3), 1 / 3))
    assert np.allclose(ess, 1.0, rtol=1e-10)


def test_a_sample_of_heads_and_queries_is_enough():
    mu = kinds.cloud(200)
    ess = effective_sample_size(kinds.softmax(40), mu.points[None], mu.weights[None])
    assert ess.shape[1] <= 16
    assert ess.shape[2] <= 64


@pytest.mark.parametrize(
    ("heads", "kind"),
    [
        (lambda: mk.Block(kinds.softmax(), kinds.perceptron()), mk.Softmax),
        (lambda: mk.Bounded(mk.Block(kinds.softmax(), kinds.perceptron()), 0.1, 0.1), mk.Softmax),
        (lambda: kinds.perceptron(), type(None)),
    ],
)
def test_the_attention_inside_a_kind(heads, kind):
    part = softmax_part(heads())
    assert isinstance(part, kind)
    if part is not None and isinstance(heads(), mk.Bounded):
        assert np.max(np.abs(part.query)) <= 0.1


def test_queries_are_taken_among_the_atoms_that_have_weight():
    """200 atoms of which 70 have weight: a stride through all of them would meet few of those."""
    x = np.random.default_rng(0).normal(size=(1, 200, 2))
    w = np.zeros((1, 200))
    w[0, :70] = 1 / 70
    assert np.all(np.isfinite(effective_sample_size(kinds.softmax(), jnp.asarray(x), jnp.asarray(w))))


def test_a_batch_is_sampled_and_its_memory_does_not_grow_with_it():
    heads = kinds.softmax(16)

    def memory(prompts):
        shapes = [jax.ShapeDtypeStruct(shape, jnp.float64) for shape in ((prompts, 200, 2), (prompts, 200))]
        compiled = jax.jit(lambda x, w: effective_sample_size(heads, x, w)).lower(*shapes).compile()
        return compiled.out_info.shape, compiled.memory_analysis().temp_size_in_bytes

    shape, size = memory(2000)
    assert shape == (63, 16, 64)
    assert size < 10e6  # 3.3 GB where all attention weights were held
