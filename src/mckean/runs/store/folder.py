"""The run folder: made once, never overwritten, found again by its path or its name."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from mckean.errors import Refused, StorageFailure
from mckean.runs.store.storage import storage, sync_folder, write_whole

_ATTEMPTS = 20


@dataclass(frozen=True)
class RunFolder:
    """The places inside a run folder."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.toml"

    @property
    def manifest(self) -> Path:
        return self.path / "manifest.json"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def results(self) -> Path:
        return self.path / "results"

    @property
    def summary(self) -> Path:
        return self.results / "summary.json"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def log(self) -> Path:
        return self.path / "run.log"

    @property
    def lock(self) -> Path:
        return self.path / ".lock"


def check_free(path: Path) -> None:
    """Refuse a place for a run that already holds something."""
    if path.is_dir():
        with storage(f'The folder "{path}" cannot be read'):
            if any(path.iterdir()):
                raise Refused(f'--out must be a new or empty folder; "{path}" holds files: choose another name.')
    elif path.exists():
        raise Refused(f'--out must be a new or empty folder; "{path}" is a file: choose another name.')


def create(config_text: str, name: str, *, parent: Path, out: Path | None = None) -> RunFolder:
    """Make a run folder that holds its configuration: `parent`/<date>-<name>-<4 hex>, or exactly `out`.

    The folder appears with its content, by one rename. Raises Refused where `out` is taken, StorageFailure
    where the place cannot be written.
    """
    if out is not None:
        check_free(out)
        if out.is_dir():
            # Renaming over it would pull the folder from under a shell that stands in it.
            return _fill(out, config_text)
        return _appear(out, config_text)
    for _ in range(_ATTEMPTS):
        path = parent / f"{date.today().isoformat()}-{_plain(name)}-{secrets.token_hex(2)}"
        if not path.exists():
            return _appear(path, config_text)
    raise StorageFailure(f'No free name for a run was found in "{parent}": give one with --out.')


def find(run: str, *, parent: Path = Path("runs")) -> RunFolder:
    """A run by its path, by its name under `parent`, or by a part of the name that only one run has."""
    for path in (Path(run).expanduser(), parent / run):
        if path.is_dir():
            if (path / "manifest.json").is_file():
                return RunFolder(path)
            raise Refused(f'A run folder holds a manifest.json; "{path}" does not: name the folder of a run.')
    known = runs(parent)
    matching = [folder for folder in known if run and run in folder.path.name]
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(folder.path.name for folder in matching[:5])
        raise Refused(f'A run must be named by a part that only it has; "{run}" fits {names}.')
    raise Refused(f'There is no run "{run}", neither as a path nor in "{parent}": mckean list shows the runs.')


def runs(parent: Path) -> list[RunFolder]:
    """The run folders in `parent`, by name, which begins with the date."""
    if not parent.exists():
        return []
    if not parent.is_dir():
        raise Refused(f'--dir must be the folder that holds the runs; "{parent}" is a file.')
    with storage(f'The folder "{parent}" cannot be read'):
        names = sorted(path for path in parent.iterdir() if (path / "manifest.json").is_file())
    return [RunFolder(path) for path in names]


def _appear(path: Path, config_text: str) -> RunFolder:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    with storage(f'The run folder "{path}" could not be made'):
        obstacle = next((place for place in path.parents if place.exists()), path.anchor)
        if not Path(obstacle).is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f'"{obstacle}" is not a folder')
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        try:
            _fill(temporary, config_text)
            # A rename replaces an empty folder but never one with content, so a name taken meanwhile is safe.
            os.rename(temporary, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        sync_folder(path.parent)
    return RunFolder(path)


def _fill(path: Path, config_text: str) -> RunFolder:
    folder = RunFolder(path)
    with storage(f'The run folder "{path}" could not be made'):
        folder.checkpoints.mkdir()
        folder.results.mkdir()
    write_whole(folder.config, config_text.encode())
    return folder


def _plain(name: str) -> str:
    """The name with only what every file system and shell takes."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return kept.strip("-.")[:60] or "run"
