"""Deterministic nodes for smooth densities: an empirical measure is an exact weak solution, so quadrature nodes give the N → ∞ flow.

A `Rule` is nodes and weights of an integral; its `measure` is a token measure, of the uniform law or of a density. `tensor` makes rules on a
box from one-dimensional ones, `sobol` and `lattice` from quasi-random points, `sparse` from signed differences (for integrals only);
`circle`, `sphere` and `ball` carry their uniform laws. `gauss_hermite` (the normal law) and `gauss_legendre` (the uniform law on a box) give
the measure at once. `nested` runs a functional on finer and finer measures and estimates the error. Source: mathematics, section 2.
"""

from mckean.measures.quadrature.curved import ball, circle, sphere
from mckean.measures.quadrature.gauss import gauss_hermite, gauss_legendre
from mckean.measures.quadrature.nested import Estimate, nested
from mckean.measures.quadrature.points import lattice, sobol
from mckean.measures.quadrature.rule import Rule
from mckean.measures.quadrature.sparse import sparse
from mckean.measures.quadrature.tensor import tensor

__all__ = [
    "Estimate", "Rule", "ball", "circle", "gauss_hermite", "gauss_legendre", "lattice", "nested", "sobol", "sparse", "sphere", "tensor",
]  # fmt: skip
