"""From a name or a file and a list of `--set` to a checked configuration; nothing is written here.

Errors name the field, what must hold, what was found, and the nearest right key where one is misspelt.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mckean.errors import Refused
from mckean.runs.configuration import toml
from mckean.runs.configuration.config import SECTIONS, Config, field_names, is_path
from mckean.runs.configuration.refusals import sentences
from mckean.runs.configuration.suggestions import did_you_mean, nearest, with_value, within_section

Raw = dict[str, Any]


def examples() -> tuple[str, ...]:
    """Names of the packaged configurations."""
    folder = resources.files("mckean.runs.examples")
    return tuple(sorted(Path(item.name).stem for item in folder.iterdir() if item.name.endswith(".toml")))


def run_name(source: str) -> str:
    """The name that a run of this example or file carries."""
    return Path(source).stem if _is_file_name(source) else source


def load(source: str = "digits", overrides: Sequence[str] = (), seed: int | None = None) -> Config:
    """The configuration of an example (by name) or of a TOML file, with `section.field=value` applied on top.

    A field of the file that an override makes meaningless (another head kind, say) is dropped; a field that
    was meaningless from the start, or is itself an override, is refused, because it would silently do
    nothing. Raises Refused, before any file is touched.
    """
    text, folder = _read(source)
    raw = _parse(text, source)
    if folder is not None:
        _anchor(raw, folder)
    base = _check(raw, where=source)
    _refuse_unused(base, _explicit(raw), where=source)

    changed = {name: dict(item) if isinstance(item, Mapping) else item for name, item in raw.items()}
    given = [_apply(changed, override) for override in overrides]
    if seed is not None:
        if "seed" in given:
            raise Refused("The seed must be given once; found --seed and --set seed=…: keep one of them.")
        changed["seed"] = seed
    config = _check(changed, where="--set")
    _refuse_unused(config, given, where="--set")
    for name in config.unused():
        section, _, field = name.partition(".")
        changed.get(section, {}).pop(field, None)
    return _check(changed, where="--set")


def from_text(text: str, where: str) -> Config:
    """A configuration that was resolved before, such as a run folder's config.toml."""
    return _check(_parse(text, where), where=where)


def resolved(config: Config) -> str:
    """The TOML text with every field that has a meaning in this run; `from_text` gives back an equal
    configuration.
    """
    return toml.document({"seed": config.seed}, _sections(config))


def shown(config: Config) -> str:
    """`resolved`, with the keys that are left out in comments: what unset means, or why they mean nothing here."""
    unused, sections = config.unused(), _sections(config)
    notes: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for name in field_names():
        section, _, field = name.rpartition(".")
        if section and field not in sections[section]:
            meaning = type(getattr(config, section)).model_fields[field].description
            notes[section].append(
                f"{field}: not used here, since {unused[name]}." if name in unused else f"{field}: unset. {meaning}"
            )
    return toml.document({"seed": config.seed}, sections, notes)


def _sections(config: Config) -> dict[str, dict[str, toml.Scalar]]:
    unused = config.unused()
    sections: dict[str, dict[str, toml.Scalar]] = {}
    for section in SECTIONS:
        items: dict[str, toml.Scalar | None] = getattr(config, section).model_dump()
        sections[section] = {name: item for name, item in items.items() if item is not None and f"{section}.{name}" not in unused}
    return sections


def anchored(config: Config) -> Config:
    """The same configuration with a data file named by its absolute path, so that it resumes from anywhere."""
    if not is_path(config.data.name):
        return config
    name = str(Path(config.data.name).expanduser().absolute())
    return config.model_copy(update={"data": config.data.model_copy(update={"name": name})})


def digest(config: Config) -> str:
    """A hash of everything that the resolved configuration says."""
    return hashlib.sha256(resolved(config).encode()).hexdigest()


def _is_file_name(source: str) -> bool:
    return "/" in source or "\\" in source or Path(source).suffix != ""


