"""What is asked of every peer, and which of them are here."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mckean.bench.record import Part
from mckean.bench.setting import Setting
from mckean.bench.timing import Competitor

FORWARD, GRADIENT = "forward", "forward + gradient"


@dataclass(frozen=True)
class Arrays:
    """Queries q (M, d), tokens y (N, d), A and V (h, d, d), and the cotangent g (M, d) of the velocity."""

    q: NDArray[np.floating]
    y: NDArray[np.floating]
    a: NDArray[np.floating]
    v: NDArray[np.floating]
    g: NDArray[np.floating]


class Peer(Protocol):
    """A module of this package: the name of a peer, and how it does its work."""

    NAME: str

    def forward(self, arrays: Arrays) -> Callable[[], Any]:
        """A call that gives the velocity (M, d), done when it returns."""
        ...

    def gradient(self, arrays: Arrays) -> Callable[[], Any]:
        """A call that gives Σ_i ⟨g_i, V(q_i)⟩ and its gradients in q, y, A and V, done when it returns."""
        ...


_PEERS = ("tiles", "plain", "torch_attention", "keops")


def installed() -> list[Peer]:
    """The peers that can run here; those that need nothing first."""
    here = [name for name in _PEERS if _has(name)]
    return [importlib.import_module(f"mckean.bench.peers.{name}") for name in here]  # pyright: ignore[reportReturnType]


def names(peers: Sequence[Peer]) -> list[str]:
    """How tables call them."""
    return [peer.NAME for peer in peers]


def arrays_of(setting: Setting, part: Part) -> Arrays:
    """The arrays of a part: evenly spaced queries, the first heads, all tokens."""
    some = setting.every(part.queries)
    heads = slice(part.heads)
    return Arrays(setting.tokens[some], setting.tokens, setting.bilinear[heads], setting.value[heads], setting.cotangent[some])


def entries(setting: Setting, peers: Sequence[Peer], part: Part, task: str = FORWARD) -> list[Competitor]:
    """Each peer at this part of this task."""
    arrays = arrays_of(setting, part)
    make = "forward" if task == FORWARD else "gradient"
    return [Competitor(peer.NAME, getattr(peer, make)(arrays), part, needed=peer.NAME == "tiles") for peer in peers]


def _has(name: str) -> bool:
    needs = {"torch_attention": ("torch",), "keops": ("torch", "pykeops")}.get(name, ())
    return all(importlib.util.find_spec(module) is not None for module in needs)
