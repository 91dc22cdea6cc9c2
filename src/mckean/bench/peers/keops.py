"""KeOps' softmax reduction through torch, whose derivatives it then has; heads as its batch. Its first call compiles C++."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from mckean.bench.peers.base import Arrays

NAME = "KeOps"


def forward(arrays: Arrays) -> Callable[[], Any]:
    """V(q) (M, d)."""
    torch, given = _given(arrays, gradient=False)

    def call() -> Any:
        with torch.no_grad():
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
    lazy = importlib.import_module("pykeops.torch").LazyTensor
    queries, keys = lazy((q @ a)[:, :, None, :].contiguous()), lazy(y[None, None].contiguous())
    means = (queries | keys).sumsoftmaxweight(keys, axis=2)
    return torch.mean(means @ v.transpose(1, 2), dim=0)


def _given(arrays: Arrays, gradient: bool) -> tuple[Any, tuple[Any, ...]]:
    torch = importlib.import_module("torch")
    given = tuple(torch.tensor(array, requires_grad=gradient) for array in (arrays.q, arrays.y, arrays.a, arrays.v))
    return torch, given
