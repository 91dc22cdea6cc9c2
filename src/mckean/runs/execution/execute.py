"""A run from its start, or from its last checkpoint, to its results.

However it ends, the manifest says how, and what was computed stays on the disk: done (exit 0, or 6 where a
self-check fails), stopped (75, 130), failed numerically (3), out of storage (8), or a bug (1).
"""

from __future__ import annotations

import contextlib
import json
import math
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mckean.errors import NumericalFailure, Refused, StorageFailure
from mckean.runs.configuration import loading
from mckean.runs.configuration.config import Config
from mckean.runs.execution import loop, outcome, stopping
from mckean.runs.execution.contracts import Beside, Report, Tools, default_tools
from mckean.runs.execution.journal import Journal
from mckean.runs.execution.loop import NONFINITE, Job
from mckean.runs.execution.outcome import EXIT_BUG, EXIT_NUMERICAL, EXIT_REFUSED, EXIT_STORAGE, Outcome
from mckean.runs.execution.progress import Progress
from mckean.runs.execution.results import finish
from mckean.runs.execution.sameness import compare_environment, content_hash, require_same_data
from mckean.runs.execution.stopping import Stopped
from mckean.runs.machine import doctor, environment
from mckean.runs.store import checkpoint, lock, metrics
from mckean.runs.store import folder as folders
from mckean.runs.store import manifest as manifests
from mckean.runs.store.folder import RunFolder
from mckean.runs.store.leaves import from_leaves


def start(
    config: Config,
    *,
    name: str,
    command: list[str],
    progress: Progress,
    out: Path | None = None,
    report: Report | None = None,
    tools: Tools | None = None,
) -> Outcome:
    """Run a configuration into a new folder.

    Nothing is written before the configuration, the prompts and the machine have been found fit. Raises
    Refused or UnfitMachine where they are not, and StorageFailure where the folder cannot be made; from then
    on the outcome says how the run ended.
    """
    if out is not None:
        folders.check_free(out)
    environment.prepare(deterministic=config.output.deterministic, precision=config.model.precision)
    doctor.require(config.model.precision)
    tools = default_tools() if tools is None else tools
    config = loading.anchored(config)
    assembly = tools.assemble(config)

    with stopping.listening(progress.say) as stop:
        folder = folders.create(loading.resolved(config), name, parent=Path(config.output.dir).expanduser(), out=out)
        with lock.held(folder.lock):
            manifest = manifests.begin(
                environment.describe(),
                command=command,
                seed=config.seed,
                config_hash=loading.digest(config),
                data_hash=assembly.dataset.content_hash(),
                name=name,
            )
            journal = Journal(folder, manifest, progress)
            journal.update()
            job = Job(config, manifest["config_hash"], assembly, tools, report, journal, stop, loop.Clock())

            def begin() -> Any:
                journal.say(outcome.header(name, assembly.facts, config.seed))
                journal.say("Compiling, and checking the identities at the start.")
                state = assembly.stepper.init(assembly.rho0, assembly.key)
                # The identities of numbers that are not finite mean nothing: the evaluation, which refuses those, comes first.
                loop.first_evaluation(job, state)
                stop.check()
                check(job, state, step=0)
                return state

            return _complete(job, begin)


def resume(
    folder: RunFolder,
    *,
    progress: Progress,
    report: Report | None = None,
    tools: Tools | None = None,
) -> Outcome:
    """Go on with a run from its last whole checkpoint, bit for bit in deterministic mode; a run that is done is only reported."""
    manifest = manifests.read(folder.manifest)
    if manifest["status"] == "done":
        return _already_done(folder, manifest, progress)
    with lock.held(folder.lock), stopping.listening(progress.say) as stop:
        # Read again: the process that held the lock may have ended the run.
        manifest = manifests.read(folder.manifest)
        if manifest["status"] == "done":
            return _already_done(folder, manifest, progress)
        if manifest["result"]["code"] == NONFINITE:
            raise NumericalFailure(
                f"A run that failed numerically fails again, since it goes on from the same state. "
                f"{manifest['result']['message']} "
                f"Start a new run: mckean run {folder.config} --set training.step_size=…"
            )
        config = loading.from_text(_text(folder.config), str(folder.config))
        environment.prepare(deterministic=config.output.deterministic, precision=config.model.precision)
        doctor.require(config.model.precision)
        tools = default_tools() if tools is None else tools
        journal = Journal(folder, manifest, progress)
        config_hash = loading.digest(config)
        saved = checkpoint.newest(folder.checkpoints, config_hash, journal.warn)
        try:
            assembly = tools.assemble(config)
        except Refused:
            # Prompts that do not fit the configuration any more are other prompts: that is the cause to name.
            require_same_data(manifest, content_hash(config), config.data.name)
            raise
        require_same_data(manifest, assembly.dataset.content_hash(), config.data.name)
        template = assembly.stepper.init(assembly.rho0, assembly.key)
        state = from_leaves(template, saved.leaves)
        metrics.truncate(folder.metrics, saved.step)
        job = Job(config, config_hash, assembly, tools, report, journal, stop, loop.Clock(), saved.pending)

        def begin() -> Any:
            journal.update(
                status="running",
                ended=None,
                resumed=[*manifest["resumed"], {"time": manifests.now(), "step": saved.step}],
            )
            compare_environment(journal)
            journal.say(f"{folder.path} goes on from training step {saved.step} of {config.training.steps}.")
            if not manifest["checks"]:
                check(job, state, step=saved.step)
            return state

        return _complete(job, begin)


