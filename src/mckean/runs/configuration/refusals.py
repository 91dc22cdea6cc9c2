"""A failed validation as sentences: what must hold, what was found, what to write."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "a string",
    "string_unicode": "a string of valid characters",
    "finite_number": "a finite number",
}
_BOUNDS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def sentences(error: ValidationError) -> str:
    """One sentence for each field that was refused."""
    return "\n".join(_sentence(detail) for detail in error.errors(include_url=False))


def _sentence(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    name = ".".join(str(part) for part in detail["loc"])
    found = _shown(detail["input"])
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        bound = context[key]
        must = f"{words} {bound if isinstance(bound, int) else f'{bound:g}'}"
    elif kind in _TYPES:
        must = _TYPES[kind]
    elif kind == "literal_error":
        must = f"one of {str(context['expected']).replace(chr(39), chr(34))}"
    elif kind == "string_too_short":
        must = "a string that is not empty"
    else:
        must = detail["msg"]
    return f"{name} must be {must}; found {found}: change it in the file, or with --set {name}=…."


def _shown(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    return f'"{item}"' if isinstance(item, str) else repr(item)
