"""The report, for commands that end with one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_report(run: Path, animate: bool) -> Path:
    """Write the report of a run folder; the page's path. Imports the figures only now."""
    from mckean.report import write

    return write(run, animate=animate)


def damage(run: Path) -> list[str]:
    """A sentence for each file of the run that the report could read in part only."""
    from mckean.report.metrics import read_metrics

    found = read_metrics(run / "metrics.jsonl").damage
    return [] if found is None else [found]


def write_bench_figure(folder: Path, record: Mapping[str, Any]) -> tuple[Path, ...]:
    """Draw what `mckean bench` measured into its folder, bench.pdf and bench.svg; nothing where no case has rows to draw."""
    from mckean.report.figures import bench
    from mckean.report.svg import save

    return save(bench.draw(record), folder, "bench") if bench.drawable(record) else ()
