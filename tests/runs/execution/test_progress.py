"""The line that a run shows."""

from __future__ import annotations

import io

import pytest

from mckean.runs.execution import progress
from mckean.runs.execution.outcome import header
from mckean.runs.execution.progress import Plain, Quiet, Reading, line


def reading(step: int) -> Reading:
    return Reading(step, 100, 3.2, 0.118, 0.962, 41.3, 0.24)


def test_the_line() -> None:
    assert line(reading(50)) == "s = 3.20  ▕██████      ▏  risk 0.118  accuracy 0.962  4.17 steps/s  41 s left"
    assert line(Reading(0, 100, 0.0, 2.5, None, None)) == "s = 0.00  ▕            ▏  risk 2.5"


def test_the_pace_of_slow_steps_is_said_in_seconds() -> None:
    assert progress.pace(31.24) == "31.2 s a step"


@pytest.mark.parametrize(("fraction", "shown"), [(0.0, " " * 12), (1.0, "█" * 12), (2.0, "█" * 12), (1 / 96, "▏" + " " * 11)])
def test_the_bar_has_one_width(fraction: float, shown: str) -> None:
    assert progress.bar(fraction) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3600, "1 h 00 min"), (7261, "2 h 01 min")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert progress.duration(seconds) == shown


def test_a_log_file_gets_the_first_and_the_last_line_and_few_between() -> None:
    stream = io.StringIO()
    display = Plain(stream)
    for step in range(1, 101):
        display.show(reading(step))
    assert len(stream.getvalue().splitlines()) == 2


def test_quiet_says_warnings_only() -> None:
    stream = io.StringIO()
    display = progress.choose(quiet=True, stream=stream)
    assert type(display) is Quiet
    display.show(reading(1))
    display.say("hello")
    display.warn("look")
    display.close()
    assert stream.getvalue() == "warning: look\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("no_color", [True, False])
def test_a_terminal_gets_one_living_line_and_no_colour_where_none_is_wanted(
    monkeypatch: pytest.MonkeyPatch, no_color: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    display = progress.choose(quiet=False, stream=stream)
    display.show(reading(50))
    display.warn("look")
    display.close()
    text = stream.getvalue()
    assert "risk 0.118" in text
    assert ("\x1b[33m" in text) is not no_color


def test_the_header() -> None:
    facts = {
        "prompts": 1347,
        "tokens_max": 42,
        "data_dim": 3,
        "dim": 12,
        "heads": 256,
        "horizon": 1.0,
        "steps": 8,
    }
    assert header("digits", facts, 0) == (
        "mckean run digits · 1,347 prompts, ≤ 42 tokens in R³ → 12, H = 256 heads, T = 1 in 8 steps · seed 0"
    )


def test_one_of_a_thing_is_not_many() -> None:
    facts = {"prompts": 1, "tokens_max": 1, "data_dim": 2, "dim": 3, "heads": 1, "horizon": 1.0, "steps": 1}
    assert header("mine", facts, 0) == "mckean run mine · 1 prompt, ≤ 1 token in R² → 3, H = 1 head, T = 1 in 1 step · seed 0"
