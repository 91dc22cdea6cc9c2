"""Options that commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True)
class Talk:
    """How much is said, and in which form."""

    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False
    """Print one JSON object on stdout, and nothing else there."""
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"], negative=(), show_default=False)] = False
    """Show the traceback of an error that is a bug."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), show_default=False)] = False
    """Show warnings and errors only."""


QUIET_TALK = Talk()

ConfigName = Annotated[str, Parameter(help="A packaged example by name, or a TOML file.")]
Overrides = Annotated[
    tuple[str, ...],
    Parameter(
        name="--set",
        negative=(),
        show_default=False,
        help="Change one field: --set model.heads=1024. May be given several times.",
    ),
]
Seed = Annotated[int | None, Parameter(help="Seed of the heads, the batches and the noise.")]

RunName = Annotated[str, Parameter(help="The run folder, its name, or a part of the name that only it has.")]
RunsFolder = Annotated[Path, Parameter(name="--dir", help="Where run folders are looked for by name.")]
