"""The exact sum by each program that is here: the library's tiles, plain JAX, and, where they are installed, torch and KeOps.

All are given the same arrays and asked for the same: the velocity (M, d), or with it the gradient in queries, tokens, A and V.
"""

from mckean.bench.peers.base import FORWARD, GRADIENT, Arrays, Peer, arrays_of, entries, installed, names
from mckean.bench.peers.versions import peer_versions

__all__ = ["FORWARD", "GRADIENT", "Arrays", "Peer", "arrays_of", "entries", "installed", "names", "peer_versions"]
