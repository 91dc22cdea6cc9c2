"""Every way in which a run ends, and that what it ends with is on the disk."""

from __future__ import annotations

import io
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mckean.errors import NumericalFailure, Refused, StorageFailure
from mckean.runs.execution import execute, loop, stopping
from mckean.runs.execution.outcome import Outcome
from mckean.runs.execution.progress import Quiet
from mckean.runs.machine import doctor
from mckean.runs.store import checkpoint, lock, metrics
from mckean.runs.store.folder import RunFolder
from tests.runs import fakes
from tests.runs.conftest import Start


def go_on(path: Path, **options: Any) -> Outcome:
    return execute.resume(RunFolder(path), progress=Quiet(io.StringIO()), report=fakes.report, tools=fakes.tools(**options))


def manifest(path: Path) -> dict[str, Any]:
    return json.loads((path / "manifest.json").read_text())


def lines(path: Path) -> list[dict[str, Any]]:
    """The metrics without the times, which no two runs share."""
    timed = ("rate", "wall_s")
    return [{name: item for name, item in line.items() if name not in timed} for line in metrics.read(path / "metrics.jsonl")]


def bits(path: Path) -> list[bytes]:
    return [
        leaf.data.tobytes() for leaf in checkpoint.newest(path / "checkpoints", manifest(path)["config_hash"], pytest.fail).leaves
    ]


def stop_after(monkeypatch: pytest.MonkeyPatch, chunks: int, number: signal.Signals) -> None:
    """Send this process a signal in the middle of a chunk."""
    advance = fakes.Stepper.advance
    calls = 0

    def advance_and_signal(self: fakes.Stepper, state: fakes.State, steps: int) -> Any:
        nonlocal calls
        calls += 1
        if calls == chunks:
            os.kill(os.getpid(), number)
        time.sleep(0.05)  # The listening thread takes its turn.
        return advance(self, state, steps)

    monkeypatch.setattr(fakes.Stepper, "advance", advance_and_signal)


def test_a_run_leaves_a_whole_folder(start: Start) -> None:
    outcome = start()
    assert outcome.exit_code == 0
    record = outcome.as_json()
    assert record["result"] == "successful"
    assert record["trust"] == "trusted"
    assert record["test_accuracy"] == 0.5
    assert record["step"] == 60
    json.dumps(record, allow_nan=False)
    folder = RunFolder(outcome.path)
    assert manifest(outcome.path)["status"] == "done"
    assert {check["step"] for check in manifest(outcome.path)["checks"]} == {0, 60}
    assert [line["step"] for line in lines(outcome.path)] == [
        0,
        7,
        14,
        20,
        21,
        28,
        30,
        35,
        40,
        42,
        49,
        56,
        60,
    ]
    assert [line["step"] for line in lines(outcome.path) if line["test_accuracy"] is not None] == [0, 30, 60]
    assert checkpoint.steps(folder.checkpoints) == [40, 60]
    summary = json.loads(folder.summary.read_text())
    assert summary["timing"]["total_s"] > 0
    assert outcome.report == folder.report
    assert folder.log.read_text()


@pytest.mark.parametrize(("number", "exit_code", "code"), [(signal.SIGTERM, 75, "stopped"), (signal.SIGINT, 130, "interrupted")])
@pytest.mark.parametrize(("chunks", "step"), [(1, 1), (6, 28)], ids=["between two lines", "at a line"])
def test_a_stopped_run_goes_on_bit_for_bit(
    start: Start, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, exit_code: int, code: str, chunks: int, step: int
) -> None:
    whole = start("whole")
    with monkeypatch.context() as patched:
        stop_after(patched, chunks, number)
        stopped = start("stopped")
    assert stopped.exit_code == exit_code
    assert manifest(stopped.path)["status"] == "stopped"
    assert manifest(stopped.path)["result"]["code"] == code
    assert manifest(stopped.path)["step"] == step
    assert "mckean resume" in stopped.line()

    resumed = go_on(stopped.path)
    assert resumed.exit_code == 0
    assert lines(resumed.path) == lines(whole.path)
    assert bits(resumed.path) == bits(whole.path)
    assert [entry["step"] for entry in manifest(resumed.path)["resumed"]] == [step]


