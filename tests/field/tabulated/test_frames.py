"""How far below its shift a table's sum can lie: the fall, against the sum itself at random arguments of the box."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import mckean as mk
from mckean.field.tabulated import frames

ROUNDING = 1e-9


def _clouds(d):
    rng = np.random.default_rng(d)
    ball = rng.normal(size=(80, d))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    segment = np.linspace(-1, 1, 60)[:, None] * np.ones(d)
    far = np.concatenate([0.01 * ball, 50 * ball[:1]])
    return {"sphere": ball, "segment": segment, "outlier": far, "apart": ball + 3.0}


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("name", ["sphere", "segment", "outlier", "apart"])
def test_the_fall_bounds_the_sum_from_below(d, name):
    rng = np.random.default_rng(7)
    x = _clouds(d)[name]
    w = 10.0 ** rng.uniform(-12, 0, size=len(x))
    w[::5] = 0.0
    w /= w.sum()
    a = rng.normal(size=(3, d, d)) * 20
    heads = mk.Softmax(jnp.swapaxes(jnp.asarray(a), 1, 2), jnp.broadcast_to(jnp.eye(d), a.shape), jnp.zeros_like(jnp.asarray(a)))
    frame, asked = frames.shared_frame(heads, jnp.asarray(x), jnp.asarray(w), jnp.asarray(x), False)
    middle, half = np.asarray(frame.arguments.middle), np.asarray(frame.arguments.half)
    h = 0.5 * (x.max(axis=0) - x.min(axis=0))
    z = x - 0.5 * (x.max(axis=0) + x.min(axis=0))
    top = np.max((z @ middle)[w > 0])
    lowest = np.inf
    for _ in range(400):
        u = rng.uniform(-1, 1, size=d) * half * rng.choice([1.0, 0.1, 1.0])
        with np.errstate(divide="ignore"):
            total = logsumexp(z @ (u + middle) + np.log(w))
        lowest = min(lowest, total - np.abs(u) @ h - top)
    assert lowest >= -float(asked.fall) - ROUNDING
    assert 0 <= float(asked.fall) <= float(asked.total) - np.log(w[w > 0].min()) + ROUNDING


def test_a_ball_falls_less_than_a_segment_across_its_box():
    """A segment along the diagonal leaves two corners of its box empty; a ball leaves little of each."""
    def fall(x):
        eye = jnp.eye(2)[None] * 100.0
        heads = mk.Softmax(eye, jnp.eye(2)[None], jnp.zeros((1, 2, 2)))
        x = jnp.asarray(x)
        return float(frames.shared_frame(heads, x, jnp.full(len(x), 1 / len(x)), x, False)[1].fall)

    angles = np.linspace(0, 2 * np.pi, 400)
    ball = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    segment = np.linspace(-1, 1, 400)[:, None] * np.ones(2)
    assert fall(ball) <= 200 * (1 - np.sqrt(0.5)) * 1.01 + np.log(400)
    assert fall(segment) >= 199
