"""Every kind of case at a tiny size: what it finds, never how long it took."""

import jax
import pytest

from mckean.bench import catalogue
from mckean.bench.accuracy import exact_at, fine_at, relative
from mckean.bench.cases.against_exact import AgainstExact
from mckean.bench.cases.base import Bench
from mckean.bench.cases.gradient import Gradient
from mckean.bench.cases.many_heads import ManyHeads
from mckean.bench.cases.scaling import Scaling
from mckean.bench.cases.tiles import Tiles
from mckean.bench.cases.training import Step, Training
from mckean.bench.course import measure
from mckean.bench.peers import installed
from mckean.bench.record import Findings, Size
from mckean.bench.setting import Setting
from mckean.bench.text import lines
from mckean.bench.timing import Rule
from mckean.errors import Refused

BENCH = Bench(Rule(rounds=2, least=0.0), 0, installed()[:2])


@pytest.fixture(autouse=True)
def _user_settings():
    """The command does not ask JAX to be strict about ranks."""
    with jax.numpy_rank_promotion("allow"):
        yield


def found_by(kind) -> Findings:
    """The findings of a case that must not fail; its lines can be printed."""
    findings = Findings("case", "about", stated_size=True)
    kind.measure(findings, BENCH)
    assert all(len(row.timing.samples) == 2 and min(row.timing.samples) > 0 for row in findings.rows)
    assert len(list(lines(findings))) >= len(findings.rows) + len(findings.claims)
    return findings


def test_against_exact():
    findings = found_by(AgainstExact(2, 1500, 3, 10.0, 1e-6, ("outlier",), 1e5, wanted=1e-9, beyond=(100, 2000.0)))
    tables = [row for row in findings.rows if row.method.startswith("table")]
    assert [row.size.law for row in tables] == ["outlier", "outlier"]
    assert all(row.error is not None and row.bound is not None and row.error <= row.bound <= 1e-6 for row in tables)
    exact = [row for row in findings.rows if row.method in ("tiles", "plain JAX")]
    assert all(row.part is not None and row.part.factor > 1 and row.ratio is not None for row in exact)
    (claim,) = findings.claims
    assert claim.holds
    assert "worst of 1 laws (outlier)" in claim.what
    assert "method taken is exact: no table reaches" in findings.notes[-1]


def test_where_no_table_is_taken_it_is_said():
    findings = found_by(AgainstExact(2, 100, 1, 2000.0, 1e-6, ("ball",), 1e9))
    assert {row.method for row in findings.rows} == {"tiles", "plain JAX"}
    assert findings.claims == []
    assert findings.notes[0].startswith("ball: no table was taken; no table reaches")


def test_many_heads():
    findings = found_by(ManyHeads(1, 1100, (2, 6), 1.0, 1e-6, 1e5))
    forward = [row for row in findings.rows if row.task == "forward"]
    assert [(row.size.heads, row.method) for row in forward] == [(2, "table"), (2, "tiles"), (6, "table"), (6, "tiles")]
    assert all(row.error is not None and row.error <= 1e-6 for row in forward if row.method == "table")
    two, six = (row.timing.samples for row in forward if row.method == "tiles")
    assert six == pytest.approx([3 * value for value in two])
    assert [claim.unit for claim in findings.claims] == ["×", "s", "s"]


def test_a_fine_table_stands_for_the_exact_sum():
    setting = Setting(Size("spiral", 900, 40, 2, 5.0), seed=3)
    _, right = exact_at(setting, 50)
    some, fine, bound = fine_at(setting, 50)
    assert some.shape == (50,)
    assert relative(fine, right) <= bound <= 1e-7


def test_gradient():
    findings = found_by(Gradient("ball", 1, 300, 2, 5.0, (1e-6,), 1e9))
    errors = [row.error for row in findings.rows if row.task != "forward" and row.method == "table"]
    assert len(errors) == 1
    assert errors[0] <= 1e-4
    assert [claim.at_most for claim in findings.claims] == [3, None]


def test_scaling():
    findings = found_by(Scaling(1, (500, 1500), 2, 5.0, 1e-4, 1e5))
    assert [row.size.tokens for row in findings.rows if row.method == "table"] == [500, 1500]
    assert [claim.what for claim in findings.claims] == ["exponent of time in N, table", "exponent of time in N, tiles"]
    assert findings.claims[0].at_most == 1.05


def test_tiles():
    findings = found_by(Tiles((2, 16), (100,), ("float64", "float32"), 2, 3.0, 1e9))
    assert len(findings.rows) == 2 * 2 * 2 * 2
    errors = {row.size.dtype: row.error for row in findings.rows if row.error is not None}
    assert errors["float64"] <= 1e-12
    assert errors["float32"] <= 1e-4
    assert len(findings.claims) == 2


def test_training_in_a_process_of_its_own():
    findings = found_by(Training(Step(400, 3, 2, 1.0, 1e-3), Step(200, 2, 1, 1.0, None)))
    table, exact = findings.rows
    assert (table.method, exact.method) == ("table", "tiles")
    assert exact.part is not None
    assert exact.part.factor == 4 * 1.5 * 2
    memory = findings.claims[0]
    assert memory.unit == "GiB"
    assert 0.05 < memory.measured.median < 4


def test_a_case_that_fails_keeps_its_rows_and_does_not_lose_the_others():
    class Broken:
        def measure(self, findings, bench):
            findings.notes.append("begun")
            raise MemoryError

    fine = Tiles((2,), (50,), ("float64",), 1, 1.0, 1e9)
    cases = [catalogue.Case("broken", "", Broken(), Broken()), catalogue.Case("fine", "", fine, fine)]
    broken, done = measure(cases, BENCH, stated_size=False)
    assert broken.failure == "MemoryError: no message"
    assert broken.notes == ["begun"]
    assert any("FAILED after 0 rows" in line for line in lines(broken))
    assert done.failure is None
    assert done.rows


def test_a_misspelt_case_gets_the_nearest_right_name():
    with pytest.raises(Refused, match=r'found "d2h4"; did you mean d2-h4\?'):
        catalogue.chosen(["d2h4"])
    with pytest.raises(Refused, match="they are d2-h4, d2-h1"):
        catalogue.chosen(["xyzzy"])
    assert [case.name for case in catalogue.chosen(["far", "d2-h1"])] == ["d2-h1", "far"]
    assert len(catalogue.chosen([])) == len(catalogue.CASES)
