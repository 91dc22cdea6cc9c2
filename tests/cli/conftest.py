"""The command in this process and in one of its own, over the fake numerical side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mckean.cli import reporting
from mckean.cli.entry import run
from mckean.runs.execution import execute
from tests.runs import fakes

ROOT = Path(__file__).parents[2]
SHORT = [
    item
    for pair in ("steps=60", "output.log_every=7", "output.checkpoint_every=20", "output.evaluate_every=30")
    for item in ("--set", pair if "." in pair else f"training.{pair}")
]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        (line,) = self.out.splitlines()
        record = json.loads(line)
        assert record["schema_version"] == 1
        return record


Command = Callable[..., Done]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Call the command here, in an empty folder; keyword arguments go to the fake tools."""
    monkeypatch.chdir(tmp_path)
    for name in ("XLA_FLAGS", "NPROC", "TF_CPP_MIN_LOG_LEVEL"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)

    def call(*arguments: str, **options: Any) -> Done:
        monkeypatch.setattr(reporting, "write_report", fakes.report)
        monkeypatch.setattr(execute, "default_tools", lambda: fakes.tools(**options))
        capfd.readouterr()
        code = run(arguments)
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return call


@dataclass
class Processes:
    """Starts the command in processes of its own."""

    folder: Path
    started: list[subprocess.Popen[str]]

    def start(self, *arguments: str, module: bool = False, **options: Any) -> subprocess.Popen[str]:
        environ = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "MCKEAN_FAKE": json.dumps(options),
        }
        program = ["-m", "mckean.cli"] if module else [str(ROOT / "tests" / "runs" / "fake_command.py")]
        process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            cwd=self.folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def done(self, process: subprocess.Popen[str]) -> Done:
        out, err = process.communicate(timeout=60)
        return Done(process.returncode, out, err)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    found = Processes(tmp_path, [])
    yield found
    for process in found.started:
        if process.poll() is None:
            process.kill()
        process.communicate()
