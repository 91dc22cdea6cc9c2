"""The nearest right key or name for one that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from mckean.runs.configuration import toml
from mckean.runs.configuration.config import SECTIONS, Config, field_names

# What other programs call the same thing.
_ALIASES = {
    "data.name": ("path", "file", "filename", "dataset", "source"),
    "model.dim": ("d", "d_model", "width"),
    "model.heads": ("h", "n_heads", "num_heads"),
    "model.horizon": ("t", "time"),
    "model.precision": ("dtype",),
    "model.scheme": ("solver", "integrator", "method"),
    "model.steps": ("l", "n_layers", "num_layers"),
    "training.confinement": ("lambda", "weight_decay", "l2"),
    "training.dynamics": ("optimizer", "optimiser"),
    "training.step_size": ("lr", "learning_rate"),
    "training.steps": ("epochs", "iterations"),
    "training.temperature": ("beta", "noise"),
    "training.batch": ("batch_size", "minibatch"),
    "output.dir": ("out", "folder"),
}


def nearest(name: str) -> str:
    """`; did you mean training.step_size?`: by the last word in any section, by a near one of the same section, by another's name for it,
    by a near dotted name, by a near word anywhere.
    """
    known = field_names()
    section, _, last = name.rpartition(".")
    meant = _section_meant(section)
    if meant is not None and f"{meant}.{last}" not in known:
        # A section that is misspelt says where the key is looked for: its own keys before those of others.
        return nearest(f"{meant}.{last}").replace("; mckean", f"; did you mean the section [{meant}]? mckean")
    exact = [key for key in known if _word(key) == last]
    if exact:
        same = difflib.get_close_matches(section, [key.rpartition(".")[0] for key in exact], n=1, cutoff=0.6)
        return _ask([key for key in exact if key.rpartition(".")[0] in same] or exact)
    own = [_word(key) for key in known if key.rpartition(".")[0] == section]
    within = difflib.get_close_matches(last, own, n=1, cutoff=0.7)
    if within:
        return _ask([f"{section}.{within[0]}".lstrip(".")])
    called = [key for key, others in _ALIASES.items() if last.lower() in others]
    if called:
        return _ask(called)
    # Under a right section most of the letters agree whatever the key.
    whole = [] if section in SECTIONS else difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    if whole:
        return _ask(whole)
    words = difflib.get_close_matches(last, [_word(key) for key in known], n=1, cutoff=0.6)
    if words:
        return _ask([key for key in known if _word(key) == words[0]])
    return "; mckean show-config lists the keys."


def _section_meant(section: str) -> str | None:
    """The section that a misspelt one is near to."""
    if not section or section in SECTIONS:
        return None
    near = difflib.get_close_matches(section, SECTIONS, n=1, cutoff=0.6)
    return near[0] if near else None


def with_value(name: str) -> str:
    """`training.steps=300`: a field with its default, or `data.limit=…` where that is unset."""
    section, _, field = name.rpartition(".")
    default = getattr(getattr(Config(), section), field) if section else getattr(Config(), field)
    return f"{name}={'…' if default in (None, '') else toml.value(default)}"


def within_section(section: str) -> str:
    """`; name one of its keys: model.head, model.heads, …`"""
    return f"; name one of its keys: {', '.join(key for key in field_names() if key.startswith(f'{section}.'))}."


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """The nearest of some names, or the end of the sentence."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else "."


def _word(key: str) -> str:
    return key.rpartition(".")[2]


def _ask(keys: Sequence[str]) -> str:
    return f"; did you mean {' or '.join(keys)}?"
