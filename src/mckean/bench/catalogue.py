"""The cases by name, each at its stated size and at a small one that takes seconds."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from mckean.bench.cases.against_exact import AgainstExact
from mckean.bench.cases.base import Kind
from mckean.bench.cases.choice import Choice
from mckean.bench.cases.gradient import Gradient
from mckean.bench.cases.many_heads import ManyHeads
from mckean.bench.cases.scaling import Scaling
from mckean.bench.cases.tiles import Tiles
from mckean.bench.cases.training import Step, Training
from mckean.bench.laws import LAWS
from mckean.errors import Refused

THREE = ("ball", "clusters", "outlier")
PAIRS, FEW = (
    2.7e8,
    1.7e7,
)  # (query, key, head) triples that are timed of an exact sum: some tenths of a second, and some hundredths

NEAR_CROSSOVERS = (  # (d, N, H, |A|R²)
    (1, 1024, 4, 10.0),
    (1, 4096, 1, 100.0),
    (2, 1024, 16, 1.0),
    (2, 2048, 4, 10.0),
    (2, 4096, 4, 10.0),
    (2, 4096, 4, 50.0),
    (2, 8192, 4, 50.0),
    (2, 8192, 4, 100.0),
    (2, 16_384, 1, 50.0),
    (3, 4096, 4, 1.0),
    (3, 8192, 4, 5.0),
    (3, 16_384, 2, 5.0),
)


@dataclass(frozen=True)
class Case:
    """about: the stated size in words.  stated, small: what `--full` measures, and what it is without."""

    name: str
    about: str
    stated: Kind
    small: Kind


CASES: tuple[Case, ...] = (
    Case(
        "d2-h4",
        "d=2 N=65,536 H=4 |A|R²=50 rtol 1e-6, eight laws",
        AgainstExact(2, 65_536, 4, 50.0, 1e-6, LAWS, PAIRS, wanted=100),
        AgainstExact(2, 16_384, 4, 50.0, 1e-6, ("ball", "clusters"), FEW),
    ),
    Case(
        "d2-h1",
        "d=2 N=65,536 H=1 |A|R²=10 rtol 1e-6",
        AgainstExact(2, 65_536, 1, 10.0, 1e-6, THREE, PAIRS, wanted=60),
        AgainstExact(2, 16_384, 1, 10.0, 1e-6, ("ball",), FEW),
    ),
    Case(
        "d2-h16",
        "d=2 N=65,536 H=16 |A|R²=10 rtol 1e-6",
        AgainstExact(2, 65_536, 16, 10.0, 1e-6, THREE, PAIRS, wanted=300),
        AgainstExact(2, 16_384, 16, 10.0, 1e-6, ("ball",), FEW),
    ),
    Case(
        "d1-million",
        "d=1 N=1,000,000 H=1 |A|R²=100 rtol 1e-10",
        AgainstExact(1, 1_000_000, 1, 100.0, 1e-10, ("ball",), PAIRS, wanted=2000),
        AgainstExact(1, 16_384, 1, 100.0, 1e-10, ("ball",), FEW),
    ),
    Case(
        "d3-h16",
        "d=3 N=262,144 H=16 |A|R²=5 rtol 1e-5",
        AgainstExact(3, 262_144, 16, 5.0, 1e-5, ("ball",), PAIRS, wanted=200),
        AgainstExact(3, 16_384, 4, 5.0, 1e-5, ("ball",), FEW),
    ),
    Case(
        "many-heads",
        "d=2 N=1,048,576 H=16 to 10,000 |A|R²=1 rtol 1e-6",
        ManyHeads(2, 2**20, (16, 128, 1024, 10_000), 1.0, 1e-6, PAIRS),
        ManyHeads(2, 2**15, (16, 1024), 1.0, 1e-6, FEW),
    ),
    Case(
        "far",
        "d=2 N=65,536 H=4 |A|R²=300 rtol 1e-6, and beyond the table's reach",
        AgainstExact(2, 65_536, 4, 300.0, 1e-6, ("ball",), PAIRS, wanted=10, beyond=(4096, 2000.0)),
        AgainstExact(2, 16_384, 4, 100.0, 1e-6, ("ball",), FEW, beyond=(1024, 2000.0)),
    ),
    Case(
        "gradient",
        "d=2 N=65,536 H=4 |A|R²=50, plans to 1e-6 and 1e-8",
        Gradient("ball", 2, 65_536, 4, 50.0, (1e-6, 1e-8), PAIRS),
        Gradient("ball", 2, 16_384, 4, 20.0, (1e-6,), FEW),
    ),
    Case(
        "scaling",
        "d=2 N=16,384 to 1,048,576 H=4 |A|R²=50 rtol 1e-6",
        Scaling(2, tuple(2**k for k in range(14, 21)), 4, 50.0, 1e-6, PAIRS / 2),
        Scaling(2, tuple(2**k for k in range(14, 18)), 4, 20.0, 1e-6, FEW),
    ),
    Case(
        "tiles",
        "exact tiles against the exact peers: d=2, 8, 64, N=1,024 to 16,384, H=4 |A|R²=10, both dtypes",
        Tiles((2, 8, 64), (1024, 4096, 16_384), ("float64", "float32"), 4, 10.0, FEW),
        Tiles((2, 64), (1024,), ("float64", "float32"), 2, 10.0, FEW),
    ),
    Case(
        "choice",
        "method=None beside exact and table: d=1, 2, 3, N=1,024 to 16,384, H=1 to 16, |A|R²=1 to 100",
        Choice(NEAR_CROSSOVERS),
        Choice(((2, 1024, 4, 10.0), (2, 4096, 4, 10.0))),
    ),
    Case(
        "training",
        "one training step: d=2 N=65,536 H=1,024 L=16 (Euler) |A|R²=1, rtol 1e-6",
        Training(Step(65_536, 1024, 16, 1.0, 1e-6), Step(4096, 8, 2, 1.0, None)),
        Training(Step(8192, 64, 4, 1.0, 1e-6), Step(2048, 4, 1, 1.0, None)),
    ),
)


def chosen(names: Sequence[str]) -> list[Case]:
    """The cases of these names in the order of the catalogue; all for no name. Raises `Refused` for a name that is none."""
    known = [case.name for case in CASES]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"they are {', '.join(known)}."
            raise Refused(f'A case must be one of those that `mckean bench` knows; found "{name}"; {hint}')
    return [case for case in CASES if not names or case.name in names]
