"""Figures as files (PDF and SVG, fonts embedded) and as SVG to stand inside the page."""

import re
from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure

from mckean.errors import StorageFailure
from mckean.report.palette import roles
from mckean.report.style import settings


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write `name.pdf` and `name.svg`; the same figure gives the same bytes."""
    pdf, svg = folder / f"{name}.pdf", folder / f"{name}.svg"
    try:
        folder.mkdir(exist_ok=True)
        with settings():
            figure.savefig(pdf, metadata={"CreationDate": None, "Creator": None, "Producer": None})
            figure.set_layout_engine("none")  # the layout is found once; the other renderings keep it
            figure.savefig(svg, metadata={"Date": None, "Creator": None})
    except OSError as error:
        raise StorageFailure(
            f"The figure {pdf} cannot be written ({error.strerror or error}); free the disk or the folder, then run "
            "`mckean report` again."
        ) from error
    return pdf, svg


def inline(figure: Figure, name: str, label: str) -> str:
    """The figure as an <svg> element: theme colours, the page's fonts, ids that no other figure has."""
    buffer = BytesIO()
    with settings(**{"svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", facecolor="none", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue().decode("utf-8")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text[text.index("<svg") :]
    head, body = text.split(">", 1)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
    if size is None:
        raise RuntimeError("matplotlib's SVG must have a viewBox that starts at 0 0.")
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'\bxlink:href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    for role, colour in roles(dark=False).items():
        body = body.replace(colour, f"var(--{role})")
    width = round(float(size[1]) * 4 / 3)  # points to CSS pixels
    return (
        f'<svg role="img" aria-label="{_attribute(label)}" viewBox="0 0 {size[1]} {size[2]}" '
        f'style="--natural:{width}px">{body.strip()}'
    )


def _attribute(text: str) -> str:
    for character, entity in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    return text
