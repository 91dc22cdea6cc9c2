"""The page: whole, offline, honest about what is missing, and safe with names from outside."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from mckean.errors import Refused, StorageFailure
from mckean.report import write
from mckean.report.folder import read
from mckean.report.plates import plates
from mckean.report.verdict import verdict
from tests.report.fabricate import run_folder

VOID = {"meta", "link", "input", "br", "img", "hr", "mspace", "path", "use", "rect"}


class Page(HTMLParser):
    """Checks that tags nest, and collects ids, addresses and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
                self.addresses.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text += data


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = run_folder(tmp_path_factory.mktemp("finished"))
    assert write(run) == run / "report.html"
    return run


def page_of(run: Path, **options: bool) -> Page:
    return Page(write(run, **options).read_text(encoding="utf-8"))


def change(path: Path, **entries: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def test_finished_page_is_whole_and_offline(finished: Path) -> None:
    text = (finished / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.ids) == len(set(page.ids)), "an id stands twice"
    inside = {f"#{name}" for name in page.ids}
    assert all(address in inside or address == "data:," for address in page.addresses)
    assert not re.search(r"https?://|@import|url\((?!#)", text)
    assert set(re.findall(r"url\((#[^)]+)\)", text)) <= inside
    assert len(text) < 6_000_000
    sections = re.findall(r'<section id="(\w+)"', text)
    assert sections == ["problem", "checks", "training", "baselines", "tokens", "costate", "heads", "again"]


def test_finished_page_says_what_came_out(finished: Path) -> None:
    page = Page((finished / "report.html").read_text(encoding="utf-8"))
    text = " ".join(page.text.split())
    assert "trusted 600 of 600 training steps were made." in text
    assert "97.3 %" in text
    assert "95 % interval 95.4 to 98.5 %, 438 of 450" in text
    assert "right where the other is wrong 14 times" in text
    assert "this run is better" in text
    assert "each step sees a minibatch of the prompts; the readout is trained" in text
    assert "mckean run digits --set model.heads=64" in text
    assert "Colour is the rank of the first coordinate" in text
    assert "jaxlib0.10.1" in text
    assert "POTnot installed" in text


def test_figures_are_vector_files_with_their_fonts(finished: Path) -> None:
    names = {"risk", "accuracy", "baselines", "confusion", "flow", "costate", "heads", "norms"}
    assert {path.name for path in (finished / "figures").iterdir()} == {f"{n}.{e}" for n in names for e in ("pdf", "svg")}
    for path in (finished / "figures").iterdir():
        content = path.read_bytes()
        assert b"/Subtype /Image" not in content
        assert b"<image" not in content
        if path.suffix == ".pdf":
            assert content.startswith(b"%PDF")
            assert b"/Type3" not in content
            assert b"FontFile2" in content
        else:
            assert b"<text" not in content, "letters must be outlines, to look the same without the font"


def test_same_run_gives_the_same_page(tmp_path: Path) -> None:
    run = run_folder(tmp_path, results=False, status="stopped", lines=5)
    first = write(run).read_bytes()
    figure = (run / "figures" / "risk.pdf").read_bytes()
    assert write(run).read_bytes() == first
    assert (run / "figures" / "risk.pdf").read_bytes() == figure


def test_moving_picture_is_a_choice(finished: Path, tmp_path: Path) -> None:
    text = (finished / "report.html").read_text(encoding="utf-8")
    film = json.loads(text.split('id="moving-data">')[1].split("</script>")[0])
    assert len(film["times"]) == 9
    assert len(film["prompts"]) == 4
    assert 'id="moving-data"' not in write(run_folder(tmp_path, prompts=1), animate=False).read_text()


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    evil = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'
    names = [
        evil,
        "$\\frac{$",
        "a&b",
        "日本",
        "\x07bell",
        '"quoted"',
        "plain",
        "x" * 300,
        "<svg>",
        "{{ 7 * 7 }}",
    ]
    run = run_folder(tmp_path, classes=names, title=f"Title {evil}", prompts=2)
    summary = json.loads((run / "results/summary.json").read_text())
    summary["baselines"][0] |= {"name": evil, "label": evil}
    summary["checks"][0] |= {"name": evil, "what": evil}
    change(run / "results/summary.json", **summary)
    change(run / "manifest.json", command=["mckean", "run", evil], device=evil)
    (run / "config.toml").write_text(f"name = {json.dumps(evil)}\n")
    text = write(run).read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags.count("script") == 2
    assert "img" not in page.tags
    assert "onerror" not in list(page.tags)
    assert evil in page.text
    assert "49" not in re.findall(r"<title>(.*?)</title>", text)[0]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("failed", "The run failed at training step = 212, depth = 0.625, head = 31"),
        ("stopped", "stopped"),
        ("running", "had not ended"),
    ],
)
def test_unfinished_runs_get_an_honest_page(tmp_path: Path, status: str, words: str) -> None:
    run = run_folder(tmp_path, status=status, results=False, lines=12)
    text = " ".join(page_of(run).text.split())
    assert words in text
    assert "This page is partial" in text
    assert "results/summary.json" in text
    assert "✓" not in text
    assert "trusted" not in text
    assert not (run / "figures" / "flow.svg").exists()


