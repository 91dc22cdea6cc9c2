"""What a run shows on stderr: one living line on a terminal, a plain line now and then elsewhere, or
nothing.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Protocol, TextIO

_WIDTH = 12
_PLAIN_INTERVAL_S = 5.0
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True)
class Reading:
    """Where a run stands."""

    step: int
    total: int
    s: float
    risk: float
    accuracy: float | None
    left_s: float | None
    step_s: float | None = None


class Progress(Protocol):
    def show(self, reading: Reading) -> None:
        """The run has come so far."""
        ...

    def say(self, text: str) -> None:
        """A line that stays."""
        ...

    def warn(self, text: str) -> None:
        """A line that stays, also where the rest is quiet."""
        ...

    def close(self) -> None: ...


def choose(*, quiet: bool, stream: TextIO | None = None) -> Progress:
    """The display that fits the stream."""
    out = sys.stderr if stream is None else stream
    if quiet:
        return Quiet(out)
    return Living(out) if out.isatty() else Plain(out)


def line(reading: Reading) -> str:
    """`s = 3.20  ▕█████▏  risk 0.118  accuracy 0.962  4.2 steps/s  41 s left`"""
    parts = [f"s = {reading.s:.2f}", f"▕{bar(reading.step / reading.total)}▏", f"risk {reading.risk:.4g}"]
    if reading.accuracy is not None:
        parts.append(f"accuracy {reading.accuracy:.3f}")
    if reading.step_s is not None and reading.step_s > 0.0:
        parts.append(pace(reading.step_s))
    if reading.left_s is not None:
        parts.append(f"{duration(reading.left_s)} left")
    return "  ".join(parts)


def bar(fraction: float) -> str:
    eighths = round(min(max(fraction, 0.0), 1.0) * _WIDTH * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(_WIDTH)


def pace(step_s: float) -> str:
    """Steps a second, or seconds a step where a step takes longer than one."""
    return f"{1 / step_s:.3g} steps/s" if step_s <= 1.0 else f"{step_s:.3g} s a step"


def duration(seconds: float) -> str:
    """A time in the two largest of hours, minutes and seconds."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Quiet:
    """Warnings only."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, reading: Reading) -> None: ...

    def say(self, text: str) -> None: ...

    def warn(self, text: str) -> None:
        print(f"warning: {text}", file=self._stream, flush=True)

    def close(self) -> None: ...


class Plain(Quiet):
    """Lines for a log file: the first, the last, and at most one in a few seconds between."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._next = 0.0

    def show(self, reading: Reading) -> None:
        if time.monotonic() < self._next and reading.step < reading.total:
            return
        self._next = time.monotonic() + _PLAIN_INTERVAL_S
        self.say(line(reading))

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class Living:
    """One line that is drawn again in place; rich keeps it below what else is printed, and minds NO_COLOR."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=False, redirect_stdout=False)
        self._live.start()

    def show(self, reading: Reading) -> None:
        from rich.text import Text

        self._live.update(Text(line(reading), no_wrap=True, overflow="ellipsis"), refresh=True)

    def say(self, text: str) -> None:
        self._console.print(text, markup=False)

    def warn(self, text: str) -> None:
        from rich.text import Text

        self._console.print(Text("warning: ", style="yellow") + Text(text))

    def close(self) -> None:
        self._live.stop()
