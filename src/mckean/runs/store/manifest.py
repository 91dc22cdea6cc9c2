"""The manifest: how a run was made and how it ended, enough to make it again. Written whole each time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mckean.errors import Refused, StorageFailure
from mckean.runs.store.storage import storage, write_whole

SCHEMA_VERSION = 1
Manifest = dict[str, Any]


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def begin(
    environment: Mapping[str, Any],
    *,
    command: list[str],
    seed: int,
    config_hash: str,
    data_hash: str,
    name: str,
) -> Manifest:
    """The manifest of a run that starts now."""
    return {
        "schema_version": SCHEMA_VERSION,
        **environment,
        "name": name,
        "command": command,
        "seed": seed,
        "config_hash": config_hash,
        "data_hash": data_hash,
        "started": now(),
        "resumed": [],
        "ended": None,
        "wall_s": 0.0,
        "step": 0,
        "result": {"code": "running", "message": "The run has not ended.", "where": {}},
        "status": "running",
        "checks": [],
        "warnings": [],
    }


def ended(
    manifest: Manifest,
    *,
    status: str,
    code: str,
    message: str,
    where: Mapping[str, Any],
    step: int,
    wall_s: float,
) -> Manifest:
    """The manifest of a run that ends now."""
    return manifest | {
        "ended": now(),
        "wall_s": round(wall_s, 3),
        "step": step,
        "result": {"code": code, "message": message, "where": dict(where)},
        "status": status,
    }


def write(path: Path, manifest: Manifest) -> None:
    """Replace the manifest on the disk."""
    write_whole(path, (json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def read(path: Path) -> Manifest:
    """The manifest of a run folder; raises StorageFailure where it cannot be read, Refused where it is of
    another version.
    """
    with storage(f'The manifest "{path}" cannot be read'):
        content = path.read_bytes()
    try:
        manifest = json.loads(content)
        version = manifest["schema_version"]
    except (ValueError, TypeError, KeyError):
        raise StorageFailure(f'The manifest "{path}" is damaged: it is not the JSON object that a run writes.') from None
    if version != SCHEMA_VERSION:
        raise Refused(
            f'The manifest must have schema_version {SCHEMA_VERSION}; "{path}" has {version}: '
            "read it with the version of mckean that wrote it."
        )
    return manifest
