"""`mckean cite`."""

from __future__ import annotations

from mckean.cli import output
from mckean.cli.options import QUIET_TALK, Talk
from mckean.cli.version import version

_PAPER = "A Mean-Field Theory of Transformers"


def command(*, talk: Talk = QUIET_TALK) -> int:
    """Print how to cite mckean, as BibTeX."""
    bibtex = "\n".join(
        (
            "@software{mckean,",
            "  title = {mckean: the mean-field limit of transformers},",
            f"  version = {{{version()}}},",
            f"  note = {{Solves the coupled token and head dynamics of the paper ``{_PAPER}''}},",
            "}",
        )
    )
    if talk.json:
        output.json_object({"bibtex": bibtex, "version": version(), "paper": _PAPER})
    else:
        output.data(bibtex)
    return 0
