"""From arguments to an exit code: every error is caught here once, said in a sentence, and has its number."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Sequence

from mckean.cli import output
from mckean.errors import NumericalFailure, Refused, StorageFailure

EXIT_OK = 0
EXIT_BUG = 1
EXIT_USAGE = 2
EXIT_NUMERICAL = 3
EXIT_SELF_CHECK = 6
EXIT_STORAGE = 8
EXIT_INTERRUPTED = 130

_RESULTS = {
    EXIT_BUG: "bug",
    EXIT_USAGE: "refused",
    EXIT_NUMERICAL: "nonfinite",
    EXIT_SELF_CHECK: "self-check-failed",
    EXIT_STORAGE: "storage",
    EXIT_INTERRUPTED: "interrupted",
}
# Errors of the system that tell of the place that was written to, not of this program.
_STORAGE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG}


def run(arguments: Sequence[str]) -> int:
    """Run a command line; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that has no "≤" gets an escape instead of an exception.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        return _call(arguments)
    except BrokenPipeError:
        # The reader of stdout has had enough; flushing at exit must not complain again.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except KeyboardInterrupt:
        return _failed(arguments, EXIT_INTERRUPTED, "Interrupted; nothing was left half written.")
    except Refused as error:
        return _failed(arguments, EXIT_USAGE, str(error))
    except NumericalFailure as error:
        return _failed(arguments, EXIT_NUMERICAL, str(error))
    except StorageFailure as error:
        return _failed(arguments, EXIT_STORAGE, str(error))
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _STORAGE_ERRORS:
            return _failed(arguments, EXIT_STORAGE, f"{error}.")
        if type(error).__name__ == "UnfitMachine":
            return _failed(arguments, EXIT_SELF_CHECK, str(error))
        return _bug(arguments, error)


def _call(arguments: Sequence[str]) -> int:
    from cyclopts import CycloptsError, UnusedCliTokensError

    from mckean.cli.app import build

    app = build()
    try:
        code = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        message = " ".join(str(error).split())
        if isinstance(error, UnusedCliTokensError):
            words, name = " ".join(error.unused_tokens or ()), arguments[0]
            message = f'`mckean {name}` takes no such word; found "{words}": mckean {name} --help shows what it takes.'
            return _failed(arguments, EXIT_USAGE, message)
        return _failed(arguments, EXIT_USAGE, f"{message} mckean --help shows the commands.")
    sys.stdout.flush()
    return code if isinstance(code, int) else EXIT_OK


def _bug(arguments: Sequence[str], error: Exception) -> int:
    notes = " ".join(getattr(error, "__notes__", []))
    if _has(arguments, "-v", "--verbose"):
        traceback.print_exception(error)
    else:
        notes = f"{notes} -v shows the traceback.".strip()
    return _failed(arguments, EXIT_BUG, f"This is a bug in mckean: {type(error).__name__}: {error}. {notes}")


def _failed(arguments: Sequence[str], code: int, message: str) -> int:
    if _has(arguments, "--json"):
        output.json_object({"result": _RESULTS[code], "message": message, "exit_code": code})
        sys.stdout.flush()
    output.note(f"mckean: {message}")
    return code


def _has(arguments: Sequence[str], *names: str) -> bool:
    return any(argument in names for argument in arguments)
