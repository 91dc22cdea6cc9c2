"""The report, for commands that end with one."""

from __future__ import annotations

from pathlib import Path


def write_report(run: Path, animate: bool) -> Path:
    """Write the report of a run folder; the page's path. Imports the figures only now."""
    from mckean.report import write

    return write(run, animate=animate)


def damage(run: Path) -> list[str]:
    """A sentence for each file of the run that the report could read in part only."""
    from mckean.report.metrics import read_metrics

    found = read_metrics(run / "metrics.jsonl").damage
    return [] if found is None else [found]
