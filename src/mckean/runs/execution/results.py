"""The end of a run: results, summary, report, manifest."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any

from mckean.runs.execution.contracts import Beside
from mckean.runs.execution.loop import Job
from mckean.runs.execution.outcome import EXIT_BUG, EXIT_STORAGE, EXIT_UNTRUSTED, TRUSTED, UNTRUSTED, Outcome
from mckean.runs.store.storage import storage, write_whole


def finish(job: Job, state: Any, *beside: Beside) -> Outcome:
    """Write results/ and the report of the final state, and close the manifest.

    A report that cannot be made does not take the results with it: the run is done, the exit code says that
    there is a bug, and the log has its trace.
    """
    journal, folder = job.journal, job.journal.folder
    checks = journal.manifest["checks"]
    trust = TRUSTED if all(entry["verdict"] == "holds" for entry in checks) else UNTRUSTED

    def progress(text: str) -> None:
        job.stop.check()
        journal.say(text)

    with storage(f'The results in "{folder.results}" could not be written'):
        folder.results.mkdir(exist_ok=True)
        summary = job.tools.write_results(job.assembly, state, folder.path, checks, progress, *beside)
    for entry in summary.get("baselines", []):
        if entry.get("failed"):
            journal.warn(f"The baseline of {entry['label']} failed, and is left out of the comparison: {entry['failed']}")
    code = "successful" if trust == TRUSTED else "self-check-failed"
    message = _message(job, checks, trust)
    summary = summary | {
        "result": {"code": code, "message": message},
        "checks": checks,
        "trust": trust,
        "timing": {
            "compile_s": round(job.clock.compile_s, 3),
            "train_s": round(job.clock.total_s - job.clock.compile_s, 3),
            "total_s": round(journal.wall_s, 3),
        },
    }
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
    write_whole(folder.summary, f"{text}\n".encode())
    closing = journal.closing(status="done", code=code, message=message, where={}, step=job.config.training.steps)
    journal.update(**closing)

    exit_code = 0 if trust == TRUSTED else EXIT_UNTRUSTED
    report: Path | None = None
    if job.report is not None and job.config.output.report:
        journal.say("Writing the report.")
        try:
            report = job.report(folder.path, job.config.output.animate)
        except OSError as failure:
            journal.warn(f"The report could not be written; mckean report {folder.path} makes it again: {failure}")
            exit_code = EXIT_STORAGE
        except Exception as bug:
            journal.log(traceback.format_exc())
            journal.warn(
                f"The report met a bug ({type(bug).__name__}: {bug}); the results are whole, and the log is {folder.log}."
            )
            exit_code = exit_code or EXIT_BUG
    return Outcome(folder.path, exit_code, journal.manifest, summary, report, tuple(journal.warnings))


def _message(job: Job, checks: list[dict[str, Any]], trust: str) -> str:
    training = job.config.training
    done = f"All {training.steps} training steps are done"
    if trust == TRUSTED:
        return f"{done} and all {len(checks)} self-checks hold."
    failed = ", ".join(sorted({entry["name"] for entry in checks if entry["verdict"] != "holds"}))
    return f"{done}, but self-checks fail ({failed}): the numbers are not to be trusted."
