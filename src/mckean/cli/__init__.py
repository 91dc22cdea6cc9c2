"""The command `mckean`.

Each command is a short module that is imported when it is called; JAX is imported inside the commands that
compute, so that help and completion are there at once.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code."""
    import signal
    import sys

    from mckean.cli.entry import run

    code = run(sys.argv[1:] if arguments is None else list(arguments))
    # All is written and said: an impatient Ctrl-C must not change the exit code any more.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)
