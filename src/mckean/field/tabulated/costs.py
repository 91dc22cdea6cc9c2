"""What an evaluation takes: a model of the time, with constants measured on the backend."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

FEW_CELLS = 32  # up to here a grid in x is read by matrix products
NARROW = 10

if TYPE_CHECKING:
    from mckean.field.tabulated.plan import Lattice, Work


@dataclass(frozen=True)
class Costs:
    """Nanoseconds each.

    spread, gather: one number at one node of one point.  wide: the same of gather above `NARROW` nodes an axis, where XLA no longer unrolls.
    point: what a point costs beside its nodes, a axis.  argument: what reading m at one u costs beside that: the quotient, V, the sum.
    multiply: one multiply–add of the dense products.  exponential: one entry of the factors e^{u y}.
    sum: one number of a sum over leading axes.  polynomial: one polynomial of a point in one cell of an axis.
    pair: one (query, key) of the exact sum, and `coordinate` for each coordinate of token and key in it.
    start: what any table costs before its first token.
    """

    spread: float = 1.4
    gather: float = 0.6
    wide: float = 3.0
    point: float = 12.0
    argument: float = 70.0
    multiply: float = 0.07
    exponential: float = 6.0
    sum: float = 0.8
    polynomial: float = 1.0
    pair: float = 0.85
    coordinate: float = 0.03
    start: float = 3e5

    def table(self, keys: "Lattice", boxes: "Lattice", work: "Work") -> float:
        """Seconds to build the table (all of them, where each head has its own)."""
        axes = work.axes
        spread = work.keys * (keys.p**axes * work.charges * self.spread + axes * self.point)
        dense, held = 0.0, [cells * keys.p for cells in keys.cells]
        for a in range(axes):
            rows, columns = boxes.cells[a] * boxes.p, held[a]
            rest = work.charges
            for b in range(axes):
                rest *= held[b] if b != a else 1
            dense += rows * columns * rest * self.multiply + rows * columns * self.exponential
            held[a] = rows
        each = spread + dense + boxes.nodes * work.charges * 4 * self.multiply
        return 1e-9 * (self.start + each * (work.heads if work.own_tables else 1))

    def look_up(self, boxes: "Lattice", work: "Work", queries: int) -> float:
        """Seconds to read the table at all queries for all heads."""
        each = boxes.p**work.axes * work.charges * self._gather(boxes.p) + work.axes * self.point + self.argument
        return 1e-9 * queries * work.heads * each

    def interpolate(self, grid: "Lattice", work: "Work") -> float:
        """Seconds to read the grid in x at all queries."""
        if grid.count > FEW_CELLS:
            return 1e-9 * work.queries * (grid.p**work.dim * work.dim * self._gather(grid.p) + work.dim * self.point)
        first = grid.cells[0] * grid.p
        products = grid.nodes * work.dim * self.multiply
        sums = grid.nodes // first * work.dim * self.sum if work.dim > 1 else 0.0
        return 1e-9 * work.queries * (products + sums + sum(grid.cells) * grid.p * self.polynomial)

    def _gather(self, p: int) -> float:
        return self.gather if p <= NARROW else self.wide

    def exact(self, work: "Work") -> float:
        """Seconds of the sum itself."""
        return 1e-9 * work.keys * work.queries * work.heads * (self.pair + self.coordinate * (work.axes + work.dim))


CPU = Costs()
