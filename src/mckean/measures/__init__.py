"""P(X): probability measures.

`Empirical` is the measure that everything else computes with: weighted atoms over any pytree. Laws (`laws`) and quadrature
rules (`quadrature`) make empirical measures: i.i.d. atoms of a law, or deterministic nodes (of a `Rule`) that stand for
a smooth density.
"""

from mckean.measures.empirical import Empirical
from mckean.measures.quadrature import gauss_hermite, gauss_legendre

__all__ = ["Empirical", "gauss_hermite", "gauss_legendre"]