def check(job: Job, state: Any, *, step: int) -> None:
    """Run the self-checks, keep them in the manifest, and warn of those that fail."""
    found: list[dict[str, Any]] = []
    for entry in job.tools.selfcheck(job.assembly, state):
        found.append({"step": step, **entry})
        # Each check compiles: a stop that was asked for need not wait for the others.
        job.stop.check()
    for entry in found:
        if entry["verdict"] != "holds":
            job.journal.warn(
                f"The self-check {entry['name']} fails at training step {entry['step']}: {entry['value']:.3g} "
                f"against a limit of {entry['limit']:.3g}. The numbers of this run are not to be trusted."
            )
    # JSON has no NaN: a defect that is not a number is written as null, and its verdict stays "fails".
    written = [{**entry, "value": entry["value"] if math.isfinite(entry["value"]) else None} for entry in found]
    job.journal.update(checks=[*job.journal.manifest["checks"], *written])


def _complete(job: Job, begin: Callable[[], Any]) -> Outcome:
    """Train and finish; every way to end is written into the manifest. Only a bug goes on as an exception."""
    journal = job.journal
    again = f"mckean resume {journal.folder.path} goes on from the last checkpoint"
    try:
        with _beside(job) as work:
            state = loop.train(job, begin())
            job.stop.check()
            check(job, state, step=job.config.training.steps)
            return finish(job, state, *work)
    except Stopped as stop:
        steps = job.config.training.steps
        message = f"Stopped at training step {_saved_step(job)} of {steps}; {again}."
        code = "stopped" if stop.exit_code == stopping.EXIT_STOPPED else "interrupted"
        return _end(job, stop.exit_code, status="stopped", code=code, message=message)
    except NumericalFailure as failure:
        where = getattr(failure, "where", {})
        return _end(job, EXIT_NUMERICAL, status="failed", code=NONFINITE, message=str(failure), where=where)
    except StorageFailure as failure:
        message = f"{failure} Make room, then {again}."
        return _end(job, EXIT_STORAGE, status="stopped", code="storage", message=message)
    except Refused as refusal:
        return _end(job, EXIT_REFUSED, status="failed", code="refused", message=str(refusal))
    except Exception as bug:
        journal.log(traceback.format_exc())
        _end(job, EXIT_BUG, status="failed", code="bug", message=f"{type(bug).__name__}: {bug}")
        bug.add_note(f"The log is {journal.folder.log}; {again}.")
        raise


@contextlib.contextmanager
def _beside(job: Job) -> Iterator[list[Beside]]:
    """What is computed beside the training, if anything; it has ended when this has."""
    begun = None if job.tools.beside is None else job.tools.beside(job.assembly)
    try:
        yield [] if begun is None else [begun]
    finally:
        if begun is not None:
            begun.cancel()


def _end(job: Job, exit_code: int, *, status: str, code: str, message: str, where: Mapping[str, Any] | None = None) -> Outcome:
    journal = job.journal
    manifest = journal.closing(status=status, code=code, message=message, where=where or {}, step=_saved_step(job))
    # The reason of the end is worth more than a second failure to write it down.
    with contextlib.suppress(StorageFailure):
        journal.update(**manifest)
    return Outcome(journal.folder.path, exit_code, manifest, warnings=tuple(journal.warnings), known_risk=_known_risk(job))


def _known_risk(job: Job) -> dict[str, float | None] | None:
    path = job.journal.folder.metrics
    if not path.is_file():
        return None
    with contextlib.suppress(StorageFailure):
        lines = metrics.read(path)
        held_out = [line["held_out_risk"] for line in lines if line.get("held_out_risk") is not None]
        if lines:
            first = lines[0].get("risk") if lines[0]["step"] == 0 else None
            return {"initial": first, "final": lines[-1].get("risk"), "held_out": held_out[-1] if held_out else None}
    return None


def _saved_step(job: Job) -> int:
    with contextlib.suppress(StorageFailure):
        return max(checkpoint.steps(job.journal.folder.checkpoints), default=0)
    return 0


def _already_done(folder: RunFolder, manifest: manifests.Manifest, progress: Progress) -> Outcome:
    progress.say(f"{folder.path} is done; there is nothing left to compute.")
    try:
        summary = json.loads(_text(folder.summary))
    except ValueError:
        raise StorageFailure(f'"{folder.summary}" is damaged: it is not JSON.') from None
    report = folder.report if folder.report.exists() else None
    return Outcome(folder.path, 0, manifest, summary, report)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StorageFailure(f'"{path}" cannot be read: {error}.') from None
