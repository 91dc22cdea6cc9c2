"""The HTML page: one file, everything inside it, nothing fetched."""

import os
import shlex
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mckean.errors import StorageFailure
from mckean.report import problem, svg, verdict, words
from mckean.report.folder import Record, read
from mckean.report.moving import payload
from mckean.report.palette import roles
from mckean.report.plates import Plate, plates, shown_prompts

TEMPLATES = Path(__file__).parent / "templates"
MAKES = "report.html"


def write_page(run: Path, *, animate: bool) -> Path:
    """Figures first, then the page, which replaces an older one only when it is whole."""
    record = read(run)
    drawn = plates(record)
    for plate in drawn:
        svg.save(plate.figure, run / "figures", plate.name)
    html = render(record, drawn, animate=animate)
    target, draft = run / MAKES, run / f".{MAKES}.part"
    try:
        draft.write_text(html, encoding="utf-8")
        os.replace(draft, target)
    except OSError as error:
        raise StorageFailure(
            f"The report {target} cannot be written ({error.strerror or error}); free the disk or the folder, then "
            "run `mckean report` again."
        ) from error
    return target


def render(record: Record, drawn: list[Plate], *, animate: bool) -> str:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=words.number,
        exact=words.exact,
        integer=words.integer,
        percent=words.percent,
        duration=words.duration,
        size=words.size,
    )
    classes = record.summary.problem.classes if record.summary else None
    rows = shown_prompts(record)
    moving = payload(record.flow, rows, classes) if animate and record.flow is not None and rows else None
    return environment.get_template("page.html.j2").render(
        record=record,
        manifest=record.manifest,
        summary=record.summary,
        verdict=verdict.verdict(record),
        tiles=verdict.tiles(record),
        rows=problem.rows(record),
        departures=problem.departures(record),
        comparisons=verdict.comparisons(record.summary) if record.summary else [],
        sections={name: [_shown(plate) for plate in drawn if plate.section == name] for name in _sections(drawn)},
        moving=moving,
        files=_files(record, drawn),
        command=shlex.join(record.manifest.command),
        colours={"light": roles(dark=False), "dark": roles(dark=True)},
        style=Markup((TEMPLATES / "page.css").read_text(encoding="utf-8")),
        script=Markup((TEMPLATES / "moving.js").read_text(encoding="utf-8")),
    )


def _shown(plate: Plate) -> dict[str, object]:
    drawing = svg.inline(plate.figure, plate.name, f"{plate.title}. {plate.caption}")
    return {"name": plate.name, "title": plate.title, "caption": plate.caption, "svg": Markup(drawing)}


def _sections(drawn: list[Plate]) -> list[str]:
    return ["training", "baselines", "tokens", "costate", "heads", *{plate.section for plate in drawn}]


def _files(record: Record, drawn: list[Plate]) -> list[tuple[str, str]]:
    """Paths within the run folder with their sizes; the page itself and checkpoints' insides are not listed."""
    found: list[tuple[str, str]] = []
    for path in sorted(record.root.rglob("*")):
        name = path.relative_to(record.root).as_posix()
        if path.is_file() and not name.startswith((".", "checkpoints/", "figures/")) and name != MAKES:
            found.append((name, words.size(path.stat().st_size)))
    checkpoints = [path for path in (record.root / "checkpoints").rglob("*") if path.is_file()]
    if checkpoints:
        total = sum(path.stat().st_size for path in checkpoints)
        found.append((f"checkpoints/ ({len(checkpoints)} files)", words.size(total)))
    found.extend((f"figures/{plate.name}.pdf, .svg", "vector") for plate in drawn)
    return found
