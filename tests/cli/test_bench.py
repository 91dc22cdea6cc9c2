"""`mckean bench`: names, the folder, JSON, and the end of a run with a case that failed. Nothing is measured at length."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mckean.bench import catalogue
from mckean.bench.record import Findings, Row, Size, Spread, Timing
from tests.cli.conftest import Command


class Fake:
    """A case that finds rows for each panel of the figure, or fails."""

    def __init__(self, name: str, method: str = "table") -> None:
        self.name, self.method = name, method

    def measure(self, findings: Findings, _bench: Any) -> None:
        if self.name == "broken":
            raise MemoryError
        for tokens in (100, 1000):
            size = Size("ball", tokens, tokens // 10, 2, 1.0)
            timing = Timing((1e-3 * tokens, 2e-3 * tokens), 1.0)
            findings.rows.append(Row(size, "forward", "table", timing, error=1e-9, bound=1e-7))
            findings.rows.append(Row(size, "forward", "tiles", timing, ratio=Spread(100, 90, 110)))
        findings.claim("ratio", Spread(100, 90, 110), at_least=120)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("scaling", "broken", "many-heads")
    monkeypatch.setattr(
        catalogue, "CASES", tuple(catalogue.Case(name, f"stated {name}", Fake(name), Fake(name)) for name in names)
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["d2h4"], 'found "d2h4"; did you mean d2-h4?'),
        (["--rounds", "0"], "--rounds must be at least 1"),
        (["--seed", "-1"], "--seed must not be negative"),
    ],
)
def test_refusals_touch_no_file(command: Command, tmp_path: Path, arguments: list[str], sentence: str) -> None:
    done = command("bench", *arguments, "--out", "here")
    assert done.code == 2
    assert sentence in done.err
    assert list(tmp_path.iterdir()) == []
    assert command("bench", *arguments, "--json").json["result"] == "refused"


@pytest.mark.usefixtures("fakes")
def test_each_case_is_printed_and_kept_and_a_failure_loses_none(command: Command) -> None:
    done = command("bench", "--full", "--out", "here")
    assert done.code == 1
    assert [
        line for line in done.out.splitlines() if line.startswith(("scaling: stated", "broken: stated", "many-heads: stated"))
    ]
    assert "FAILED after 0 rows: MemoryError" in done.out
    assert "ratio: 100× (90 … 110), wanted at least 120×: MISSED" in done.out
    assert "1 of 3 cases failed (broken)" in done.err
    record = json.loads(Path("here/bench.json").read_text())
    assert record["schema_version"] == 1
    assert [case["failure"] is None for case in record["cases"]] == [True, False, True]
    assert record["machine"]["versions"]["jax"]
    page = Path("here/bench.md").read_text()
    assert "| `scaling` | ratio | 100 × (90 … 110) | ≥ 120 × | **missed** |" in page
    assert "- `broken`: failed: MemoryError: no message" in page
    assert Path("here/bench.svg").exists()
    assert Path("here/bench.pdf").exists()
    assert command("bench", "--out", "here").code == 2


@pytest.mark.usefixtures("fakes")
def test_json_is_one_object(command: Command) -> None:
    done = command("bench", "scaling", "--json", "--quiet")
    assert done.code == 0
    assert done.err == ""
    record = done.json
    (case,) = record["cases"]
    assert case["name"] == "scaling"
    assert case["rows"][0]["seconds"]["median"] == pytest.approx(0.15)
    assert case["claims"][0]["holds"] is None  # the limit is that of the stated size
    assert record["rule"] == {"rounds": 5, "least_seconds": 0.05, "seed": 0}
    assert set(record["peers"]["versions"]) == {"torch", "pykeops"}


@pytest.mark.usefixtures("fakes")
def test_a_place_that_cannot_be_written_is_storage(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = command("bench", "scaling", "--out", "file/here")
    assert done.code == 8
    assert "cannot hold a measurement" in done.err
