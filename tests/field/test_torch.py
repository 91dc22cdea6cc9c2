"""One Euler step with equal head weights is torch's multi-head attention with a skip connection. Runs where torch is installed."""

import jax
import numpy as np
import pytest

import mckean as mk

torch = pytest.importorskip("torch")

DIM, HEADS, TOKENS, PROMPTS = 12, 4, 7, 3
ROUNDING = 1e-13  # outputs of size 1 to 10 in float64


def multihead_attention():
    """torch's module with random projections, and the same as a measure of heads."""
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(DIM, HEADS, bias=False, batch_first=True, dtype=torch.float64)
    width = DIM // HEADS
    with torch.no_grad():
        module.in_proj_weight.normal_(std=0.3)
        module.out_proj.weight.normal_(std=0.3)
        q, k, v = (part.reshape(HEADS, width, DIM) for part in module.in_proj_weight.numpy().reshape(3, DIM, DIM))
        out = module.out_proj.weight.numpy().reshape(DIM, HEADS, width)
    # concatenation and output projection: Σ_h O_h V_h m_h; the mean over heads of H·O_h V_h is that sum
    value = HEADS * np.einsum("ahk,hkb->hab", out, v)
    return module, mk.Empirical(mk.Softmax(q, k, value, scale=width**-0.5))


def test_one_euler_step_is_a_residual_layer_of_torch():
    module, rho = multihead_attention()
    x = np.random.default_rng(0).normal(size=(PROMPTS, TOKENS, DIM))
    keep = np.ones((PROMPTS, TOKENS), bool)
    keep[1, 5:] = False
    mu = mk.Empirical(x, keep.astype(float), normalize=True)
    flow = mk.transport(rho, mu, horizon=1.0, steps=1, scheme="euler", save="last")
    with torch.no_grad():
        t = torch.from_numpy(x)
        layer = t + module(t, t, t, key_padding_mask=torch.from_numpy(~keep), need_weights=False)[0]
    error = np.max(np.abs(np.asarray(flow.final.points) - layer.numpy())[keep])
    print(f"largest difference {error:.1e} at outputs up to {np.abs(layer.numpy()).max():.1f}")
    assert error <= ROUNDING


def test_the_gradient_in_the_tokens_is_torch_s():
    module, rho = multihead_attention()
    x, g = np.random.default_rng(1).normal(size=(2, TOKENS, DIM))
    mine = jax.grad(lambda y: jax.numpy.sum(g * mk.velocity(rho, mk.Empirical(y))))(jax.numpy.asarray(x))
    t = torch.from_numpy(x)[None].requires_grad_()
    torch.sum(torch.from_numpy(g) * module(t, t, t, need_weights=True)[0]).backward()
    error = np.max(np.abs(np.asarray(mine) - t.grad[0].numpy()))
    print(f"largest difference {error:.1e} at gradients up to {t.grad.abs().max():.1f}")
    assert error <= 10 * ROUNDING
