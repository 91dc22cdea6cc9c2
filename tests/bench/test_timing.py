"""The rules of measurement, with calls that count themselves instead of a clock."""

import pytest

from mckean.bench.record import Claim, Findings, Part, Row, Size, Spread, Timing
from mckean.bench.timing import Competitor, Rule, in_turns


def test_competitors_take_turns_after_their_first_calls():
    order = []
    two = [Competitor(name, lambda name=name: order.append(name)) for name in "ab"]
    timings = in_turns(two, Rule(rounds=3, least=0.0), [])
    assert "".join(order) == "ab" + "ab" + "ababab"
    assert {len(timing.samples) for timing in timings.values()} == {3}


def test_a_part_is_scaled_up():
    whole = Competitor("a", lambda: None)
    part = Competitor("a", lambda: None, Part(1, 1, 1e9))
    assert (whole.factor, part.factor) == (1.0, 1e9)
    assert in_turns([part], Rule(1, 0.0), [])["a"].samples[0] > 1.0  # any call takes more than a nanosecond


def test_one_that_is_not_needed_is_left_out_with_a_note():
    def broken():
        raise OSError("no compiler\nsecond line")

    notes = []
    able = Competitor("able", lambda: None)
    timings = in_turns([able, Competitor("KeOps", broken, needed=False)], Rule(1, 0.0), notes)
    assert list(timings) == ["able"]
    assert notes == ["KeOps is left out: OSError: no compiler"]
    with pytest.raises(OSError, match="no compiler"):
        in_turns([Competitor("table", broken)], Rule(1, 0.0), notes)


def test_ratios_are_taken_round_by_round():
    slow, quick = Timing((2.0, 9.0, 4.0), 1.0), Timing((1.0, 3.0, 1.0), 1.0)
    assert slow.over(quick) == Spread(3.0, 2.0, 4.0)
    assert slow.spread == Spread(4.0, 2.0, 9.0)


def test_a_claim_holds_by_its_median():
    assert Claim("x", Spread(10, 1, 20), at_least=10).holds is True
    assert Claim("x", Spread(10, 1, 20), at_most=9).holds is False
    assert Claim("x", Spread(10, 1, 20)).holds is None


def test_limits_belong_to_the_stated_size():
    for stated in (True, False):
        findings = Findings("a", "b", stated)
        findings.claim("x", Spread(1, 1, 1), at_least=2)
        assert findings.claims[0].holds is (False if stated else None)


def test_numbers_that_json_lacks_become_null():
    findings = Findings("a", "b", True)
    findings.claim("slope", Spread(1.0, float("-inf"), float("inf")), unit="")
    row = Row(Size("ball", 8, 1, 2, 1.0), "forward", "table", Timing((1.0, 3.0), 9.0), ratio=Spread(1, 1, 1))
    findings.rows.append(row)
    plain = findings.as_json()
    assert plain["claims"][0]["measured"] == {"median": 1.0, "low": None, "high": None}
    assert plain["rows"][0]["seconds"] == {"median": 2.0, "low": 1.0, "high": 3.0}
    assert plain["rows"][0]["first_call"] == 9.0
