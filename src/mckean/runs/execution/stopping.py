"""Stopping on request: the first signal ends the chunk in progress, a second Ctrl-C ends the process.

Python runs signal handlers between its own instructions, and so only after a compiled chunk has returned.
The signals are therefore read by a thread, from the descriptor to which the interpreter writes each signal's
number at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

EXIT_STOPPED = 75
EXIT_INTERRUPTED = 130


class Stopped(Exception):
    """The run was asked to stop, and can be resumed."""

    def __init__(self, exit_code: int) -> None:
        super().__init__("stopped")
        self.exit_code = exit_code


class StopRequest:
    """Whether a stop was asked for, and by which signal."""

    def __init__(self) -> None:
        self._exit_code: int | None = None

    @property
    def requested(self) -> bool:
        return self._exit_code is not None

    def check(self) -> None:
        """Raise Stopped if a stop was asked for."""
        if self._exit_code is not None:
            raise Stopped(self._exit_code)

    def ask(self, exit_code: int) -> None:
        """Ask for a stop; the first reason stays."""
        if self._exit_code is None:
            self._exit_code = exit_code


@contextlib.contextmanager
def listening(say: Callable[[str], None]) -> Iterator[StopRequest]:
    """Listen for SIGINT and SIGTERM inside; outside the main thread nothing can be listened to, and nothing
    is.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    previous_wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    previous = {number: signal.signal(number, _ignore) for number in (signal.SIGINT, signal.SIGTERM)}
    thread = threading.Thread(target=_listen, args=(reading, request, say), daemon=True)
    thread.start()
    try:
        yield request
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(previous_wakeup)
        os.close(writing)
        thread.join()
        os.close(reading)


def _ignore(_number: int, _frame: object) -> None:
    """A handler has to be there for the interpreter to write the number to the descriptor."""


def _listen(reading: int, request: StopRequest, say: Callable[[str], None]) -> None:
    interrupts, told = 0, False
    while numbers := os.read(reading, 64):
        for number in numbers:
            if number == signal.SIGTERM:
                request.ask(EXIT_STOPPED)
                if not told:
                    say("Stopping after the compilation or the training steps in progress, with a checkpoint.")
                told = True
            elif number == signal.SIGINT:
                interrupts += 1
                if interrupts > 1:
                    show_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
                    sys.stderr.write(f"{show_cursor}\nEnded at once; the last checkpoint is whole.\n")
                    sys.stderr.flush()
                    os._exit(EXIT_INTERRUPTED)
                request.ask(EXIT_INTERRUPTED)
                say(
                    "Stopping after the compilation or the training steps in progress, with a checkpoint; "
                    "Ctrl-C once more ends at once."
                )
                told = True
