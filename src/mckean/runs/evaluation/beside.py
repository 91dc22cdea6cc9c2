"""The baseline that trains, on a thread of its own beside the run's training: it needs nothing of the run but its start.

One training of the size of an example keeps one core busy, since its products are small; compiled code does not hold the interpreter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from mckean.runs.assembly.assemble import Assembly
from mckean.runs.evaluation.baselines import Baseline, without_attention
from mckean.runs.machine.environment import cores

WAIT_S = 1.0


class Cancelled(Exception):
    """The baseline was told to end."""


class Beside:
    """The baseline with attention off, under way. `cancel` ends it after its chunk in progress."""

    def __init__(self, assembly: Assembly) -> None:
        self._cancelled = threading.Event()
        self._found: Future[Baseline | None] = Future()
        self._text = ""
        self._thread = threading.Thread(target=self._run, args=(assembly,), name="baseline", daemon=True)
        self._thread.start()

    def _run(self, assembly: Assembly) -> None:
        try:
            # No steps: only the compiling, while the run checks itself. The training finds it done.
            assembly.stepper.advance(assembly.stepper.init(assembly.rho0, assembly.key), 0)
            self._note("")
            self._found.set_result(without_attention(assembly, self._note))
        except BaseException as failure:
            # Raised again where the result is asked for.
            self._found.set_exception(failure)

    def _note(self, text: str) -> None:
        if self._cancelled.is_set():
            raise Cancelled
        self._text = text

    def result(self, progress: Callable[[str], None]) -> Baseline | None:
        """Wait for it, and say meanwhile how far it is; raises what it raised."""
        said = ""
        while not self._found.done():
            self._thread.join(WAIT_S)
            if self._text != said:
                said = self._text
                progress(said)
        return self._found.result()

    def cancel(self) -> None:
        self._cancelled.set()
        self._thread.join()


def start(assembly: Assembly) -> Beside | None:
    """Begin the baseline, where the run wants it and may compute on more than one thread."""
    config = assembly.config
    if not config.output.baselines or config.output.deterministic or config.model.head != "block" or cores() < 2:
        return None
    return Beside(assembly)
