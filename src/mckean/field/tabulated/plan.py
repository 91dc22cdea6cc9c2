r"""The plan of a table: how many cells, how many nodes, and the error that follows from these numbers alone.

With exponents |u_a y_a| ≤ β_a on axis a, key cells of L_y = β_a/K_a and boxes in u of L_u = β_a/U_a, each token's weight e^{u·y} is multiplied by
1 + ε with

    |ε| ≤ η = e_u + κ_u e_y,   e_y = Π_a (1 + e(p_y, L_y)) − 1 (likewise e_u),   κ = Π_a κ(p, L),

whatever the tokens and their masses are (`bounds`). The answer is then a mean of the same tokens under positive weights that are off by
1 + ε: |m̃ − m| ≤ η/(1 − η) · E|y − m|. Rounding adds ρ times the box. The plan of least modelled time is taken.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from mckean.field.tabulated import bounds
from mckean.field.tabulated.costs import Costs

KEY_NODES = range(2, 13)
BOX_NODES = range(2, 15)
GRID_NODES = (*range(4, 17), 18, 20, 22, 24, 28, 32)
LARGEST_TABLE = 2**26  # numbers; 512 MiB in float64


@dataclass(frozen=True)
class Reach:
    """What the tokens and heads of a cloud ask of a table.

    exponents: β_a = max|u_a − ū_a| · max|z_a − z̄_a| on each axis of the keys.
    queries: the same for the grid in x, max_h |⟨A_h e_a, y − ȳ⟩| times the half width of the queries' box on axis a; empty without one.
    total: the largest exponent that meets the exponential, Σ_a (2 β_a + |ū_a| R_a): its rounding grows with it.
    fall: how far below its shift a sum of exponentials can lie; the total where that isn't known.
    """

    exponents: tuple[float, ...]
    queries: tuple[float, ...]
    total: float
    fall: float | None = None

    @property
    def depth(self) -> float:
        """The fall, known or bounded."""
        return self.total if self.fall is None else self.fall

    def widened(self, factor: float) -> "Reach":
        """Room for the tokens to spread."""
        grow = lambda values: tuple(factor * v for v in values)  # noqa: E731
        return Reach(grow(self.exponents), grow(self.queries), factor * self.total, None if self.fall is None else factor * self.fall)

    def rounded(self) -> "Reach":
        """Raised to the next of steps of 20 %: a reach that changes little keeps its plan, and its compiled program."""
        return Reach(tuple(map(_up, self.exponents)), tuple(map(_up, self.queries)), _up(self.total), None if self.fall is None else _up(self.fall))

    def join(self, other: "Reach") -> "Reach":
        """What serves both."""
        both = lambda a, b: tuple(map(max, a, b))  # noqa: E731
        return Reach(
            both(self.exponents, other.exponents),
            both(self.queries, other.queries),
            max(self.total, other.total),
            None if self.fall is None and other.fall is None else max(self.depth, other.depth),
        )


@dataclass(frozen=True)
class Work:
    """The size of one evaluation: n keys, m queries, heads, key axes k, token coordinates d, and whether each head has its own table."""

    keys: int
    queries: int
    heads: int
    axes: int
    dim: int
    own_tables: bool
    bits: int

    @property
    def charges(self) -> int:
        """Numbers a node holds: the mass and d moments."""
        return self.dim + 1


@dataclass(frozen=True)
class Lattice:
    """Cells a axis with p Chebyshev nodes each, for exponents up to `length` a half cell."""

    cells: tuple[int, ...]
    p: int
    length: float

    @property
    def count(self) -> int:
        """All cells."""
        return math.prod(self.cells)

    @property
    def nodes(self) -> int:
        """All nodes."""
        return math.prod(cells * self.p for cells in self.cells)


@dataclass(frozen=True)
class Plan:
    """Cells of the keys, boxes in u, the grid in x (or None), and the relative errors η, ρ, and that of the grid."""

    keys: Lattice
    boxes: Lattice
    grid: Lattice | None
    own_tables: bool
    eta: float
    rounding: float
    grid_error: float
    seconds: float

    @property
    def error(self) -> float:
        """The bound in units of Σ_h mass_h |V_h| · max|y − ȳ|."""
        return 2 * self.eta / (1 - self.eta) + 2 * self.rounding + self.grid_error


def _up(value: float) -> float:
    return 1.2 ** math.ceil(math.log(value, 1.2)) if value > 0 else 0.0


def largest_fall(bits: int) -> float:
    """Beyond it a sum of exponentials, as far below its shift, can underflow."""
    return 600.0 if bits == 64 else 60.0


def _bucket(count: int) -> int:
    """Few different sizes, so that few programs are compiled: 1 … 8, then steps of about 15 %."""
    size = 1
    while size < count:
        size = max(size + 1, int(size * 1.15))
    return size


def _cells(reach: tuple[float, ...], length: float) -> tuple[int, ...]:
    return tuple(_bucket(math.ceil(max(beta, 1e-300) / length * (1 - 1e-12))) for beta in reach)


@lru_cache(maxsize=256)
def best(reach: Reach, work: Work, tolerance: float, costs: Costs) -> Plan | None:
    """The fastest plan whose error is below the tolerance, or None where there is none."""
    if reach.depth > largest_fall(work.bits) or not tolerance > 0:
        return None
    plans = [
        plan for table in _tables(reach, work, tolerance, costs) for plan in _with_grids(table, reach, work, tolerance, costs)
    ]
    return min(plans, key=lambda plan: plan.seconds, default=None)


def _tables(reach: Reach, work: Work, tolerance: float, costs: Costs) -> Iterator[Plan]:
    k, eps = work.axes, 2.0**-52 if work.bits == 64 else 2.0**-23
    share = 0.9 * min(tolerance, 0.3) / (4 * k)  # η is doubled in the bound, and u and y share it evenly
    for p_u in BOX_NODES:
        length_u = bounds.longest(p_u, share, "error")
        if length_u == 0.0:
            continue
        boxes = Lattice(_cells(reach.exponents, length_u), p_u, length_u)
        kappa_u = bounds.amplification(p_u, length_u) ** k
        found: list[Plan] = []
        for p_y in KEY_NODES:
            length_y = bounds.longest(p_y, float(f"{share / kappa_u:.2e}"), "error")
            if length_y == 0.0:
                continue
            keys = Lattice(_cells(reach.exponents, length_y), p_y, length_y)
            if max(keys.nodes, boxes.nodes) * work.charges > LARGEST_TABLE:
                continue
            e_u = (1 + bounds.error(p_u, length_u)) ** k - 1
            e_y = (1 + bounds.error(p_y, length_y)) ** k - 1
            kappa_y = bounds.amplification(p_y, length_y) ** k
            rounding = (8 + _up(reach.total)) * eps * kappa_u * kappa_y
            plan = Plan(keys, boxes, None, work.own_tables, e_u + kappa_u * e_y, rounding, 0.0, 0.0)
            if plan.eta < 0.5 and plan.error <= tolerance:
                seconds = costs.table(keys, boxes, work)
                found.append(Plan(keys, boxes, None, work.own_tables, plan.eta, rounding, 0.0, seconds))
        # What is looked up, and how often, depends on p_u alone: of the others the fastest table to build.
        yield from sorted(found, key=lambda plan: plan.seconds)[:1]


def _with_grids(table: Plan, reach: Reach, work: Work, tolerance: float, costs: Costs) -> Iterator[Plan]:
    look_up = costs.look_up(table.boxes, work, work.queries)
    yield Plan(table.keys, table.boxes, None, table.own_tables, table.eta, table.rounding, 0.0, table.seconds + look_up)
    if not reach.queries:
        return
    left = tolerance - table.error
    d = work.dim
    for p in GRID_NODES:
        lebesgue = bounds.amplification(p, 0.0)
        weights = sum(lebesgue**a for a in range(d))
        length = bounds.longest(p, float(f"{left / weights:.1e}"), "strip") if left > 0 else 0.0
        if length == 0.0:
            continue
        grid = Lattice(_cells(reach.queries, length), p, length)
        error = weights * bounds.strip(p, length)
        if grid.nodes >= work.queries or error > left:
            continue
        seconds = table.seconds + costs.look_up(table.boxes, work, grid.nodes) + costs.interpolate(grid, work)
        yield Plan(table.keys, table.boxes, grid, table.own_tables, table.eta, table.rounding, error, seconds)
