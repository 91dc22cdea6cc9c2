"""Findings as lines of text: a table of rows, then what it comes to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mckean.bench.record import Claim, Findings, Row, Spread

HEADER = f"  {'data':<42} {'task':<18} {'method':<22} {'seconds (least … most)':<27} {'of':<9} {'× own (least … most)':<26} {'error':<8} bound"


def lines(findings: Findings) -> Iterator[str]:
    """The case, a line a row, a line a claim, the notes."""
    size = findings.about if findings.stated_size else "at a small size; --full for the stated one"
    yield f"{findings.case}: {size} ({findings.seconds:.0f} s)"
    if findings.rows:
        yield HEADER
    for row in findings.rows:
        yield f"  {_row(row)}".rstrip()
    for claim in findings.claims:
        yield f"  → {_claim(claim)}"
    for note in findings.notes:
        yield f"  {note}"
    if findings.failure is not None:
        yield f"  FAILED after {len(findings.rows)} rows: {findings.failure}"


def circumstances(record: Mapping[str, Any]) -> str:
    """Machine, versions, peers and other load in a line."""
    machine, versions = record["machine"], record["machine"]["versions"]
    peers = [f"{name} {found}" if found else f"no {name}" for name, found in record["peers"]["versions"].items()]
    busy = "" if record["load"] is None else f" · load {record['load']:g} on {machine['cores']} cores"
    if record["load"] is not None and record["load"] > 0.5 * machine["cores"]:
        busy += ": other work is going on, so trust the ratios and not the seconds"
    parts = (record["date"], machine["device"], f"mckean {machine['mckean']}", f"jax {versions.get('jax', '?')}", *peers)
    return " · ".join(parts) + busy


def spread(values: Spread, unit: str = "") -> str:
    """Median, and the least and the most in brackets; three digits."""
    return f"{number(values.median)}{unit} ({number(values.low)} … {number(values.high)})"


def number(value: float) -> str:
    """Three significant digits, thousands parted by commas."""
    if value >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def data(row: Row) -> str:
    """The setting in a line."""
    size = row.size
    dtype = "" if size.dtype == "float64" else " f32"
    return f"{size.law} d={size.dim} N={size.tokens} H={size.heads} |A|R²={size.exponent:g}{dtype}"


def _row(row: Row) -> str:
    part = "whole" if row.part is None or row.part.whole else f"1/{row.part.factor:.3g}"
    ratio = "" if row.ratio is None else spread(row.ratio)
    error, bound = ("" if value is None else f"{value:.1e}" for value in (row.error, row.bound))
    time = spread(row.timing.spread)
    return f"{data(row):<42} {row.task:<18} {row.method:<22} {time:<27} {part:<9} {ratio:<26} {error:<8} {bound}"


def _claim(claim: Claim) -> str:
    unit = {"": "", "×": "×"}.get(claim.unit, f" {claim.unit}")
    text = f"{claim.what}: {spread(claim.measured, unit)}"
    if claim.holds is None:
        return text
    wanted = f"at least {number(claim.at_least)}" if claim.at_least is not None else f"at most {number(claim.at_most or 0.0)}"
    return f"{text}, wanted {wanted}{unit}: {'holds' if claim.holds else 'MISSED'}"
