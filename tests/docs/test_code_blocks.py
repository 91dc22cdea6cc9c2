"""Every Python block of the pages runs, and every printed output is what a reader gets."""

import doctest
import importlib
import pkgutil
import re
import shlex
import warnings

import jax
import matplotlib as mpl
import pytest

import mckean
from mckean.cli.entry import run

from .blocks import blocks, name, pages

mpl.use("Agg")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# What a console block may run here: commands that compute nothing, and commands that are refused.
CHEAP = ("--version", "cite", "list", "show-config")
PYTHON = [page for page in pages() if blocks(page, "python")]
CONSOLE = [page for page in pages() if blocks(page, "console")]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _reader_settings():
    """A reader has not asked JAX to be strict about dtypes and ranks."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def check(text: str, namespace: dict, title: str, line: int) -> None:
    """Run the `>>>` examples of a text; the first difference fails with its diff."""
    test = doctest.DocTestParser().get_doctest(text, namespace, title, title, line)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.append, clear_globs=False)
    assert not report, "".join(report)
    namespace.update(test.globs)


@pytest.mark.parametrize("page", PYTHON, ids=name)
def test_python_blocks_run(page):
    namespace: dict = {"__name__": "page"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks(page, "python"):
            if block.text.lstrip().startswith(">>>"):
                check(block.text, namespace, name(page), block.line)
            else:
                exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), namespace)


@pytest.mark.parametrize("page", CONSOLE, ids=name)
def test_console_blocks_print_what_they_show(page, capsys):
    for block in blocks(page, "console"):
        for command, shown in transcript(block.text):
            words = shlex.split(command, comments=True)
            if words[0] != "mckean" or not (words[1] in CHEAP or "mckean: " in shown):
                continue
            run(words[1:])
            captured = capsys.readouterr()
            assert fits(shown, captured.out + captured.err), f"{command}\n{captured.out}{captured.err}"


def transcript(text: str) -> list[tuple[str, str]]:
    """The commands of a block, each with the output that is shown."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def fits(shown: str, got: str) -> bool:
    """Whether the output is the one shown, where a line `…` stands for any lines."""
    pattern = "".join("(?:.*\n)*?" if line == "…" else re.escape(line) + "\n" for line in shown.splitlines())
    return re.fullmatch(pattern, got) is not None


def modules_with_examples() -> list[str]:
    """Modules whose source has a `>>>`."""
    found = []
    for module in pkgutil.walk_packages(mckean.__path__, "mckean."):
        spec = module.module_finder.find_spec(module.name, None)
        if spec and spec.origin and not module.name.endswith("__main__"):
            with open(spec.origin, encoding="utf-8") as source:
                if ">>> " in source.read():
                    found.append(module.name)
    return found


@pytest.mark.parametrize("module", modules_with_examples())
def test_docstring_examples(module):
    for test in doctest.DocTestFinder().find(importlib.import_module(module)):
        if test.examples:
            report: list[str] = []
            runner = doctest.DocTestRunner(optionflags=FLAGS)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                runner.run(test, out=report.append)
            assert not report, "".join(report)


def test_the_promised_docstrings_have_examples():
    promised = ("Empirical", "velocity", "transport", "Softmax", "Problem", "functional_gradient", "solve", "gaussian_transport", "Readout")
    assert not [one for one in promised if ">>> " not in (getattr(mckean, one).__doc__ or "")]


def test_a_wrong_output_is_caught():
    with pytest.raises(AssertionError):
        check(">>> 1 + 1\n3\n", {}, "wrong", 1)
    assert not fits("mckean 0.1.0\n", "mckean 0.2.0\n")
    assert fits("a\n…\nd\n", "a\nb\nc\nd\n")
