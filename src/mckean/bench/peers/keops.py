"""KeOps' softmax reduction through torch, whose derivatives it then has; heads as its batch. Its first call compiles C++."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from mckean.bench.peers import through_torch
from mckean.bench.peers.base import Arrays

NAME = "KeOps"


def forward(arrays: Arrays) -> Callable[[], Any]:
    """V(q) (M, d)."""
    return through_torch.forward(_field, arrays, "no_grad")


def gradient(arrays: Arrays) -> Callable[[], Any]:
    """Σ_i ⟨g_i, V(q_i)⟩ and its gradients in q, y, A and V."""
    return through_torch.gradient(_field, arrays)


def _field(torch: Any, q: Any, y: Any, a: Any, v: Any) -> Any:
    lazy = importlib.import_module("pykeops.torch").LazyTensor
    queries, keys = lazy((q @ a)[:, :, None, :].contiguous()), lazy(y[None, None].contiguous())
    means = (queries | keys).sumsoftmaxweight(keys, axis=2)
    return torch.mean(means @ v.transpose(1, 2), dim=0)
