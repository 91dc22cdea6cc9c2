"""From case to case: each is told as soon as it is done, and one that fails does not lose the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mckean.bench.cases.base import Bench
from mckean.bench.catalogue import Case
from mckean.bench.record import Findings

KIND = "mckean bench"


def measure(cases: Sequence[Case], bench: Bench, *, stated_size: bool) -> Iterator[Findings]:
    """The findings of each case in turn, also of one that failed: its `failure` says how, and what it had found before is kept."""
    import jax

    for case in cases:
        findings = Findings(case.name, case.about, stated_size)
        begun = time.perf_counter()
        try:
            (case.stated if stated_size else case.small).measure(findings, bench)
        except Exception as error:
            findings.failure = f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"
        findings.seconds = time.perf_counter() - begun
        # Programs of a case do not serve the next one.
        jax.clear_caches()
        yield findings


def circumstances(bench: Bench, describe: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a record says about machine, versions, peers, the rules of measurement and other load, beside the findings."""
    from mckean.bench.peers import names, peer_versions

    machine = describe()
    return {
        "kind": KIND,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine,
        "load": load(),
        "peers": {"timed": names(bench.peers), "versions": peer_versions()},
        "rule": {"rounds": bench.rule.rounds, "least_seconds": bench.rule.least, "seed": bench.seed},
    }


def load() -> float | None:
    """Processes that wanted a core over the last minute, on average; None where the system does not say."""
    import os

    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return None