def test_a_stop_during_the_results_is_a_stop(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = fakes.tools().evaluate

    def stop(*_: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return evaluate(*_)

    with monkeypatch.context() as patched:
        patched.setattr(loop, "evaluate", lambda job, state, **_: stop(job.assembly, state))
        stopped = start("stopped", sets=("output.evaluate_every=60",))
    assert stopped.exit_code == 75
    assert go_on(stopped.path).exit_code == 0


def test_a_stop_among_the_self_checks_does_not_wait_for_the_others(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def checks(*_: Any) -> Any:
        for number in range(3):
            made.append(number)
            if number == 1:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.1)
            yield {"name": "mass", "what": "", "value": 0.0, "limit": 1.0, "verdict": "holds"}

    with monkeypatch.context() as patched:
        numerics = fakes.tools()
        patched.setattr(fakes, "tools", lambda: replace(numerics, selfcheck=checks))
        stopped = start("stopped")
    assert stopped.exit_code == 75
    assert made == [0, 1]
    assert go_on(stopped.path).exit_code == 0
    assert {check["step"] for check in manifest(stopped.path)["checks"]} == {0, 60}


def test_a_stop_that_is_asked_for_twice_is_said_once() -> None:
    said: list[str] = []
    with stopping.listening(said.append) as stop:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.1)
    assert stop.requested
    assert len(said) == 1
    assert "compilation or the training steps in progress" in said[0]


def test_prompts_that_are_no_longer_of_their_kind_are_named_as_changed(start: Start, tmp_path: Path) -> None:
    np.savez(tmp_path / "mine.npz", points=np.ones((8, 3, 2)), targets=np.arange(8) / 8)
    sets = (f'data.name="{tmp_path / "mine.npz"}"',)
    failed = start(sets=sets, bad_step=33)
    stored = manifest(failed.path)
    (failed.path / "manifest.json").write_text(json.dumps(stored | {"result": stored["result"] | {"code": "stopped"}, "status": "stopped"}))

    def refused(_config: Any) -> Any:
        raise Refused('readout.loss = "cross-entropy" needs classes.')

    with pytest.raises(StorageFailure, match="has changed since"):
        execute.resume(RunFolder(failed.path), progress=Quiet(io.StringIO()), tools=replace(fakes.tools(), assemble=refused))


def test_handlers_are_given_back(start: Start) -> None:
    before = signal.getsignal(signal.SIGINT)
    start()
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_done_run_is_only_reported(start: Start) -> None:
    outcome = start()
    before = manifest(outcome.path)
    again = go_on(outcome.path, broken="assemble")
    assert again.exit_code == 0
    assert again.as_json()["result"] == "successful"
    assert manifest(outcome.path) == before


def test_a_risk_that_is_not_finite_ends_the_run_with_its_place(start: Start) -> None:
    outcome = start(bad_step=33)
    assert outcome.exit_code == 3
    found = manifest(outcome.path)
    assert found["status"] == "failed"
    assert found["result"]["code"] == "nonfinite"
    assert found["result"]["where"]["training_step"] == 33
    assert found["result"]["where"]["quantity"] == "state.heads[3]"
    assert "training.step_size" in found["result"]["message"]
    assert found["step"] == 33
    assert checkpoint.newest(outcome.path / "checkpoints", found["config_hash"], pytest.fail).step == 33
    assert lines(outcome.path)[-1]["step"] == 30
    assert outcome.as_json()["where"]["training_step"] == 33
    with pytest.raises(NumericalFailure, match="fails again"):
        go_on(outcome.path)


def test_an_evaluation_that_is_not_finite_ends_at_the_step_that_is_kept(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    numerics = fakes.tools()

    def evaluate(assembly: Any, state: fakes.State) -> Any:
        found = numerics.evaluate(assembly, state)
        return {**found, "held_out_risk": float("nan")} if int(state.step) == 30 else found

    monkeypatch.setattr(fakes, "tools", lambda: replace(numerics, evaluate=evaluate))
    record = start().as_json()
    assert record["exit_code"] == 3
    assert record["step"] == record["where"]["training_step"] == 30
    assert record["initial_risk"] > record["risk"] > 0


def test_a_last_step_that_is_not_finite_is_seen(start: Start) -> None:
    outcome = start(bad_step=59)
    assert outcome.exit_code == 3
    assert manifest(outcome.path)["result"]["where"]["training_step"] == 59


def test_a_self_check_that_fails_makes_the_run_untrusted(start: Start) -> None:
    outcome = start(failing_check=True)
    assert outcome.exit_code == 6
    assert outcome.as_json()["trust"] == "UNTRUSTED"
    assert json.loads(RunFolder(outcome.path).summary.read_text())["trust"] == "UNTRUSTED"
    assert "UNTRUSTED" in outcome.line()
    assert len(outcome.warnings) == 2


@pytest.mark.parametrize("broken", ["evaluate", "selfcheck", "write_results"])
def test_a_bug_is_written_down_and_can_be_resumed_when_it_is_mended(start: Start, tmp_path: Path, broken: str) -> None:
    with pytest.raises(KeyError, match="planted") as bug:
        start("run", broken=broken)
    assert "The log is" in bug.value.__notes__[0]
    assert manifest(tmp_path / "run")["result"]["code"] == "bug"
    assert "Traceback" in (tmp_path / "run" / "run.log").read_text()
    if broken == "write_results":
        assert go_on(tmp_path / "run").exit_code == 0


def test_a_report_that_meets_a_bug_does_not_take_the_results_with_it(start: Start) -> None:
    outcome = start(report=fakes.broken_report)
    assert outcome.exit_code == 1
    assert outcome.as_json()["report"] is None
    assert manifest(outcome.path)["status"] == "done"
    assert RunFolder(outcome.path).summary.exists()


def test_a_full_disk_ends_the_run_and_loses_no_checkpoint(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = start("whole")

    def full(folder: Path, found: checkpoint.Checkpoint) -> Path:
        if found.step == 40:
            raise StorageFailure("The checkpoint could not be written: no space left on device.")
        return checkpoint.save(folder, found)

    with monkeypatch.context() as patched:
        patched.setattr(loop, "save_checkpoint", full)
        outcome = start("full")
    assert outcome.exit_code == 8
    assert "Make room" in outcome.line()
    assert manifest(outcome.path)["result"]["code"] == "storage"
    assert go_on(outcome.path).exit_code == 0
    assert bits(outcome.path) == bits(whole.path)


def test_a_place_that_cannot_be_written_is_a_storage_failure(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailure, match="is not a folder"):
        start("file/run")


def test_a_refused_run_makes_no_folder(start: Start, tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        start("run", broken="assemble")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_checkpoint_costs_one_interval(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = start("whole")
    with monkeypatch.context() as patched:
        stop_after(patched, 10, signal.SIGTERM)
        stopped = start("stopped")
    assert checkpoint.steps(stopped.path / "checkpoints") == [40, 42]
    newest = checkpoint.files(stopped.path / "checkpoints")[-1]
    newest.write_bytes(newest.read_bytes()[:-100])
    outcome = go_on(stopped.path)
    assert any("damaged" in warning for warning in outcome.warnings)
    assert lines(outcome.path) == lines(whole.path)
    assert bits(outcome.path) == bits(whole.path)


def test_a_resume_takes_no_changes(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        stop_after(patched, 3, signal.SIGTERM)
        stopped = start()
    with pytest.raises(StorageFailure, match="has changed since"):
        go_on(stopped.path, dataset=fakes.Dataset("other prompts"))
    config = stopped.path / "config.toml"
    config.write_text(config.read_text().replace("steps = 60", "steps = 80"))
    with pytest.raises(Refused, match="its own configuration"):
        go_on(stopped.path)


def test_two_processes_do_not_work_on_one_run(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        stop_after(patched, 3, signal.SIGTERM)
        stopped = start()
    with lock.held(stopped.path / ".lock"), pytest.raises(Refused, match="one process at a time"):
        go_on(stopped.path)


def test_a_damaged_manifest_is_said(start: Start) -> None:
    outcome = start()
    RunFolder(outcome.path).manifest.write_text("{")
    with pytest.raises(StorageFailure, match="is damaged"):
        go_on(outcome.path)


def test_another_machine_is_said(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        stop_after(patched, 3, signal.SIGTERM)
        stopped = start()
    found = manifest(stopped.path)
    RunFolder(stopped.path).manifest.write_text(json.dumps(found | {"device": "1 × abacus"}))
    assert any("device" in warning for warning in go_on(stopped.path).warnings)


def test_an_unfit_machine_computes_nothing(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.environment, "version", lambda _name: "0.10.2")
    with pytest.raises(doctor.UnfitMachine, match=r"0\.10\.2 must not be used"):
        start()
    assert list(tmp_path.iterdir()) == []
