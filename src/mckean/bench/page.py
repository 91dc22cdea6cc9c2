"""A record as a page of Markdown: what it comes to, then every row. Reads nothing but the record of bench.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mckean.bench.text import circumstances, number

Values = Mapping[str, Any]


def markdown(record: Values) -> str:
    """The circumstances in a line, a table of the figures, a table of all rows, and the notes of each case."""
    parts = [f"Measured {circumstances(record)}. Medians of {record['rule']['rounds']} rounds, least and most in brackets."]
    parts.append("\n".join(_table(("case", "figure", "measured", "wanted", ""), _claims(record))))
    header = ("case", "data", "task", "method", "seconds", "timed", "× own", "error", "bound")
    parts.append("\n".join(_table(header, _rows(record))))
    notes = [f"- `{case['name']}`: {note}" for case in record["cases"] for note in _notes(case)]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])]) + "\n"


def _claims(record: Values) -> Iterator[Sequence[str]]:
    for case in record["cases"]:
        for claim in case["claims"]:
            unit = f" {claim['unit']}".rstrip()
            limit = [
                f"{word} {number(claim[key])}{unit}"
                for key, word in (("at_least", "≥"), ("at_most", "≤"))
                if claim[key] is not None
            ]
            verdict = {True: "holds", False: "**missed**", None: ""}[claim["holds"]]
            yield f"`{case['name']}`", claim["what"], _spread(claim["measured"], unit), "".join(limit), verdict


def _rows(record: Values) -> Iterator[Sequence[str]]:
    for case in record["cases"]:
        for row in case["rows"]:
            size, part = row["size"], row["part"]
            data = f"{size['law']}, d={size['dim']} N={size['tokens']:,} H={size['heads']:,} |A|R²={size['exponent']:g} {size['dtype']}"
            timed = "whole" if part is None or part["factor"] == 1 else f"1/{number(part['factor'])}"
            ratio = "" if row["ratio"] is None else _spread(row["ratio"])
            small = ("" if row[key] is None else f"{row[key]:.1e}" for key in ("error", "bound"))
            yield f"`{case['name']}`", data, row["task"], row["method"], _spread(row["seconds"]), timed, ratio, *small


def _notes(case: Values) -> list[str]:
    size = [] if case["stated_size"] else ["measured at a small size, not the stated one"]
    failure = [] if case["failure"] is None else [f"failed: {case['failure']}"]
    return [*size, *case["notes"], *failure]


def _spread(values: Values, unit: str = "") -> str:
    low, high = ("∞" if values[key] is None else number(values[key]) for key in ("low", "high"))
    return f"{number(values['median'])}{unit} ({low} … {high})"


def _table(header: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    """A Markdown table; a bar inside a cell is escaped."""
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
