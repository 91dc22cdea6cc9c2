"""The .ts reader: what it reads, and the line it names when it cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mckean.errors import Refused
from mckean.runs.datasets.timeseries import read_ts

HEADER = "# a comment\n@problemName toy\n@timeStamps false\n@dimensions 2\n@classLabel true a b\n@data\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "toy.ts"
    path.write_text(text, encoding="utf-8")
    return path


def test_cases_of_different_lengths(tmp_path: Path) -> None:
    series = read_ts(write(tmp_path, HEADER + "1,2,3:4,5,6: b \n\n-1.5:2e-1:a\n"))
    assert [case.tolist() for case in series.cases] == [[[1, 4], [2, 5], [3, 6]], [[-1.5, 0.2]]]
    assert series.labels.tolist() == [1, 0]
    assert series.classes == ("a", "b")
    assert series.cases[0].dtype == np.float64


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an @data line and at least one case"),
        (HEADER, "at least one case"),
        ("1,2:3,4:a\n", "line 1, must be a header line"),
        (HEADER.replace("false", "true") + "1:2:a\n", "time stamps"),
        (HEADER.replace("@classLabel true a b", "@classLabel false") + "1:2\n", "@classLabel true"),
        (HEADER.replace("@classLabel true a b\n", "") + "1:2:a\n", "@classLabel true"),
        (HEADER + "1,2:3,4:c\n", "line 7, must end with one of the labels a b; found 'c'"),
        (HEADER + "1,2:3:a\n", "line 7, must have channels of one length"),
        (HEADER + "1,2:a\n", "line 7, must have 2 channels; found 1"),
        (HEADER + "1:2:a\n1:2:3:a\n", "line 8, must have 2 channels; found 3"),
        (HEADER + "1,?:3,4:a\n", "line 7, must hold numbers separated by commas"),
        (HEADER + "1,:3,4:a\n", "line 7, must hold numbers separated by commas"),
        (HEADER + "1,nan:3,4:a\n", "line 7, must hold finite numbers"),
        (HEADER + "a\n", "found no ':'"),
    ],
)
def test_malformed_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=message):
        read_ts(write(tmp_path, text))


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "toy.ts"
    with pytest.raises(Refused, match="readable text file"):
        read_ts(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Refused, match="readable text file"):
        read_ts(path)
