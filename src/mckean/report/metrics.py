"""The history of training, from `metrics.jsonl`: one JSON object a line, appended while the run lives."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

COLUMNS = (
    "step", "s", "risk", "temperature", "train_accuracy", "test_accuracy", "held_out_risk", "rate", "wall_s",
)  # fmt: skip


@dataclass(frozen=True)
class Metrics:
    """Columns of equal length (lines,); an entry that was not measured is NaN.

    `dropped` counts lines that a resumed run wrote again, `unreadable` those that are damaged: a last line cut short by a crash, or worse.
    """

    columns: dict[str, Floats]
    dropped: int = 0
    unreadable: int = 0

    @property
    def damage(self) -> str | None:
        """A sentence on the lines that could not be read."""
        if not self.unreadable:
            return None
        lines = (
            "1 line of metrics.jsonl is damaged and was"
            if self.unreadable == 1
            else (f"{self.unreadable:,} lines of metrics.jsonl are damaged and were")
        )
        return f"{lines} left out: the curves lack these points."

    def __len__(self) -> int:
        return int(self.columns["step"].size)

    def __getitem__(self, name: str) -> Floats:
        return self.columns[name]

    def known(self, name: str) -> tuple[Floats, Floats]:
        """(s, values) of the lines where `name` was measured and is finite."""
        values = self.columns[name]
        keep = np.isfinite(values) & np.isfinite(self.columns["s"])
        return self.columns["s"][keep], values[keep]

    def last(self, name: str) -> float | None:
        values = self.known(name)[1]
        return float(values[-1]) if values.size else None


def read_metrics(path: Path) -> Metrics:
    """Read the history, in which a step written twice (after a resume) counts as it was written last."""
    rows: list[dict[str, object]] = []
    dropped = unreadable = 0
    lines = [line for line in path.read_text(encoding="utf-8", errors="replace").split("\n") if line.strip()]
    for line in lines:
        try:
            row = json.loads(line)
            step = float(row["step"])
        except (ValueError, KeyError, TypeError):
            unreadable += 1
            continue
        while rows and _number(rows[-1]["step"]) >= step:
            rows.pop()
            dropped += 1
        rows.append(row)
    columns = {name: np.array([_number(row.get(name)) for row in rows], dtype=float) for name in COLUMNS}
    return Metrics(columns, dropped, unreadable)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")
