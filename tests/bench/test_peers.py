"""Every peer that is here computes the same velocity and the same gradients."""

import jax
import numpy as np
import pytest

from mckean.bench.peers import arrays_of, entries, installed, names, plain, tiles
from mckean.bench.record import Part, Size
from mckean.bench.setting import Setting

PEERS = installed()
TOLERANCE = {"float64": 1e-12, "float32": 2e-5}


@pytest.fixture(autouse=True)
def _user_settings():
    """The command does not ask JAX to be strict about ranks."""
    with jax.numpy_rank_promotion("allow"):
        yield


def test_tiles_come_first_and_plain_jax_is_always_there():
    assert names(PEERS)[:2] == ["tiles", "plain JAX"]


@pytest.mark.parametrize("peer", PEERS[1:], ids=names(PEERS[1:]))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dim", [2, 5])
def test_a_peer_agrees_with_the_tiles(peer, dtype, dim):
    setting = Setting(Size("clusters", 60, 3, dim, 4.0, dtype), seed=2)
    arrays = arrays_of(setting, Part(20, 2, 4.5))
    found, right = np.asarray(peer.forward(arrays)()), np.asarray(tiles.forward(arrays)())
    assert found.shape == right.shape == (20, dim)
    assert np.max(np.abs(found - right)) <= TOLERANCE[dtype] * np.max(np.abs(right))
    (_, mine), (_, theirs) = tiles.gradient(arrays)(), peer.gradient(arrays)()
    for one, other in zip(mine, theirs, strict=True):
        assert one.shape == tuple(other.shape)
        assert np.max(np.abs(np.asarray(one) - np.asarray(other))) <= 10 * TOLERANCE[dtype] * np.max(np.abs(np.asarray(one)))


def test_blocks_of_plain_jax_change_nothing(monkeypatch):
    setting = Setting(Size("ball", 60, 3, 2, 4.0), seed=2)
    arrays = arrays_of(setting, Part(60, 3, 1.0))
    whole, gradient = plain.forward(arrays)(), plain.gradient(arrays)()
    jax.clear_caches()
    monkeypatch.setattr(plain, "LARGEST", 60 * 3 * 10)
    assert np.allclose(plain.forward(arrays)(), whole, rtol=1e-13, atol=1e-15)
    for one, other in zip(jax.tree.leaves(gradient), jax.tree.leaves(plain.gradient(arrays)()), strict=True):
        assert np.allclose(one, other, rtol=1e-11, atol=1e-13)
    jax.clear_caches()


def test_only_the_tiles_are_needed():
    setting = Setting(Size("ball", 60, 3, 2, 4.0), seed=2)
    found = entries(setting, PEERS, Part(60, 3, 1.0))
    assert [one.name for one in found if one.needed] == ["tiles"]
