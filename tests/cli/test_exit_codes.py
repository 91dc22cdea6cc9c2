"""Every exit code, and that a refusal touches no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mckean.cli import entry
from mckean.runs.execution import execute
from mckean.runs.machine import doctor
from tests.cli.conftest import SHORT, Command


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["bogus"], "Unknown command"),
        (["run", "--foo"], "--foo"),
        (["run", "digits", "extra"], '`mckean run` takes no such word; found "extra": mckean run --help'),
        (["run", "--set", "seed=4294967296"], "seed must be less than 4294967296; found 4294967296"),
        (["run", "--set", "model=4"], "model is a section; name one of its keys: model.head, "),
        (["run", "--seed", "x"], "--seed"),
        (["run", "digitz"], "did you mean digits?"),
        (["run", "--set", "training.step_sise=1"], "did you mean training.step_size?"),
        (["run", "--set", "model.heads=many"], "model.heads must be a whole number"),
        (["run", "--seed", "1", "--set", "seed=2"], "given once"),
        (["show-config", "nowhere.toml"], "does not exist"),
        (["resume"], "RUN"),
        (["resume", "nothing"], "There is no run"),
        (["report", "nothing"], "There is no run"),
    ],
)
def test_2_usage_and_configuration(command: Command, tmp_path: Path, arguments: list[str], sentence: str) -> None:
    done = command(*arguments)
    assert done.code == 2
    assert sentence in done.err
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []
    assert command(*arguments, "--json").json["exit_code"] == 2


def test_2_a_folder_that_is_taken(command: Command, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").write_text("kept")
    done = command("run", *SHORT, "--out", "taken")
    assert done.code == 2
    assert "holds files" in done.err
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["list", "resume"])
def test_2_a_file_where_the_runs_should_be(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    done = command(name, *(["x"] if name == "resume" else []), "--dir", "file")
    assert done.code == 2
    assert '--dir must be the folder that holds the runs; "file" is a file' in done.err


def test_1_a_bug_shows_its_traceback_only_when_asked(command: Command) -> None:
    done = command("run", *SHORT, "--out", "run", broken="evaluate")
    assert done.code == 1
    assert "KeyError: 'planted'" in done.err
    assert "The log is run/run.log" in done.err
    assert "Traceback" not in done.err
    assert "Traceback" in command("run", *SHORT, "-v", broken="evaluate").err
    assert command("run", *SHORT, "--json", broken="evaluate").json["result"] == "bug"


def test_3_a_numerical_failure(command: Command) -> None:
    done = command("run", *SHORT, "--out", "run", "--json", bad_step=33)
    assert done.code == 3
    assert done.json["run"] == "run"
    assert done.json["result"] == "nonfinite"
    assert done.json["where"]["training_step"] == 33
    assert "at training step 33" in done.err
    assert done.json["step"] == 33
    assert done.json["initial_risk"] == 25.5
    assert 0 < done.json["risk"] < 25.5
    assert 0 < done.json["held_out_risk"] < 25.5
    assert command("resume", "run").code == 3


def test_6_a_self_check_that_fails(command: Command) -> None:
    done = command("run", *SHORT, "--json", failing_check=True)
    assert done.code == 6
    assert done.json["trust"] == "UNTRUSTED"
    assert "warning: The self-check mass fails" in done.err


def test_6_an_unfit_machine(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.environment, "version", lambda _name: "0.11.0")
    done = command("run", *SHORT)
    assert done.code == 6
    assert "0.11.0 must not be used" in done.err
    assert list(tmp_path.iterdir()) == []
    assert command("doctor").code == 6


def test_8_no_place_to_write(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = command("run", *SHORT, "--out", "file/run")
    assert done.code == 8
    assert '"file" is not a folder' in done.err
    assert command("run", *SHORT, "--set", "output.dir=file/runs", "--json").json["result"] == "storage"


def test_8_a_full_disk(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute.folders.RunFolder, "metrics", property(lambda _self: Path("/dev/full")))
    done = command("run", *SHORT, "--out", "run")
    assert done.code == 8
    assert "no space left on device" in done.err
    assert "mckean resume run" in done.err


def test_130_before_anything_is_written(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "require", interrupted)
    assert command("run", *SHORT).code == 130


def test_a_failure_of_the_system_is_storage_and_any_other_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(error: Exception) -> int:
        def call(_arguments: object) -> int:
            raise error

        monkeypatch.setattr(entry, "_call", call)
        return entry.run([])

    assert failing(OSError(28, "No space left on device")) == 8
    assert failing(PermissionError(13, "Permission denied")) == 8
    assert failing(OSError(2, "No such file")) == 1
    assert failing(ZeroDivisionError()) == 1
