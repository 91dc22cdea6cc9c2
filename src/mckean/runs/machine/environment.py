"""The machine and the software under a run: set up before JAX starts, and written into the manifest.

JAX 0.10.1 hands some fused float32 products on the CPU to YNNPACK, which gets rows above 32,768 wrong (a
matrix-vector product and a sum or a maximum under vmap, a relative of jax-ml/jax#39103); runs in float32
turn that fusion off, which costs them a fifth of their speed. Its float64 products are right.

Deterministic mode is one thread for XLA's CPU kernels. `--xla_cpu_multi_thread_eigen=false` alone leaves JAX
0.10's thread pool as it is; its size comes from the variable NPROC, read once when the backend starts.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = (
    "jax",
    "jaxlib",
    "equinox",
    "diffrax",
    "optimistix",
    "lineax",
    "optax",
    "numpy",
    "scipy",
    "pydantic",
    "scikit-learn",
    "aeon",
)
_FLOAT32_FLAGS = {"0.10.1": ("--xla_cpu_experimental_ynn_fusion_type=",)}
"""By version, since XLA ends the process at a flag that it does not know."""
_DETERMINISTIC_FLAGS = ("--xla_cpu_multi_thread_eigen=false", "--xla_gpu_deterministic_ops=true")


def prepare(*, deterministic: bool, precision: str) -> None:
    """Set the process up for a run; to be called before JAX is first used. Turns 64-bit numbers on."""
    if precision == "float32":
        add_flags(os.environ, _FLOAT32_FLAGS.get(version("jaxlib") or "", ()))
    if deterministic:
        set_deterministic(os.environ)
    # Its line per compiled kernel would drown the run's own.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    import jax

    jax.config.update("jax_enable_x64", True)


def set_deterministic(environ: MutableMapping[str, str]) -> None:
    """Ask for one thread and fixed orders of summation."""
    add_flags(environ, _DETERMINISTIC_FLAGS)
    environ["NPROC"] = "1"


def add_flags(environ: MutableMapping[str, str], flags: Sequence[str]) -> None:
    """Add XLA flags, beside those that the user has set, which win."""
    present = environ.get("XLA_FLAGS", "").split()
    known = {flag.partition("=")[0] for flag in present}
    environ["XLA_FLAGS"] = " ".join([*present, *(flag for flag in flags if flag.partition("=")[0] not in known)])


def describe() -> dict[str, Any]:
    """What the manifest says about software and machine; imports JAX."""
    import jax

    devices = jax.devices()
    return {
        "mckean": version("mckean") or "not installed",
        "python": platform.python_version(),
        "versions": versions(),
        "platform": platform.platform(),
        "device": f"{len(devices)} × {devices[0].device_kind} ({devices[0].platform})",
        "cores": cores(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "threads": os.environ.get("NPROC") or "all",
        "git": git(Path(__file__).resolve().parents[2]),
    }


def versions() -> Mapping[str, str]:
    """The installed versions of the packages that a result can depend on."""
    return {name: found for name in _PACKAGES if (found := version(name)) is not None}


def version(package: str) -> str | None:
    """An installed package's version, without importing it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def cores() -> int:
    """The cores that this process may use, which a batch system can make fewer than the machine has."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def git(package: Path) -> dict[str, Any] | None:
    """The commit of the checkout that the package runs from, and whether it has changes; None where it is
    installed.
    """

    def ask(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(package), *arguments],
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    if ask("ls-files", "--error-unmatch", "errors.py") is None:
        return None
    commit = ask("rev-parse", "HEAD")
    changes = ask("status", "--porcelain")
    return {"commit": commit, "dirty": bool(changes)} if commit else None
