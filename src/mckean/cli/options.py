"""Options that commands share."""

from __future__ import annotations

from dataclasses import dataclass
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
