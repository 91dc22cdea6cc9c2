"""The error of a functional of a quadrature measure, from coarser measures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mckean._arguments import count
from mckean.errors import Refused
from mckean.measures.empirical import Empirical


@dataclass(frozen=True)
class Estimate:
    """A value with its error. `values` (m, ...) are those on `nodes` (m,); `trusted` says whether the differences fall by half or more."""

    value: Any
    error: float
    trusted: bool
    nodes: tuple[int, ...]
    values: Any

    def __repr__(self) -> str:
        size = "" if np.ndim(self.value) else f"{float(self.value):.15g}, "
        word = "" if self.trusted else " (not trusted: the differences do not fall by half)"
        return f"Estimate: {size}error at most {self.error:.1e}{word}, on {', '.join(map(str, self.nodes))} nodes"


def nested(
    functional: Callable[[Empirical], Any], measure: Callable[[int], Empirical], nodes: int, *, doublings: int = 2
) -> Estimate:
    r"""A functional of a measure on n, 2n − 1, 4n − 3, … nodes (those of nested Clenshaw–Curtis rules), with an estimate of its error.

    Arguments:
        functional: of the token measure μ_0, of any shape, such as a moment of the terminal measure of a flow.
        measure: nodes → `Empirical`.  nodes: n ≥ 2, the coarsest.
        doublings: ≥ 2 refinements.

    The estimate is $|Q_m - Q_{m-1}|$ (the largest entry), at least 256 roundings of the value. If each refinement at least halves the error,
    it is no smaller than that of the last value: $|e_{m-1}| - |e_m| \ge |e_m|$. `trusted` is that the last two differences show it, or are
    rounding. Of the error of the scheme in depth it says nothing: refine `steps` for that. Source: mathematics, section 2.

    >>> import mckean as mk
    >>> box = lambda n: mk.quadrature.tensor(-1.0, 1.0, n, rule="clenshaw_curtis").measure()
    >>> found = mk.quadrature.nested(lambda mu: mu.integrate(lambda x: 1 / (2 + x[0])), box, 5)
    >>> abs(float(found.value) - 0.5493061443340548) <= found.error, found.trusted
    (True, True)
    """
    count(nodes, "nodes", "nodes", least=2)
    count(doublings, "doublings", "refinements", least=2)
    sizes = tuple(2**j * (nodes - 1) + 1 for j in range(doublings + 1))
    values = np.stack([np.asarray(functional(measure(n))) for n in sizes])
    if not np.all(np.isfinite(values)):
        bad = sizes[int(np.argmax(~np.isfinite(values.reshape(len(sizes), -1)).all(axis=1)))]
        raise Refused(f"The functional must be finite on every rule; on {bad} nodes it is not.")
    floor = 256 * float(np.finfo(values.dtype).eps) * float(np.abs(values[-1]).max())
    last, before = (float(np.abs(values[-j] - values[-j - 1]).max()) for j in (1, 2))
    return Estimate(values[-1], max(last, floor), last <= max(before / 2, floor), sizes, values)
