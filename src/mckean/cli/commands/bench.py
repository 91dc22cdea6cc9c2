"""`mckean bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mckean.cli import output
from mckean.cli.options import QUIET_TALK, Talk


def command(
    *cases: str,
    full: Annotated[bool, Parameter(negative=())] = False,
    out: Path | None = None,
    rounds: int = 5,
    seed: int = 0,
    talk: Talk = QUIET_TALK,
) -> int:
    """Measure the field's methods as ratios inside one run: the certified table, exact tiles, plain JAX, torch and KeOps.

    Without --full at small sizes, in three minutes; with it at the stated sizes, in a quarter of an hour on two quiet cores. Exit 1 if
    a case failed; the others are then measured all the same.

    Parameters
    ----------
    cases
        Some cases by name: d2-h4, d2-h1, d2-h16, d1-million, d3-h16, many-heads, far, gradient, scaling, tiles, training. All by default.
    full
        Measure at the stated sizes.
    out
        A folder for bench.json and bench.md, which grow case by case, and for the figure bench.svg and bench.pdf.
    rounds
        Timings of each method, of which the median is taken.
    seed
        Seed of tokens and heads.
    """
    from mckean.errors import Refused

    if rounds < 1 or seed < 0:
        raise Refused(f"--rounds must be at least 1 and --seed must not be negative; found {rounds} and {seed}.")
    with output.stdout_kept_clean():
        from mckean.runs.machine import environment

        environment.prepare(deterministic=False, precision="float64")
        from mckean.bench import catalogue, course, keeping, text
        from mckean.bench.cases.base import Bench
        from mckean.bench.peers import installed
        from mckean.bench.timing import Rule

        chosen = catalogue.chosen(cases)
        folder = None if out is None else keeping.open_folder(out)
        rule = Rule(rounds) if full else Rule(rounds, least=0.05)
        bench = Bench(rule, seed, installed(), lambda word: None if talk.quiet else output.note(f"  … {word}"))
        record = course.circumstances(bench, environment.describe)
    _say(talk, text.circumstances(record))
    record["cases"] = []
    measured = course.measure(chosen, bench, stated_size=full)
    while True:
        with output.stdout_kept_clean():
            findings = next(measured, None)
            if findings is None:
                break
            record["cases"].append(findings.as_json())
            if folder is not None:
                keeping.write(folder, record)
        for line in text.lines(findings):
            _say(talk, line)
    if folder is not None:
        with output.stdout_kept_clean():
            from mckean.cli import reporting

            record["figure"] = [str(path) for path in reporting.write_bench_figure(folder, record)]
    if talk.json:
        output.json_object(record)
    failed = [case["name"] for case in record["cases"] if case["failure"] is not None]
    if failed:
        output.note(f"mckean: {len(failed)} of {len(chosen)} cases failed ({', '.join(failed)}); what the others found stands.")
    return 1 if failed else 0


def _say(talk: Talk, line: str) -> None:
    """On stdout, at once; with --json on stderr, since stdout holds the object alone."""
    if not talk.json:
        print(line, flush=True)
    elif not talk.quiet:
        output.note(line)
