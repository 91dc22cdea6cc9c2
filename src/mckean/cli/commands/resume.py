"""`mckean resume`."""

from __future__ import annotations

from pathlib import Path

from mckean.cli import output
from mckean.cli.options import QUIET_TALK, RunName, RunsFolder, Talk


def command(run: RunName, /, *, dir: RunsFolder = Path("runs"), talk: Talk = QUIET_TALK) -> int:
    """Go on with a run from its last checkpoint, under its own configuration.

    The end is that of an uninterrupted run, bit for bit where output.deterministic = true.
    """
    from mckean.cli import reporting
    from mckean.cli.finish import report_outcome
    from mckean.runs.execution import progress
    from mckean.runs.store import folder

    found = folder.find(run, parent=dir)
    with output.stdout_kept_clean():
        from mckean.runs.execution import execute

        display = progress.choose(quiet=talk.quiet)
        try:
            outcome = execute.resume(found, progress=display, report=reporting.write_report)
        finally:
            display.close()
    return report_outcome(outcome, talk)
