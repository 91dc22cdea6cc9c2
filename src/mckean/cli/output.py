"""stdout for data, stderr for the rest."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

SCHEMA_VERSION = 1


def data(text: str) -> None:
    """What was asked for."""
    print(text)


def json_object(record: Mapping[str, Any]) -> None:
    """The one object of `--json`."""
    print(json.dumps({"schema_version": SCHEMA_VERSION, **record}, ensure_ascii=False, allow_nan=False))


def note(text: str) -> None:
    print(text, file=sys.stderr)


@contextlib.contextmanager
def stdout_kept_clean() -> Iterator[None]:
    """Send what libraries print inside to stderr, so that stdout holds the data and nothing else."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
