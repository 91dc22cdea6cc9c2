"""`mckean report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mckean.cli import output, reporting
from mckean.cli.options import QUIET_TALK, RunName, RunsFolder, Talk


def command(
    run: RunName,
    /,
    *,
    dir: RunsFolder = Path("runs"),
    animate: Annotated[bool, Parameter(negative="--no-animate")] = True,
    talk: Talk = QUIET_TALK,
) -> int:
    """Make the report and the figures of a run again, from its folder alone.

    Parameters
    ----------
    animate
        Include the moving picture of the tokens.
    """
    from mckean.runs.store import folder

    found = folder.find(run, parent=dir)
    with output.stdout_kept_clean():
        page = reporting.write_report(found.path, animate)
        warnings = reporting.damage(found.path)
    for warning in warnings:
        output.note(f"warning: {warning}")
    if talk.json:
        output.json_object({"run": str(found.path), "report": str(page), "warnings": warnings})
    else:
        output.data(str(page))
    return 0
