"""The versions of the peers that are not part of the library."""

from __future__ import annotations

from importlib import metadata

OPTIONAL = ("torch", "pykeops")


def peer_versions() -> dict[str, str | None]:
    """By package; None where it is not installed."""
    return {name: _version(name) for name in OPTIONAL}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
