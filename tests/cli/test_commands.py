"""What each command prints, and where."""

from __future__ import annotations

import io
import json
import sys
import tomllib
from pathlib import Path

import pytest

from mckean.cli.entry import run
from mckean.errors import StorageFailure
from mckean.report import folder as report_folder
from mckean.runs.configuration import loading
from mckean.runs.configuration.config import field_names
from tests.cli.conftest import SHORT, Command

COMMANDS = ("run", "resume", "report", "show-config", "list", "bench", "doctor", "cite")


def test_help_names_every_command_and_the_exit_codes(command: Command) -> None:
    done = command("--help")
    assert done.code == 0
    assert all(name in done.out for name in COMMANDS)
    assert "130 interrupted" in done.out.replace("\n", " ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(command: Command, name: str) -> None:
    done = command(name, "--help")
    assert done.code == 0
    assert "--json" in done.out


def test_version_and_cite(command: Command) -> None:
    assert command("--version").out.startswith("mckean ")
    assert command("cite").out.startswith("@software{mckean,")
    assert "bibtex" in command("cite", "--json").json


def test_a_run_prints_its_result_on_stdout_and_the_rest_on_stderr(command: Command, tmp_path: Path) -> None:
    done = command("run", "digits", *SHORT)
    assert done.code == 0
    (path,) = (tmp_path / "runs").iterdir()
    assert done.out == (f"done: held-out accuracy 0.500 · 2 self-checks of 2 hold · runs/{path.name}/report.html\n")
    assert done.err.startswith("mckean run digits · 10 prompts, ≤ 4 tokens in R² → 3")
    assert "-digits-" in path.name


def test_run_json_is_one_object_and_quiet_is_quiet(command: Command) -> None:
    done = command("run", "digits", *SHORT, "--out", "here", "--json", "-q", "--seed", "3")
    assert done.code == 0
    assert done.err == ""
    record = done.json
    assert record["run"] == "here"
    assert record["result"] == "successful"
    assert record["risk"] < 0.2
    assert record["test_accuracy"] == 0.5
    assert record["trust"] == "trusted"
    manifest = json.loads(Path("here/manifest.json").read_text())
    assert manifest["seed"] == 3


def test_what_a_library_prints_does_not_reach_stdout(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "anchored", lambda config: print("noise") or config)
    done = command("run", "digits", *SHORT, "--json")
    assert done.json["result"] == "successful"
    assert "noise" in done.err


def test_show_config_is_a_file_that_can_be_run(command: Command, tmp_path: Path) -> None:
    done = command("show-config", "vowels", "--set", "model.heads=7", "--seed", "5")
    assert done.err == ""
    found = tomllib.loads(done.out)
    assert found["model"]["heads"] == 7
    assert found["seed"] == 5
    (tmp_path / "mine.toml").write_text(done.out)
    assert command("show-config", "mine.toml").out == done.out
    assert command("show-config", "vowels", "--json").json["config"]["data"]["name"] == "vowels"


def test_show_config_lists_the_keys_that_it_leaves_out_as_comments(command: Command) -> None:
    out = command("show-config", "digits", "--set", "model.head=softmax").out
    assert "# limit: unset. Use only so many prompts of each split, balanced over the classes; unset means all." in out
    assert '# bias_std: not used here, since model.head = "softmax" has no hidden units.' in out
    for key in field_names():
        word = key.rpartition(".")[2]
        assert f"\n{word} = " in f"\n{out}" or f"\n# {word}: " in out


def test_report_says_how_many_lines_of_the_metrics_are_damaged(command: Command) -> None:
    command("run", "digits", *SHORT, "--out", "run")
    assert command("report", "run").err == ""
    path = Path("run/metrics.jsonl")
    first, *rest = path.read_text().splitlines(keepends=True)
    path.write_text(first + "#!?\n" + "".join(rest) + '{"step": 7')
    done = command("report", "run", "--json")
    assert done.code == 0
    assert "2 lines of metrics.jsonl are damaged and were left out" in done.err
    assert len(done.json["warnings"]) == 1


def test_report_and_resume_have_one_sentence_for_a_damaged_manifest(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    command("run", "digits", *SHORT, "--out", "run")
    Path("run/manifest.json").write_text("{")
    resumed = command("resume", "run")
    with pytest.raises(StorageFailure) as failure:
        report_folder.read(Path("run"))
    assert resumed.code == 8
    assert resumed.err == f"mckean: {failure.value}\n"


def test_list_shows_examples_and_runs(command: Command) -> None:
    assert "none yet" in command("list").out
    command("run", "digits", *SHORT)
    command("run", "digits", *SHORT, bad_step=33)
    done = command("list")
    assert "digits" in done.out
    assert "held-out accuracy 0.500" in done.out
    runs = command("list", "--json").json["runs"]
    assert sorted(entry["status"] for entry in runs) == ["done", "failed"]


def test_list_shows_a_killed_and_a_damaged_run(command: Command) -> None:
    for name in ("a", "b"):
        command("run", "digits", *SHORT, "--out", f"runs/{name}")
    manifest = Path("runs/a/manifest.json")
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"status": "running"}))
    Path("runs/b/manifest.json").write_text("{")
    assert [entry["status"] for entry in command("list", "--json").json["runs"]] == ["killed", "damaged"]


def test_resume_of_a_done_run_by_a_part_of_its_name(command: Command) -> None:
    command("run", "digits", *SHORT)
    done = command("resume", "digits", "--json")
    assert done.code == 0
    assert done.json["result"] == "successful"
    assert "nothing left to compute" in done.err


def test_doctor_says_what_it_found(command: Command) -> None:
    done = command("doctor", "--json")
    checks = {check["name"]: check["verdict"] for check in done.json["checks"]}
    assert {"python", "jax", "jit", "float64", "device", "repeatable", "disk", "data", "extras"} == set(checks)
    assert done.code == (0 if done.json["healthy"] else 6)
    assert checks["float64"] == checks["jax"] == checks["python"] == "holds"


def test_a_reader_that_has_had_enough_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Closed(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert run(["list"]) == 0
