"""Reader of the .ts text format: labelled multivariate series of unequal length, one case a line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mckean.errors import Refused


@dataclass(frozen=True, eq=False)
class LabelledSeries:
    """n series: `cases[i]` is (N_i, d), `labels` (n,) indexes `classes`, which are in the order of the
    header."""

    cases: tuple[NDArray[np.float64], ...]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]


def _classes(header: dict[str, str], where: str) -> tuple[str, ...]:
    if header.get("timestamps", "false").lower() != "false":
        raise Refused(f"{where} must hold series without time stamps; its header says @timeStamps true.")
    flag, *classes = header.get("classlabel", "false").split() or ["false"]
    if flag.lower() != "true" or not classes:
        raise Refused(f"{where} must name its classes in a line `@classLabel true ...`; found none.")
    return tuple(classes)


def _case(line: str, where: str) -> tuple[NDArray[np.float64], str]:
    *channels, label = line.split(":")
    if not channels:
        raise Refused(f"{where} must hold channels and a label separated by ':'; found no ':'.")
    try:
        series = [np.array([float(value) for value in channel.split(",")]) for channel in channels]
    except ValueError as error:
        raise Refused(f"{where} must hold numbers separated by commas; {error}.") from error
    if len({len(channel) for channel in series}) > 1:
        raise Refused(f"{where} must have channels of one length; found {sorted({len(c) for c in series})}.")
    case = np.stack(series, axis=1)
    if not np.isfinite(case).all():
        raise Refused(f"{where} must hold finite numbers; found an inf or a NaN.")
    return case, label.strip()


def read_ts(path: Path) -> LabelledSeries:
    """The series of a .ts file.

    Format: lines of '#' comments, a header of `@key value` lines, `@data`, then one case a line: channels
    separated by ':', a channel's values by ',', and the class label behind the last ':'. Cases may differ in
    length, channels of one case may not, and all cases have as many channels as `@dimensions` says (if it
    says so).

    Raises `Refused`, with the line's number, for time stamps, missing values, unknown labels or anything
    malformed.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path.name} must be a readable text file; {error}.") from error
    header: dict[str, str] = {}
    cases: list[NDArray[np.float64]] = []
    labels: list[int] = []
    classes: tuple[str, ...] | None = None
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        where = f"{path.name}, line {number},"
        if not line or line.startswith("#"):
            continue
        if classes is None:
            key, _, value = line.partition(" ")
            if not key.startswith("@"):
                raise Refused(f"{where} must be a header line that begins with '@': no @data line came before it.")
            if key.lower() == "@data":
                classes = _classes(header, path.name)
            else:
                header[key[1:].lower()] = value.strip()
            continue
        case, label = _case(line, where)
        if label not in classes:
            raise Refused(f"{where} must end with one of the labels {' '.join(classes)}; found {label!r}.")
        expected = header.get("dimensions", str(case.shape[1])) if not cases else str(cases[0].shape[1])
        if str(case.shape[1]) != expected:
            raise Refused(f"{where} must have {expected} channels; found {case.shape[1]}.")
        cases.append(case)
        labels.append(classes.index(label))
    if classes is None or not cases:
        raise Refused(f"{path.name} must hold an @data line and at least one case behind it; found none.")
    return LabelledSeries(tuple(cases), np.array(labels, dtype=np.int64), classes)
