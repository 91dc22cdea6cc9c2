"""The peak memory of this process."""

from __future__ import annotations

import sys
from pathlib import Path


def peak() -> int:
    """The largest resident memory so far, in bytes. On Linux that of this program alone, not of the process that it was forked from."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text("ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    try:
        import resource
    except ImportError:  # not a system that keeps count
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most
