"""`mckean --version`."""

from importlib import metadata


def version() -> str:
    """The installed version; a checkout that runs without being installed says so."""
    try:
        return metadata.version("mckean")
    except metadata.PackageNotFoundError:
        return "not installed"


def version_line() -> str:
    return f"mckean {version()}"
