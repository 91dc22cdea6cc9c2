"""`mckean list`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mckean.cli import output
from mckean.cli.options import QUIET_TALK, Talk


def command(*, dir: Path = Path("runs"), talk: Talk = QUIET_TALK) -> int:
    """Show the packaged examples, and the runs of a folder with how they stand.

    Parameters
    ----------
    dir
        The folder that holds the run folders.
    """
    from mckean.runs import catalogue

    examples = catalogue.examples()
    runs = catalogue.entries(dir)
    if talk.json:
        output.json_object({"examples": examples, "runs": runs})
        return 0
    output.data("examples")
    for example in examples:
        output.data(f"  {example['name']:<10} {example['about']}")
    output.data(f"runs in {dir}")
    for line in map(_line, runs):
        output.data(f"  {line}")
    if not runs:
        output.data("  none yet")
    return 0


def _line(entry: dict[str, Any]) -> str:
    parts = [f"{entry['name']:<34}", f"{entry['status']:<8}", f"step {entry['step']}"]
    if entry["test_accuracy"] is not None:
        parts.append(f"held-out accuracy {entry['test_accuracy']:.3f}")
    elif entry["risk"] is not None:
        parts.append(f"risk {entry['risk']:.4g}")
    if entry["trust"] == "UNTRUSTED":
        parts.append("UNTRUSTED")
    return "  ".join(parts)
