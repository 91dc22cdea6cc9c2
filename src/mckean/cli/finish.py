"""The last words of `run` and `resume`."""

from __future__ import annotations

from mckean.cli import output
from mckean.cli.options import Talk
from mckean.runs.execution.outcome import Outcome


def report_outcome(outcome: Outcome, talk: Talk) -> int:
    """The result on stdout, as a line or as the JSON object; an end without results is said on stderr."""
    if talk.json:
        output.json_object(outcome.as_json())
    elif outcome.summary is not None:
        output.data(outcome.line())
    if outcome.summary is None:
        output.note(f"mckean: {outcome.line()}")
    return outcome.exit_code
