"""What there is to run, and what was run."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

from mckean.errors import Refused, StorageFailure
from mckean.runs.configuration import loading
from mckean.runs.store import folder as folders
from mckean.runs.store import lock, metrics
from mckean.runs.store import manifest as manifests
from mckean.runs.store.folder import RunFolder


def examples() -> list[dict[str, str]]:
    """The packaged configurations, each with the comment at its head."""
    folder = resources.files("mckean.runs.examples")
    found: list[dict[str, str]] = []
    for name in loading.examples():
        first = folder.joinpath(f"{name}.toml").read_text("utf-8").splitlines()[0]
        found.append({"name": name, "about": first.removeprefix("#").strip()})
    return found


def entries(parent: Path) -> list[dict[str, Any]]:
    """The runs in a folder: name, status, last training step, risk, accuracy and trust. A damaged run is
    listed as such.
    """
    return [_entry(folder) for folder in folders.runs(parent)]


def _entry(folder: RunFolder) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": folder.path.name,
        "path": str(folder.path),
        "status": "damaged",
        "step": 0,
        "risk": None,
        "test_accuracy": None,
        "trust": None,
    }
    try:
        manifest = manifests.read(folder.manifest)
        lines = metrics.read(folder.metrics)
    except (StorageFailure, Refused):
        return entry
    status = manifest["status"]
    if status == "running" and not lock.is_held(folder.lock):
        status = "killed"
    entry |= {"status": status, "step": manifest["step"]}
    if lines:
        evaluated = [line["test_accuracy"] for line in lines if line.get("test_accuracy") is not None]
        entry |= {"step": lines[-1]["step"], "risk": lines[-1].get("risk")}
        entry["test_accuracy"] = evaluated[-1] if evaluated else None
    try:
        entry["trust"] = json.loads(folder.summary.read_text("utf-8")).get("trust")
    except (OSError, ValueError, AttributeError):
        entry["trust"] = None
    return entry
