"""The kinds of failure, each with one exit code of the command.

A message is one sentence (or two): what must hold, what was found, what to do.
"""


class Refused(ValueError):
    """The input or the configuration cannot be used (exit code 2)."""


class NumericalFailure(RuntimeError):
    """A computation left the finite numbers (exit code 3)."""


class StorageFailure(OSError):
    """A file could not be written or read back whole (exit code 8)."""
