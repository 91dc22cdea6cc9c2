"""Parts of a sum, the exponent of a power law, and memory."""

import numpy as np
import pytest

from mckean.bench import memory
from mckean.bench.fit import exponent
from mckean.bench.record import Size
from mckean.bench.sampling import part_of


@pytest.mark.parametrize(
    ("tokens", "heads", "pairs", "expected"),
    [
        (800, 16, 1e3, (800, 16)),
        (4096, 2, 1e9, (4096, 2)),
        (65_536, 4, 2.7e8, (1024, 4)),
        (65_536, 16, 2.7e8, (1024, 4)),
        (65_536, 1, 2.7e8, (4096, 1)),
        (10**6, 1, 1e6, (1024, 1)),
    ],
)
def test_a_part_has_whole_blocks_of_queries_and_scales_linearly(tokens, heads, pairs, expected):
    part = part_of(Size("ball", tokens, heads, 2, 1.0), pairs)
    assert (part.queries, part.heads) == expected
    assert part.factor == pytest.approx(tokens / part.queries * heads / part.heads, rel=1e-12)
    assert part.whole == (part.queries == tokens and part.heads == heads)


def test_the_exponent_of_a_power_law_is_found_with_an_interval_that_holds_it():
    sizes = np.array([2.0**k for k in range(14, 21)])
    exact = exponent(sizes, 3e-8 * sizes**1.25)
    assert exact.median == pytest.approx(1.25, abs=1e-12)
    assert exact.high - exact.low <= 1e-6
    noise = np.random.default_rng(0).normal(size=(200, 7))
    found = [exponent(sizes, sizes * np.exp(0.1 * e)) for e in noise]
    held = np.mean([one.low <= 1.0 <= one.high for one in found])
    assert 0.9 <= held <= 0.99
    assert exponent(sizes[:2], sizes[:2]).high == float("inf")


def test_the_peak_of_memory_only_grows():
    before = memory.peak()
    block = np.ones(8_000_000)
    assert memory.peak() >= before + 32_000_000
    assert block.size
