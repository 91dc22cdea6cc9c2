"""What a run writes about itself while it runs: run.log, the manifest, and what it says."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from mckean.runs.execution.progress import Progress, Reading
from mckean.runs.store import manifest as manifests
from mckean.runs.store.folder import RunFolder
from mckean.runs.store.manifest import Manifest


class Journal:
    """The written side of one process's work on a run.

    The log is a convenience, so a line that cannot be written to it does not end a run; the manifest is a
    record, so a failure to write it does.
    """

    def __init__(self, folder: RunFolder, manifest: Manifest, progress: Progress) -> None:
        self.folder = folder
        self.manifest = manifest
        self.warnings: list[str] = []
        self._progress = progress
        self._before_s = float(manifest["wall_s"])
        self._started = time.monotonic()

    @property
    def wall_s(self) -> float:
        """Time spent on the run so far, by all processes that worked on it."""
        return self._before_s + time.monotonic() - self._started

    def log(self, text: str) -> None:
        with contextlib.suppress(OSError), self.folder.log.open("a", encoding="utf-8") as file:
            file.write(f"{manifests.now()} {text}\n")

    def say(self, text: str) -> None:
        self.log(text)
        self._progress.say(text)

    def warn(self, text: str) -> None:
        self.log(f"warning: {text}")
        self.warnings.append(text)
        self._progress.warn(text)

    def show(self, reading: Reading) -> None:
        self._progress.show(reading)

    def update(self, **changes: Any) -> None:
        """Change the manifest, in memory and on the disk."""
        self.manifest = self.manifest | changes
        manifests.write(self.folder.manifest, self.manifest)

    def closing(self, *, status: str, code: str, message: str, where: Mapping[str, Any], step: int) -> Manifest:
        """The manifest of the run as it ends now, not yet written."""
        self.log(message)
        return manifests.ended(
            self.manifest | {"warnings": [*self.manifest["warnings"], *self.warnings]},
            status=status,
            code=code,
            message=message,
            where=where,
            step=step,
            wall_s=self.wall_s,
        )
