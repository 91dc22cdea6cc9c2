"""A run folder, read and checked: the only input of a report."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mckean.errors import Refused, StorageFailure
from mckean.report.arrays import Costate, Flow, Heads, costate_from, flow_from, heads_from, load
from mckean.report.metrics import Metrics, read_metrics
from mckean.report.schema import Check, Manifest, Summary, parse
from mckean.runs.store import manifest as manifests

ALWAYS = ("manifest.json", "config.toml", "metrics.jsonl")
RESULTS = ("results/summary.json", "results/flow.npz", "results/heads.npz", "results/costate.npz")


@dataclass(frozen=True)
class Record:
    """What a run left: `missing` names the result files that an unfinished run has not written."""

    root: Path
    config_text: str
    config: dict[str, Any]
    manifest: Manifest
    metrics: Metrics
    summary: Summary | None
    flow: Flow | None
    heads: Heads | None
    costate: Costate | None
    missing: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.summary.name if self.summary else self.manifest.name or self.root.name

    @property
    def checks(self) -> list[Check]:
        """The self-checks made so far: an unfinished run has them in its manifest."""
        return self.summary.checks if self.summary else self.manifest.checks

    def setting(self, section: str, key: str) -> Any:
        """The value of `section.key` in the resolved configuration, None if it is not there."""
        table = self.config.get(section)
        return table.get(key) if isinstance(table, dict) else None


def read(run: Path) -> Record:
    """Read a run folder.

    Raises `Refused` if it is not one, or if its manifest says `done` and a result is missing; `StorageFailure`
    if a file is damaged.
    """
    if not run.is_dir():
        raise Refused(f"A run must be a folder, but {run} is not one; give the folder that `mckean run` named.")
    absent = [name for name in ALWAYS if not (run / name).is_file()]
    if absent:
        raise Refused(f"{run} is not a run folder: it has no {' and no '.join(absent)}; give the folder that `mckean run` named.")
    manifest = parse(Manifest, manifests.read(run / "manifest.json"), "manifest.json")
    missing = tuple(name for name in RESULTS if not (run / name).is_file())
    if missing and manifest.status == "done":
        raise Refused(
            f"The run {run.name} says that it is done, but it lacks {' and '.join(missing)}; "
            "copy the whole folder, or repeat the run."
        )
    summary = None
    if RESULTS[0] not in missing:
        summary = parse(Summary, _json(run / RESULTS[0]), RESULTS[0])
    layered = summary is not None and summary.problem.depth == "layered"
    config_text = (run / "config.toml").read_text(encoding="utf-8", errors="replace")

    def arrays(name: str) -> dict[str, Any] | None:
        return None if name in missing else load(run / name)

    flow, heads, costate = (arrays(name) for name in RESULTS[1:])
    return Record(
        root=run,
        config_text=config_text,
        config=_toml(config_text, run / "config.toml"),
        manifest=manifest,
        metrics=read_metrics(run / "metrics.jsonl"),
        summary=summary,
        flow=None if flow is None else flow_from(flow, RESULTS[1]),
        heads=None if heads is None else heads_from(heads, RESULTS[2], layered=layered),
        costate=None if costate is None else costate_from(costate, RESULTS[3]),
        missing=missing,
    )


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageFailure(
            f"{path} must be a whole JSON document, but it cannot be read ({error}); restore it or repeat the run."
        ) from error


def _toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StorageFailure(
            f"{path} must be a whole TOML document, but it cannot be read ({error}); restore it or repeat the run."
        ) from error
