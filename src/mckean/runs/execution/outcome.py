"""How a run ended: for the exit code, for the last line, and for `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mckean.runs.counting import counted
from mckean.runs.store.manifest import Manifest

SCHEMA_VERSION = 1
EXIT_OK = 0
EXIT_BUG = 1
EXIT_REFUSED = 2
EXIT_NUMERICAL = 3
EXIT_UNTRUSTED = 6
EXIT_STORAGE = 8
TRUSTED, UNTRUSTED = "trusted", "UNTRUSTED"


@dataclass(frozen=True)
class Outcome:
    """The end of a run: its exit code, its manifest, and its summary where it came to one."""

    path: Path
    exit_code: int
    manifest: Manifest
    summary: Mapping[str, Any] | None = None
    report: Path | None = None
    warnings: tuple[str, ...] = ()
    known_risk: Mapping[str, float | None] | None = None
    """What the metrics say of the risk, for an end without a summary: `initial`, `final` (the last line's) and `held_out`."""

    def as_json(self) -> dict[str, Any]:
        """The one object of `mckean run --json`."""
        result, summary = self.manifest["result"], self.summary or {}
        risk, accuracy = summary.get("risk") or self.known_risk or {}, summary.get("accuracy")
        record: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "run": str(self.path),
            "status": self.manifest["status"],
            "result": result["code"],
            "message": result["message"],
            "where": result["where"],
            "step": self.manifest["step"],
            "risk": risk.get("final"),
            "initial_risk": risk.get("initial"),
            "held_out_risk": risk.get("held_out"),
        }
        if accuracy is not None:
            record |= {"train_accuracy": accuracy.get("train"), "test_accuracy": accuracy.get("test")}
        return record | {
            "trust": summary.get("trust"),
            "checks": summary.get("checks", self.manifest["checks"]),
            "baselines": summary.get("baselines"),
            "paired": summary.get("paired"),
            "timing": summary.get("timing"),
            "report": None if self.report is None else str(self.report),
            "warnings": list(self.warnings),
            "exit_code": self.exit_code,
        }

    def line(self) -> str:
        """`done: held-out accuracy 0.974 · 7 self-checks of 7 hold · runs/…/report.html`"""
        if self.summary is None:
            return self.manifest["result"]["message"]
        accuracy, risk, checks = self.summary.get("accuracy"), self.summary["risk"], self.summary["checks"]
        if accuracy is not None and accuracy.get("test") is not None:
            score = f"held-out accuracy {accuracy['test']:.3f}"
        elif risk.get("held_out") is not None:
            score = f"held-out risk {risk['held_out']:.4g}"
        else:
            score = f"risk {risk['final']:.4g}"
        hold = sum(check["verdict"] == "holds" for check in checks)
        trust = "" if self.summary["trust"] == TRUSTED else f" · {UNTRUSTED}"
        return f"done: {score} · {hold} self-checks of {len(checks)} hold{trust} · {self.report or self.path}"


def header(name: str, facts: Mapping[str, Any], seed: int) -> str:
    """`mckean run digits · 1,347 prompts, ≤ 42 tokens in R³ → 12, H = 256 heads, T = 1 in 8 steps · seed 0`"""
    power = str(facts["data_dim"]).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return (
        f"mckean run {name} · {counted(facts['prompts'], 'prompt')}, ≤ {counted(facts['tokens_max'], 'token')} in R{power} → "
        f"{facts['dim']}, H = {counted(facts['heads'], 'head')}, T = {facts['horizon']:g} in {counted(facts['steps'], 'step')} · seed {seed}"
    )
