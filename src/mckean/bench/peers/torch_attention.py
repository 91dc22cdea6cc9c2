"""torch's `scaled_dot_product_attention` on the CPU, heads as its batch."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from mckean.bench.peers.base import Arrays

NAME = "torch"


def forward(arrays: Arrays) -> Callable[[], Any]:
    """V(q) (M, d)."""
    torch, given = _given(arrays, gradient=False)

    def call() -> Any:
        with torch.inference_mode():
            return _field(torch, *given)

    return call


def gradient(arrays: Arrays) -> Callable[[], Any]:
    """Σ_i ⟨g_i, V(q_i)⟩ and its gradients in q, y, A and V."""
    torch, given = _given(arrays, gradient=True)
    g = torch.from_numpy(arrays.g)

    def call() -> Any:
        total = torch.sum(g * _field(torch, *given))
        return total, torch.autograd.grad(total, given)

    return call


def _field(torch: Any, q: Any, y: Any, a: Any, v: Any) -> Any:
    queries = (q @ a)[None]
    keys = y.expand(1, a.shape[0], *y.shape)
    means = torch.nn.functional.scaled_dot_product_attention(queries, keys, keys, scale=1.0)[0]
    return torch.mean(means @ v.transpose(1, 2), dim=0)


def _given(arrays: Arrays, gradient: bool) -> tuple[Any, tuple[Any, ...]]:
    torch = importlib.import_module("torch")
    given = tuple(torch.tensor(array, requires_grad=gradient) for array in (arrays.q, arrays.y, arrays.a, arrays.v))
    return torch, given
