"""The rules of the source tree: imports run one way, the package is lazy, names resolve, cited sections exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import mckean as mk

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "mckean"
SECTIONS = range(1, 9)  # of the mathematics page
HEAVY = ("jax", "equinox", "diffrax", "scipy", "matplotlib", "pydantic")


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)


def test_import_contracts_hold():
    pytest.importorskip("importlinter")
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_importing_the_package_imports_nothing_heavy():
    done = python(f"import sys, mckean; print([m for m in {HEAVY!r} if m in sys.modules])")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_a_name_is_loaded_when_it_is_used():
    done = python("import sys, mckean; mckean.Empirical; print('jax' in sys.modules)")
    assert done.stdout.strip() == "True", done.stderr


def test_every_public_name_resolves_and_is_listed():
    for name in mk.__all__:
        assert getattr(mk, name) is not None
    assert set(mk.__all__) <= set(dir(mk))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mk.nothing


def test_every_public_class_and_function_has_a_docstring():
    for name in mk.__all__:
        assert getattr(mk, name).__doc__, name


def cited(text):
    """The section numbers in `mathematics, section 3`, `sections 2 and 3`, `sections 2–4`."""
    for found in re.finditer(r"[Mm]athematics,\s+sections?\s+((?:\d+(?:\s*(?:,|–|-|and)\s*)?)+)", text):
        yield from (int(number) for number in re.findall(r"\d+", found[1]))


def test_cited_sections_exist():
    found = {path: list(cited(path.read_text())) for path in SOURCE.rglob("*.py")}
    wrong = {str(path): numbers for path, numbers in found.items() if not set(numbers) <= set(SECTIONS)}
    assert wrong == {}
    assert sum(map(len, found.values())) > 20
    assert list(cited("Source: mathematics, sections 2–4; mathematics, section 12, solution 1; mathematics, sections 2 and 3")) == [2, 4, 12, 2, 3]