def _read(source: str) -> tuple[str, Path | None]:
    if not _is_file_name(source):
        if source in examples():
            return resources.files("mckean.runs.examples").joinpath(f"{source}.toml").read_text("utf-8"), None
        raise Refused(
            f"The configuration must be a packaged example ({', '.join(examples())}) or a TOML file; "
            f'found "{source}"{did_you_mean(source, examples())}'
        )
    path = Path(source).expanduser()
    if path.suffix.lower() in (".npz", ".safetensors"):
        raise Refused(
            f'The configuration must be a TOML file; found the data file "{source}": '
            f'write a TOML file with the section [data] and the line name = "{source}", and run that.'
        )
    try:
        return path.read_bytes().decode("utf-8"), path.absolute().parent
    except FileNotFoundError:
        near = did_you_mean(path.stem, examples())
        raise Refused(f'The configuration file "{source}" does not exist{near}') from None
    except UnicodeDecodeError:
        raise Refused(f'The configuration file "{source}" must be UTF-8 text; it is not.') from None
    except OSError as error:
        raise Refused(f'The configuration file "{source}" cannot be read: {error.strerror}.') from None


def _parse(text: str, where: str) -> Raw:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(f'The configuration "{where}" must be TOML; it is not: {error}.') from None


def _anchor(raw: Raw, folder: Path) -> None:
    """A relative data path in a file is relative to that file."""
    data = raw.get("data")
    if isinstance(data, dict) and isinstance(data.get("name"), str) and is_path(data["name"]):
        data["name"] = str(folder / Path(data["name"]).expanduser())


def _check(raw: Raw, where: str) -> Config:
    _refuse_unknown(raw, where)
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        raise Refused(sentences(error)) from None


def _explicit(raw: Raw) -> list[str]:
    names: list[str] = []
    for name, item in raw.items():
        names += [f"{name}.{field}" for field in item] if isinstance(item, Mapping) else [name]
    return names


def _refuse_unknown(raw: Raw, where: str) -> None:
    known = field_names()
    for name, item in raw.items():
        if name in SECTIONS:
            if not isinstance(item, Mapping):
                raise Refused(f"{where}: [{name}] must be a section; found {name} = {item!r}.")
            for field in item:
                if f"{name}.{field}" not in known:
                    raise Refused(f"{where}: there is no key {name}.{field}{nearest(f'{name}.{field}')}")
        elif name != "seed":
            what = f"section [{name}]" if isinstance(item, Mapping) else f"key {name}"
            near = did_you_mean(name, SECTIONS) if isinstance(item, Mapping) else nearest(name)
            raise Refused(f"{where}: there is no {what}{near}")


def _refuse_unused(config: Config, given: Sequence[str], where: str) -> None:
    reasons = config.unused()
    for name in given:
        if name in reasons:
            raise Refused(f"{where}: {name} would do nothing, since {reasons[name]}: remove one of the two.")


def _apply(raw: Raw, override: str) -> str:
    """Set one `section.field=value` in place; the name that was set."""
    name, equals, text = override.partition("=")
    name, text = name.strip(), text.strip()
    if not name:
        raise Refused(f'--set must be section.field=value; found "{override}": write --set training.step_size=1e-2.')
    if name in SECTIONS:
        raise Refused(f"--set: {name} is a section{within_section(name)}")
    if name not in field_names():
        raise Refused(f"--set: there is no key {name}{nearest(name)}")
    if not equals:
        raise Refused(f'--set must be section.field=value; found "{override}" without a value: write --set {with_value(name)}.')
    section, _, field = name.rpartition(".")
    table = raw.setdefault(section, {}) if section else raw
    if text == "none":
        table.pop(field, None)
    else:
        table[field] = _scalar(text)
    return name


def _scalar(text: str) -> Any:
    """A TOML value; what is not one is taken as a bare string."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if set(parsed) == {"value"} else text
