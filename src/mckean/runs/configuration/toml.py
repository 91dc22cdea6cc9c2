"""Writing TOML for flat sections of strings, numbers and booleans: all that a configuration is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

Scalar = str | int | float | bool


def value(item: Scalar) -> str:
    """A TOML value that reads back equal, in value and in type; floats keep every digit."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        # JSON's escapes are TOML's, save the delete character, which JSON leaves bare.
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, int):
        return str(item)
    return repr(item)


def document(
    top: Mapping[str, Scalar], sections: Mapping[str, Mapping[str, Scalar]], notes: Mapping[str, Sequence[str]] | None = None
) -> str:
    """The text of a file: the top-level values, then each section, with its notes as comments below."""
    blocks = ["\n".join(f"{name} = {value(item)}" for name, item in top.items())]
    for section, items in sections.items():
        lines = [f"[{section}]", *(f"{name} = {value(item)}" for name, item in items.items())]
        lines += [f"# {note}" for note in (notes or {}).get(section, ())]
        blocks.append("\n".join(lines))
    return "\n\n".join(block for block in blocks if block) + "\n"
