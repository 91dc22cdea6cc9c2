"""torch's `scaled_dot_product_attention` on the CPU, heads as its batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mckean.bench.peers import through_torch
from mckean.bench.peers.base import Arrays

NAME = "torch"


def forward(arrays: Arrays) -> Callable[[], Any]:
    """V(q) (M, d)."""
    return through_torch.forward(_field, arrays, "inference_mode")


def gradient(arrays: Arrays) -> Callable[[], Any]:
    """Σ_i ⟨g_i, V(q_i)⟩ and its gradients in q, y, A and V."""
    return through_torch.gradient(_field, arrays)


def _field(torch: Any, q: Any, y: Any, a: Any, v: Any) -> Any:
    queries = (q @ a)[None]
    keys = y.expand(1, a.shape[0], *y.shape)
    means = torch.nn.functional.scaled_dot_product_attention(queries, keys, keys, scale=1.0)[0]
    return torch.mean(means @ v.transpose(1, 2), dim=0)
