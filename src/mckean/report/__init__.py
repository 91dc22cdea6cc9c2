"""From a run folder to figures and one HTML page that opens anywhere, offline.

`write` reads nothing but the files of a run folder, so that a report can be remade on a machine without JAX.
Inside: `folder` (reading and checking), `figures` (one file a figure), `page` (the HTML), `plot` (the same
figures for results held in memory, offered as `mk.plot`).
"""

from pathlib import Path

__all__ = ["write"]


def write(run: Path | str, *, animate: bool = True) -> Path:
    """Write `report.html` and `figures/*.pdf`, `figures/*.svg` into the run folder; return the page's path.

    A run that was stopped, failed or is still running gets a page that says so and shows what there is.
    With `animate=False` the page has no moving picture of the tokens.

    Raises `Refused` if `run` is not a run folder or a finished run lacks a file, and `StorageFailure` if a file
    is damaged or cannot be written.
    """
    from mckean.report.page import write_page

    return write_page(Path(run), animate=animate)
