"""Is this machine fit to compute? Small checks, each with what it looked at and what it found.

The quick ones run at the start of every run; `mckean doctor` runs all.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from mckean.runs.machine import environment

Verdict = Literal["holds", "fails", "note"]

KNOWN_BAD = {
    "0.10.2": ("jit(vmap(matvec then reduce)) returns wrong numbers on CPU above 16,384 rows (jax-ml/jax#39103)"),
    "0.11.0": "it crashes on reductions of high rank",
    "0.11.1": "scans with stacked outputs take quadratic time",
}
_PINNED = "0.10.1"
_ROWS = 40_000
_TOLERANCES = {"float32": 1e-4, "float64": 1e-12}
_FREE_BYTES = 1 << 30
_OPTIONAL = {"aeon": "the vowels data, pip install --no-deps aeon==1.6.0"}


@dataclass(frozen=True)
class Finding:
    """A check's name, its verdict (`note`: worth knowing, no failure), and one sentence."""

    name: str
    verdict: Verdict
    found: str


class UnfitMachine(RuntimeError):
    """A check of the machine failed (exit code 6)."""


def quick(precision: str) -> list[Finding]:
    """The checks without which no number of a run in this precision is worth anything; about a second."""
    return [_guarded(jax_version), _guarded(lambda: jit_agrees(precision))]


def require(precision: str) -> None:
    """Raise UnfitMachine where a quick check fails."""
    for finding in quick(precision):
        if finding.verdict == "fails":
            raise UnfitMachine(f"{finding.name}: {finding.found}")


def everything(folder: Path) -> list[Finding]:
    """All checks; `folder` is where runs go."""
    checks: tuple[Callable[[], Finding], ...] = (
        python_version,
        jax_version,
        lambda: jit_agrees(*_TOLERANCES),
        double_precision,
        device,
        repeatable_gradient,
        lambda: free_disk(folder),
        datasets,
        optional_packages,
    )
    return [_guarded(check) for check in checks]


def python_version() -> Finding:
    holds = sys.version_info >= (3, 11)
    return Finding("python", "holds" if holds else "fails", f"{platform.python_version()}; 3.11 or newer is needed.")


def jax_version() -> Finding:
    """Neither jax nor jaxlib is a version that is known to compute wrongly."""
    found = {name: environment.version(name) for name in ("jax", "jaxlib")}
    for name, version in found.items():
        if version is None:
            return Finding("jax", "fails", f"{name} is not installed: pip install jax=={_PINNED}.")
        if version in KNOWN_BAD:
            fix = f"pip install jax=={_PINNED} jaxlib=={_PINNED}"
            return Finding("jax", "fails", f"{name} {version} must not be used: {KNOWN_BAD[version]}; {fix}.")
    return Finding("jax", "holds", f"jax {found['jax']}, jaxlib {found['jaxlib']}; not among the known bad versions.")


def jit_agrees(*precisions: str) -> Finding:
    """The compiled `vmap` of a matrix-vector product and a reduction gives the numbers of the same without
    JAX.

    Both shapes of the error are tried: with and without a square between product and sum.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    def plain(matrix: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.sum(matrix @ x)

    def squared(matrix: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.sum((matrix @ x) ** 2)

    rows = np.sin(np.arange(3.0 * _ROWS)).reshape(_ROWS, 3)
    matrix = np.arange(1.0, 10.0).reshape(3, 3) / 9
    products = rows @ matrix.T
    with jax.enable_x64(True):
        for precision in precisions:
            dtype, tolerance = np.dtype(precision), _TOLERANCES[precision]
            arguments = (jnp.asarray(matrix, dtype), jnp.asarray(rows, dtype))
            for function, exact in ((plain, products.sum(axis=1)), (squared, (products**2).sum(axis=1))):
                compiled = np.asarray(jax.jit(jax.vmap(function, in_axes=(None, 0)))(*arguments))
                wrong = int(np.sum(~(np.abs(compiled - exact) <= tolerance)))
                if wrong:
                    return Finding(
                        "jit",
                        "fails",
                        f"{wrong:,} of {_ROWS:,} rows are wrong under jit in {precision} (jax-ml/jax#39103): "
                        f"pip install jax=={_PINNED} jaxlib=={_PINNED}, and leave XLA_FLAGS unset.",
                    )
    return Finding("jit", "holds", f"{_ROWS:,} rows agree with and without jit, in {' and '.join(precisions)}.")


def double_precision() -> Finding:
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        third = jax.jit(lambda x: x / 3)(jnp.asarray(1.0))
        holds = third.dtype == jnp.float64 and float(third) == 1 / 3
    return Finding("float64", "holds" if holds else "fails", f"1/3 is {float(third):.17g} as {third.dtype}.")


def device() -> Finding:
    import jax

    devices = jax.devices()
    names = f"{len(devices)} × {devices[0].device_kind} ({devices[0].platform})"
    threads = os.environ.get("NPROC", "all")
    return Finding("device", "holds", f"{names}, {environment.cores()} cores, threads: {threads}.")


def repeatable_gradient() -> Finding:
    """A batched attention gradient gives the same bits each time in this process."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    def energy(a: jax.Array, x: jax.Array) -> jax.Array:
        weights = jax.nn.softmax(jnp.einsum("nid,hde,nje->nhij", x, a, x), axis=-1)
        return jnp.sum(jnp.einsum("nhij,njd->nid", weights, x) ** 2)

    with jax.enable_x64(True):
        x = jnp.asarray(np.sin(np.arange(16 * 40 * 12.0)).reshape(16, 40, 12))
        a = jnp.asarray(np.cos(np.arange(16 * 12 * 12.0)).reshape(16, 12, 12) / 12)
        gradient = jax.jit(jax.grad(energy))
        bits = {np.asarray(gradient(a, x)).tobytes() for _ in range(5)}
    if len(bits) == 1:
        return Finding("repeatable", "holds", "An attention gradient gave the same bits 5 times in 5.")
    return Finding(
        "repeatable",
        "note",
        f"An attention gradient gave {len(bits)} results in 5 calls: keep output.deterministic = true to resume bit for bit.",
    )


def free_disk(folder: Path) -> Finding:
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    holds = free >= _FREE_BYTES and os.access(place, os.W_OK)
    fix = "" if holds else ": give another folder with --out"
    return Finding("disk", "holds" if holds else "fails", f'{free / 2**30:.1f} GiB free at "{place}"{fix}.')


def datasets() -> Finding:
    """The packaged data sets whose files are installed."""
    from mckean.errors import Refused
    from mckean.runs import datasets as packaged

    missing: list[str] = []
    for name in packaged.names():
        try:
            packaged.load(name)
        except Refused as error:
            missing.append(f"{name} ({error})")
    if missing:
        return Finding("data", "note", f"Not available: {'; '.join(missing)}")
    return Finding("data", "holds", f"Available: {', '.join(packaged.names())}.")


def optional_packages() -> Finding:
    missing = [f"{name} ({purpose})" for name, purpose in _OPTIONAL.items() if find_spec(name) is None]
    return Finding("extras", "note", f"Not installed: {', '.join(missing)}." if missing else "All are installed.")


def _guarded(check: Callable[[], Finding]) -> Finding:
    """A check that cannot even run has failed, and says so in its line; the others still run."""
    try:
        return check()
    except Exception as error:
        name = getattr(check, "__name__", "check")
        return Finding(name, "fails", f"It could not be made: {type(error).__name__}: {error}")
