"""The command as its own process: start, signals, and kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mckean.runs.store import metrics
from tests.cli.conftest import ROOT, SHORT, Processes


def wait_for_step(folder: Path, step: int) -> None:
    """Wait until the run has written a line of this step."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        lines = metrics.read(folder / "metrics.jsonl")
        if lines and lines[-1]["step"] >= step:
            return
        time.sleep(0.02)
    pytest.fail(f"no line of step {step} was written in a minute")


def final(folder: Path) -> list[float]:
    return json.loads((folder / "results" / "heads.json").read_text())


def steps(folder: Path) -> list[int]:
    return [line["step"] for line in metrics.read(folder / "metrics.jsonl")]


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["show-config"], ["list"], ["--version"]])
def test_what_computes_nothing_imports_no_jax(arguments: list[str], tmp_path: Path) -> None:
    program = (
        "import sys; from mckean.cli.entry import run; code = run(sys.argv[1:]); "
        "heavy = {'jax', 'matplotlib', 'scipy'} & set(sys.modules); sys.exit(f'{heavy}' if heavy else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_help_does_not_import_the_configuration(tmp_path: Path) -> None:
    program = "import sys; from mckean.cli.entry import run; run(['--help']); sys.exit('pydantic' in sys.modules)"
    environ = {"PYTHONPATH": str(ROOT / "src"), "PATH": ""}
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environ, check=False).returncode == 0


def test_sigterm_then_resume_equals_an_uninterrupted_run(processes: Processes, tmp_path: Path) -> None:
    whole = processes.start("run", *SHORT, "--out", "whole", "-q")
    stopped = processes.start("run", *SHORT, "--out", "stopped", "--json", pause_s=0.2)
    wait_for_step(tmp_path / "stopped", 14)
    stopped.send_signal(signal.SIGTERM)
    done = processes.done(stopped)
    assert done.code == 75
    assert done.json["result"] == "stopped"
    assert "mckean resume stopped" in done.err

    resumed = processes.done(processes.start("resume", "stopped"))
    assert resumed.code == 0
    assert processes.done(whole).code == 0
    assert final(tmp_path / "stopped") == final(tmp_path / "whole")
    assert steps(tmp_path / "stopped") == steps(tmp_path / "whole")


def test_one_interrupt_stops_and_a_second_one_ends_at_once(processes: Processes, tmp_path: Path) -> None:
    once = processes.start("run", *SHORT, "--out", "once", pause_s=0.2)
    wait_for_step(tmp_path / "once", 7)
    once.send_signal(signal.SIGINT)
    assert processes.done(once).code == 130

    twice = processes.start("run", *SHORT, "--out", "twice", pause_s=5.0)
    wait_for_step(tmp_path / "twice", 0)
    time.sleep(0.7)  # Well into the first chunk, which takes five seconds.
    began = time.monotonic()
    twice.send_signal(signal.SIGINT)
    time.sleep(0.3)
    twice.send_signal(signal.SIGINT)
    done = processes.done(twice)
    assert done.code == 130
    assert "Ended at once" in done.err
    assert time.monotonic() - began < 4.0
    assert processes.done(processes.start("resume", "twice", "-q")).code == 0


def test_a_killed_run_loses_at_most_one_interval(processes: Processes, tmp_path: Path) -> None:
    killed = processes.start("run", *SHORT, "--out", "killed", pause_s=0.1)
    wait_for_step(tmp_path / "killed", 28)
    killed.kill()
    killed.communicate()
    last = steps(tmp_path / "killed")[-1]
    resumed = processes.done(processes.start("resume", "killed"))
    assert resumed.code == 0
    manifest = json.loads((tmp_path / "killed" / "manifest.json").read_text())
    assert last - manifest["resumed"][0]["step"] <= 20
    assert manifest["resumed"][0]["step"] >= 20
    assert processes.done(processes.start("run", *SHORT, "--out", "whole", "-q")).code == 0
    assert final(tmp_path / "killed") == final(tmp_path / "whole")
    assert steps(tmp_path / "killed") == steps(tmp_path / "whole")


def test_a_run_in_progress_is_not_resumed(processes: Processes, tmp_path: Path) -> None:
    running = processes.start("run", *SHORT, "--out", "run", pause_s=0.5)
    wait_for_step(tmp_path / "run", 0)
    done = processes.done(processes.start("resume", "run"))
    assert done.code == 2
    assert f"process {running.pid}" in done.err
