"""What is cited exists, what is public is explained, what is linked is there."""

import re

import pytest

import mckean

from .blocks import FENCE, ROOT, name, pages

SECTIONS = {1, 2, 3, 4, 5, 6, 7, 8}
CITED = re.compile(r"[Mm]athematics,\s+sections?\s+([0-9][0-9,–\- and]*)")
NOTATION = (ROOT / "docs" / "notation.md").read_text("utf-8")
# A formula, or a source; containers and errors are explained by what raises or returns them.
SOURCE = re.compile(r"[Ss]ource|[Mm]athematics|\$|[∫∇Σδφμρ√≥]|=")
PLAIN = {"Exact", "Result", "NumericalFailure", "Refused", "StorageFailure", "Flow", "Solution", "plot", "schedules", "laws"}


def test_cited_sections_exist():
    listed = {int(number) for number in re.findall(r"^(\d)\. ", NOTATION, re.MULTILINE)}
    assert listed == SECTIONS
    missing = []
    for path in [*(ROOT / "src").rglob("*.py"), *pages()]:
        for cited in CITED.finditer(path.read_text("utf-8")):
            low_high = re.findall(r"(\d+)\s*[–-]\s*(\d+)", cited[1])
            numbers = {int(n) for n in re.findall(r"\d+", cited[1])} | {n for a, b in low_high for n in range(int(a), int(b) + 1)}
            if not numbers <= SECTIONS:
                missing.append((path.name, cited[0]))
    assert not missing


def test_the_table_names_only_sections_that_exist():
    rows = [line for line in NOTATION.splitlines() if line.startswith("| $")]
    assert len(rows) > 25
    for row in rows:
        assert {int(n) for n in re.findall(r"\d", row.rstrip(" |").rpartition("|")[2])} <= SECTIONS, row


@pytest.mark.parametrize("public", mckean.__all__)
def test_public_names_are_explained(public):
    text = getattr(mckean, public).__doc__
    assert text, f"{public} has no docstring"
    assert len(text.split()) >= 5
    assert public in PLAIN or SOURCE.search(text), f"{public} has neither a formula nor a source"


@pytest.mark.parametrize("page", pages(), ids=name)
def test_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text("utf-8"))
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    inside = [page.parent / target for target in targets if not re.match(r"[a-z]+:", target)]
    for document in re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", text):
        start = ROOT / "docs" if document.startswith("/") else page.parent
        inside.append(start / f"{document.lstrip('/')}.md")
    assert not [str(path) for path in inside if not path.exists()]
