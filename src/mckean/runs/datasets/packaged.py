"""Data files that another installed package carries, found without importing that package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from mckean.errors import Refused


def packaged_file(package: str, relative: str, *, data: str, install: str) -> Path:
    """Path of the file `relative` inside the installed `package`.

    The package is only located: importing scikit-learn takes longer than the whole of `mckean --help`, and
    aeon is installed without its dependencies and cannot be imported at all. `data` names the data set in
    messages and `install` is the command that gets the package.

    Raises `Refused` if the package is not installed or does not carry the file.
    """
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise Refused(f"The data set {data} comes with the package {package}, which is not installed: run `{install}`.")
    for folder in folders:
        path = Path(folder) / relative
        if path.is_file():
            return path
    raise Refused(
        f"The data set {data} must be in the package {package} as {relative}; the installed version does not "
        f"carry it: run `{install}`."
    )