def test_a_run_without_one_line_of_metrics(tmp_path: Path) -> None:
    run = run_folder(tmp_path, status="failed", results=False, lines=0)
    assert "partial" in page_of(run).text


def test_failing_check_makes_the_page_untrusted(tmp_path: Path) -> None:
    run = run_folder(tmp_path, trust="UNTRUSTED", prompts=2)
    found = verdict(read(run))
    assert (found.tone, found.word) == ("bad", "UNTRUSTED")
    assert found.sentence == "Do not use these numbers: the self-check hamiltonian fails."


def test_trust_is_not_taken_on_word(tmp_path: Path) -> None:
    run = run_folder(tmp_path, prompts=2)
    summary = json.loads((run / "results/summary.json").read_text())
    summary["checks"][1]["verdict"] = "fails"
    change(run / "results/summary.json", **summary)
    assert verdict(read(run)).word == "UNTRUSTED"


def test_regression_in_one_dimension_with_one_prompt(tmp_path: Path) -> None:
    run = run_folder(tmp_path, regression=True, dim=1, prompts=1)
    page = page_of(run)
    assert not (run / "figures" / "confusion.svg").exists()
    assert not (run / "figures" / "accuracy.svg").exists()
    assert "Each line is the path of one token" in page.text
    assert "held-out accuracy" not in page.text
    assert "Token against depth" in page.text


def test_layered_heads_and_annealed_temperature(tmp_path: Path) -> None:
    run = run_folder(tmp_path, layered=True, annealed=True, prompts=2)
    text = " ".join(plate.caption for plate in plates(read(run)))
    assert "256 heads of 265 parameters" in text
    assert "Colour is the layer" in text
    assert "the temperature β, which was lowered" in text


def test_what_is_not_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="must be a folder"):
        write(tmp_path / "nowhere")
    with pytest.raises(Refused, match=r"not a run folder: it has no manifest\.json and no config\.toml"):
        write(tmp_path)


@pytest.mark.parametrize("name", ["summary.json", "flow.npz", "heads.npz", "costate.npz"])
def test_done_runs_must_be_whole(tmp_path: Path, name: str) -> None:
    run = run_folder(tmp_path, prompts=1)
    (run / "results" / name).unlink()
    with pytest.raises(Refused, match=f"says that it is done, but it lacks results/{name}"):
        write(run)
    assert not (run / "report.html").exists()


@pytest.mark.parametrize("name", ["manifest.json", "results/summary.json", "results/flow.npz", "config.toml"])
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    run = run_folder(tmp_path, prompts=1)
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: len(content) // 2] + b"[")
    with pytest.raises(StorageFailure, match=re.escape(name)):
        write(run)


def test_wrong_entries_and_versions_are_named(tmp_path: Path) -> None:
    run = run_folder(tmp_path, prompts=1)
    change(run / "results/summary.json", trust="perhaps")
    with pytest.raises(Refused, match=r"summary.json is not complete: the entry `trust`"):
        write(run)
    change(run / "results/summary.json", schema_version=9)
    with pytest.raises(Refused, match="must have schema_version 1, but it has 9"):
        write(run)


def test_wrong_shapes_are_named(tmp_path: Path) -> None:
    run = run_folder(tmp_path, prompts=1)
    with np.load(run / "results/flow.npz") as archive:
        arrays = dict(archive)
    np.savez(run / "results/flow.npz", **(arrays | {"times": arrays["times"][1:]}))
    with pytest.raises(Refused, match=r"times \(L\+1,\).*\(8,\)"):
        write(run)


def test_a_full_disk_is_a_storage_failure(tmp_path: Path) -> None:
    run = run_folder(tmp_path, status="stopped", results=False, lines=3)
    (run / "figures").write_text("in the way")
    with pytest.raises(StorageFailure, match=r"risk\.pdf cannot be written"):
        write(run)


def test_no_jax_is_needed() -> None:
    code = "import sys; sys.modules['jax'] = None; import mckean.report.page, mckean.report.plot"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
