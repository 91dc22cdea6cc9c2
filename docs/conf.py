"""Sphinx configuration: MyST pages, formulas in docstrings, and the configuration table made from the code."""

import re
from pathlib import Path

from mckean import __version__
from mckean.runs.configuration.config import SECTIONS, Config

HERE = Path(__file__).parent

project = "mckean"
author = "The mckean developers"
project_copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["_build", "_generated", "measured"]  # the last two are included by pages
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing_anchor"]

html_theme = "furo"
html_title = f"mckean {release}"

default_role = "code"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"
napoleon_use_ivar = True
napoleon_use_param = True
napoleon_custom_sections = [("Gives", "returns_style")]


def configuration_tables() -> str:
    """One table a section of the configuration: key, default, meaning, from the fields themselves."""
    lines = ["| key | default | meaning |", "|---|---|---|", _row("seed", Config.model_fields["seed"]), ""]
    for section in SECTIONS:
        kind = Config.model_fields[section].annotation
        lines += [f"## `[{section}]`", "", kind.__doc__.strip().splitlines()[0], ""]
        lines += ["| key | default | meaning |", "|---|---|---|"]
        lines += [_row(name, field) for name, field in kind.model_fields.items()]
        lines.append("")
    return "\n".join(lines)


def _row(name, field) -> str:
    default = "unset" if field.default is None else f"`{_toml(field.default)}`"
    choices = re.findall(r"'([^']+)'", str(field.annotation)) if "Literal" in str(field.annotation) else []
    meaning = field.description + (f" One of {', '.join(f'`{choice}`' for choice in choices)}." if choices else "")
    return f"| `{name}` | {default} | {meaning.replace('|', chr(92) + '|')} |"


def _toml(value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def write_generated(*_) -> None:
    """Write what pages include; only where it changed, so that builds stay incremental."""
    target = HERE / "_generated" / "configuration.md"
    text = configuration_tables()
    if not target.exists() or target.read_text("utf-8") != text:
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, "utf-8")


CODE_OR_MATH = re.compile(r"(``[^`]+``|`[^`]+`|\$[^$]+\$)")


def to_rst(app, what, name, obj, options, lines: list[str]) -> None:
    """Docstrings are plain text with `code`, $formulas$ and indented displays; make reStructuredText of them."""
    text = _one_argument_a_line(_joined_math("\n".join(lines))).split("\n")
    section, result = False, []
    for line in text:
        stripped, indent = line.strip(), len(line) - len(line.lstrip())
        previous = next((earlier for earlier in reversed(result) if earlier.strip()), "")
        if indent == 0 and stripped:
            section = bool(re.fullmatch(r"(Arguments|Attributes|Raises|Parameters|Gives):", stripped))
        display = indent >= 4 and not section and bool(result) and not result[-1].strip() and not previous.startswith("    ")
        if display and previous.strip() != "::":
            result += ["::", ""]
        literal = indent >= 4 and not section
        result.append(line if literal or stripped.startswith((">>>", "...")) else _escaped(line))
    lines[:] = result


def _joined_math(text: str) -> str:
    """Bring a formula that runs over a line break onto one line."""
    return re.sub(r"\$([^$]+)\$", lambda match: "$" + " ".join(match[1].split()) + "$", text)


def _one_argument_a_line(text: str) -> str:
    """Short arguments share a line, parted by two spaces; and `T.` alone would be a list item numbered T."""
    parted = re.sub(r"(?<=\.)  (?=\w+(?:, \w+)*: )", "\n    ", text)
    return re.sub(r"^(    \w+: \w)\.$", r"\1", parted, flags=re.MULTILINE)


def _escaped(line: str) -> str:
    pieces = CODE_OR_MATH.split(line)
    for place, piece in enumerate(pieces):
        if piece.startswith("$"):
            pieces[place] = f":math:`{piece[1:-1]}`"
        elif piece.startswith("`") and not piece.startswith("``"):
            pieces[place] = f"`{piece}`"
        elif not piece.startswith("`"):
            pieces[place] = re.sub(r"(?<=\w)_(?=[\s.,;:)\]]|$)", r"\\_", re.sub(r"([|*\\])", r"\\\1", piece))
    for place in range(1, len(pieces), 2):
        # Markup that touches a letter needs an escaped space on that side.
        if pieces[place - 1][-1:].isalnum():
            pieces[place - 1] += "\\ "
        if re.match(r"[\w(]", pieces[place + 1]):
            pieces[place + 1] = "\\ " + pieces[place + 1]
    return "".join(pieces)


def setup(app) -> None:
    app.connect("builder-inited", write_generated)
    app.connect("autodoc-process-docstring", to_rst, priority=400)
