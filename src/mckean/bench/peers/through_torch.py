"""A call of a function of (q, y, A, V) in torch, forward or with its gradient."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from mckean.bench.peers.base import Arrays

Field = Callable[[Any, Any, Any, Any, Any], Any]
"""A function of (torch, q, y, A, V)."""


def forward(field: Field, arrays: Arrays, without_gradient: str) -> Callable[[], Any]:
    """V(q) (M, d), under torch's context manager of the name `without_gradient`."""
    torch, given = _given(arrays, gradient=False)

    def call() -> Any:
        with getattr(torch, without_gradient)():
            return field(torch, *given)

    return call


def gradient(field: Field, arrays: Arrays) -> Callable[[], Any]:
    """Σ_i ⟨g_i, V(q_i)⟩ and its gradients in q, y, A and V."""
    torch, given = _given(arrays, gradient=True)
    g = torch.from_numpy(arrays.g)

    def call() -> Any:
        total = torch.sum(g * field(torch, *given))
        return total, torch.autograd.grad(total, given)

    return call


def _given(arrays: Arrays, gradient: bool) -> tuple[Any, tuple[Any, ...]]:
    torch = importlib.import_module("torch")
    given = tuple(torch.tensor(array, requires_grad=gradient) for array in (arrays.q, arrays.y, arrays.a, arrays.v))
    return torch, given
