"""`mckean run`."""

from __future__ import annotations

from pathlib import Path

from mckean.cli import output
from mckean.cli.options import QUIET_TALK, ConfigName, Overrides, Seed, Talk


def command(
    config: ConfigName = "digits",
    /,
    *,
    set_: Overrides = (),
    out: Path | None = None,
    seed: Seed = None,
    talk: Talk = QUIET_TALK,
) -> int:
    """Solve the coupled system and write a run folder.

    Parameters
    ----------
    out
        The run folder to make, with the folders above it; by default a new one in `output.dir`, named by date and example.
    """
    import sys

    from mckean.cli import reporting
    from mckean.cli.finish import report_outcome
    from mckean.runs.configuration import loading
    from mckean.runs.execution import progress

    resolved = loading.load(config, set_, seed)
    with output.stdout_kept_clean():
        from mckean.runs.execution import execute

        display = progress.choose(quiet=talk.quiet)
        try:
            outcome = execute.start(
                resolved,
                name=loading.run_name(config),
                command=["mckean", *sys.argv[1:]],
                progress=display,
                out=out,
                report=reporting.write_report,
            )
        finally:
            display.close()
    return report_outcome(outcome, talk)
