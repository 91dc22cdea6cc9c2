"""`mckean doctor`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from mckean.cli import output
from mckean.cli.options import QUIET_TALK, Talk

_MARKS = {"holds": "ok", "fails": "FAILS", "note": "note"}


def command(*, dir: Path = Path("runs"), talk: Talk = QUIET_TALK) -> int:
    """Check versions, the compiler's numbers, precision, device, repeatability, disk and data. Exit 6 if a
    check fails.

    Parameters
    ----------
    dir
        Where runs would be written.
    """
    from mckean.runs.machine import doctor, environment

    with output.stdout_kept_clean():
        # The machine is judged as a run would find it.
        environment.prepare(deterministic=True, precision="float32")
        findings = doctor.everything(dir)
    healthy = all(finding.verdict != "fails" for finding in findings)
    if talk.json:
        output.json_object({"healthy": healthy, "checks": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            output.data(f"{_MARKS[finding.verdict]:<6} {finding.name:<11} {finding.found}")
    return 0 if healthy else 6
