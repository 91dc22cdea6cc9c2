"""The folder of a measurement: bench.json and bench.md, written whole after each case."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mckean.bench import page
from mckean.errors import Refused
from mckean.runs.store.storage import storage, write_whole

NAME, PAGE = "bench.json", "bench.md"
SCHEMA_VERSION = 1


def open_folder(path: Path) -> Path:
    """Make the folder and those above it; one that holds a measurement already is `Refused`."""
    if (path / NAME).exists():
        raise Refused(f'--out must be a folder without a measurement; "{path}" holds {NAME}. Name another, or move it away.')
    with storage(f'"{path}" cannot hold a measurement'):
        path.mkdir(parents=True, exist_ok=True)
    return path


def write(folder: Path, record: Mapping[str, Any]) -> None:
    """Replace bench.json, and the same as a page, bench.md."""
    text = json.dumps({"schema_version": SCHEMA_VERSION, **record}, ensure_ascii=False, allow_nan=False, indent=1)
    write_whole(folder / NAME, f"{text}\n".encode())
    write_whole(folder / PAGE, page.markdown(record).encode())
