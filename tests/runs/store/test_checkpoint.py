"""A checkpoint is whole or is known not to be."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mckean.errors import Refused, StorageFailure
from mckean.runs.store import checkpoint, storage
from mckean.runs.store.checkpoint import Checkpoint, Leaf
from mckean.runs.store.leaves import first_non_finite, from_leaves, to_leaves


def a_state(scale: float = 1.0, seed: int = 3) -> dict[str, object]:
    return {
        "heads": jnp.asarray([[1.0, -0.0], [5e-324, 1.0 / 3.0]]) * scale,
        "single": jnp.asarray([0.1], jnp.float32),
        "key": jax.random.split(jax.random.key(seed), 2),
        "old_key": jax.random.PRNGKey(seed),
        "step": jnp.asarray(7),
        "count": 3,
    }


def save(folder: Path, step: int) -> Path:
    return checkpoint.save(folder, Checkpoint(step, "hash", to_leaves(a_state(float(step + 1)))))


def test_a_state_comes_back_bit_for_bit(tmp_path: Path) -> None:
    state = a_state()
    checkpoint.save(tmp_path, Checkpoint(7, "hash", to_leaves(state)))
    found = checkpoint.newest(tmp_path, "hash", pytest.fail)
    again = from_leaves(a_state(0.5, seed=4), found.leaves)
    assert found.step == 7
    for leaf, other in zip(to_leaves(state), to_leaves(again), strict=True):
        assert leaf.path == other.path
        assert leaf.key_impl == other.key_impl
        assert leaf.data.dtype == other.data.dtype
        assert leaf.data.tobytes() == other.data.tobytes()
    assert again["count"] == 3
    draw = jax.random.normal(again["key"][1], (3,))
    assert (draw == jax.random.normal(a_state()["key"][1], (3,))).all()  # type: ignore[index]


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    for step in (10, 20, 30):
        save(tmp_path, step)
    assert checkpoint.steps(tmp_path) == [20, 30]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("how", ["flipped", "torn", "empty", "noise"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before_it(tmp_path: Path, how: str) -> None:
    save(tmp_path, 10)
    newest = save(tmp_path, 20)
    content = bytearray(newest.read_bytes())
    if how == "flipped":
        content[content.index(b"leaf0.npy") + 150] ^= 1
    damaged = {"flipped": bytes(content), "torn": bytes(content[:-40]), "empty": b"", "noise": b"x" * 500}[how]
    newest.write_bytes(damaged)
    said: list[str] = []
    assert checkpoint.newest(tmp_path, "hash", said.append).step == 10
    assert len(said) == 1
    assert "step-0000000020.npz is damaged" in said[0]


def test_the_checksum_covers_step_and_paths() -> None:
    leaf = Leaf("['heads']", np.arange(3.0))
    content = checkpoint.encode(Checkpoint(1234, "hash", (leaf,)))
    for old, new in ((b"1234", b"1235"), (b"heads", b"haeds")):
        # The archive's own sums are recomputed, as by a program that edits it.
        import io

        with np.load(io.BytesIO(content)) as archive:
            meta = bytes(archive["meta"]).replace(old, new)
            buffer = io.BytesIO()
            np.savez(buffer, meta=np.frombuffer(meta, np.uint8), leaf0=archive["leaf0"])
        with pytest.raises(checkpoint.Damaged, match="checksum"):
            checkpoint.decode(buffer.getvalue())


def test_no_whole_checkpoint_is_a_storage_failure(tmp_path: Path) -> None:
    with pytest.raises(StorageFailure, match="there is none"):
        checkpoint.newest(tmp_path, "hash", lambda _: None)
    save(tmp_path, 10).write_bytes(b"")
    with pytest.raises(StorageFailure, match="all are damaged"):
        checkpoint.newest(tmp_path, "hash", lambda _: None)


def test_a_changed_configuration_is_refused(tmp_path: Path) -> None:
    save(tmp_path, 10)
    with pytest.raises(Refused, match="its own configuration"):
        checkpoint.newest(tmp_path, "other", pytest.fail)


def test_a_state_of_another_shape_is_refused() -> None:
    leaves = to_leaves(a_state())
    with pytest.raises(Refused, match="heads"):
        from_leaves(a_state() | {"heads": jnp.zeros(3)}, leaves)
    with pytest.raises(Refused, match="more"):
        from_leaves(a_state() | {"more": jnp.zeros(3)}, leaves)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    storage.write_whole(path, b"old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(StorageFailure, match="could not be written: no space left on device"):
        storage.write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_the_place_of_a_number_that_is_not_finite() -> None:
    state = {"key": jax.random.key(0), "query": jnp.ones((3, 2)).at[2, 1].set(jnp.nan)}
    assert first_non_finite(state) == "['query'][2, 1]"
    assert first_non_finite(a_state()) is None
