"""The pages of the documentation and the fenced blocks in them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line that its text begins on."""

    language: str
    text: str
    line: int


def pages() -> list[Path]:
    """README and every page, without what a build leaves."""
    found = [page for page in (ROOT / "docs").rglob("*.md") if not page.relative_to(ROOT / "docs").parts[0].startswith("_")]
    return [ROOT / "README.md", *sorted(found)]


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of these languages, in order."""
    text = page.read_text("utf-8")
    found = [Block(m[1], m[2], text.count("\n", 0, m.start(2)) + 1) for m in FENCE.finditer(text)]
    return [block for block in found if block.language in languages]


def name(page: Path) -> str:
    """The page's path from the root, as a test's name."""
    return str(page.relative_to(ROOT))
