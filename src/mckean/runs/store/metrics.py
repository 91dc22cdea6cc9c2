"""metrics.jsonl: one JSON object a line, appended as the run goes, readable while it runs.

A line goes out in one write as soon as it is complete, and is flushed to the disk, so that it is there
before the checkpoint that follows it. A kill can leave a torn last line, which readers pass over and
`truncate` removes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mckean.errors import StorageFailure
from mckean.runs.store.storage import storage


def line(
    *,
    step: int,
    s: float,
    risk: float,
    temperature: float,
    evaluation: Mapping[str, float | None] | None,
    rate: float,
    wall_s: float,
) -> dict[str, Any]:
    """One line: training step and time, the mean risk of the steps since the last line, and an evaluation if
    one was made.
    """
    values = evaluation or {}
    return {
        "step": step,
        "s": s,
        "risk": risk,
        "temperature": temperature,
        "train_accuracy": values.get("train_accuracy"),
        "test_accuracy": values.get("test_accuracy"),
        "held_out_risk": values.get("held_out_risk"),
        "rate": round(rate, 4),
        "wall_s": round(wall_s, 3),
    }


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Add a line; raises StorageFailure where it cannot be written whole, and then removes what was written
    of it.
    """
    content = (json.dumps(record, allow_nan=False) + "\n").encode()
    with storage(f'"{path}" could not be written'):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            size = os.fstat(handle).st_size
            if os.write(handle, content) != len(content):
                os.ftruncate(handle, size)
                raise StorageFailure(f'"{path}" could not be written: the disk is full.')
            os.fsync(handle)
        finally:
            os.close(handle)


def read(path: Path) -> list[dict[str, Any]]:
    """All whole lines."""
    return [record for record, _ in _lines(path)]


def truncate(path: Path, step: int) -> None:
    """Drop the lines after training step `step`, and a torn one: what a resumed run is going to write again."""
    end = 0
    for record, offset in _lines(path):
        if record["step"] > step:
            break
        end = offset
    with storage(f'"{path}" could not be written'):
        if path.exists():
            os.truncate(path, end)


def _lines(path: Path) -> list[tuple[dict[str, Any], int]]:
    """Each whole line with the offset of its end."""
    if not path.exists():
        return []
    with storage(f'"{path}" cannot be read'):
        content = path.read_bytes()
    lines: list[tuple[dict[str, Any], int]] = []
    offset = 0
    for text in content.splitlines(keepends=True):
        offset += len(text)
        try:
            record = json.loads(text)
        except ValueError:
            break
        if not text.endswith(b"\n") or not isinstance(record, dict) or "step" not in record:
            break
        lines.append((record, offset))
    return lines
