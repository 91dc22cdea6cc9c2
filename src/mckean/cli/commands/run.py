"""`mckean run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mckean.cli import output
from mckean.cli.options import QUIET_TALK, Talk


def command(
    config: str = "digits",
    /,
    *,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=(), show_default=False)] = (),
    out: Path | None = None,
    seed: int | None = None,
    talk: Talk = QUIET_TALK,
) -> int:
    """Solve the coupled system and write a run folder.

    Parameters
    ----------
    config
        A packaged example by name, or a TOML file.
    set_
        Change one field: --set model.heads=1024. May be given several times.
    out
        The run folder to make, with the folders above it; by default a new one in `output.dir`, named by date and example.
    seed
        Seed of the heads, the batches and the noise.
    """
    import sys

    from mckean.cli import reporting
    from mckean.cli.finish import report_outcome
    from mckean.runs import loading, progress

    resolved = loading.load(config, set_, seed)
    with output.stdout_kept_clean():
        from mckean.runs import execute

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
