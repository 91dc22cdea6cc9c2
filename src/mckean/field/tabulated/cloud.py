r"""The field of one cloud by a table, and its transposes: with one table for all heads (`shared`), or one for each (`own`).

Where all heads share one table, its keys are the tokens and head h reads it at u = A_hᵀx. Where the tokens live in more than three
dimensions, a head of rank k ≤ 3 has a table of its own. With a grid in x the heads are evaluated at the grid's nodes and the tokens
read the grid: then the work of a head does not depend on N.
"""

from typing import Any

from mckean._shapes import Array, HeadMasses, Queries, Tokens
from mckean.field.part import Part
from mckean.field.tabulated import own, shared
from mckean.field.tabulated.plan import Plan
from mckean.heads.base import Head


def field(heads: Head, mass: HeadMasses, x: Tokens, w: Array, q: Queries, plan: Plan, part: Part | None = None) -> Queries:
    """V at the queries (M, d); of a part, from its heads at its queries."""
    return (own if plan.own_tables else shared).field(heads, mass, x, w, q, plan, part)


def pullback(
    heads: Head, mass: HeadMasses, x: Tokens, w: Array, lam: Tokens, plan: Plan, part: Part | None = None
) -> tuple[Tokens, Any, HeadMasses]:
    """As `reverse.pullback`, for one cloud."""
    return (own if plan.own_tables else shared).reverse(heads, mass, x, w, lam, plan, False, part)


def image(heads: Head, mass: HeadMasses, x: Tokens, w: Array, p: Tokens, plan: Plan, part: Part | None = None) -> Tokens:
    """As `reverse.costate_image`, for one cloud: finite at tokens of weight 0."""
    return (own if plan.own_tables else shared).reverse(heads, mass, x, w, p, plan, True, part)[0]


def pairing(heads: Head, x: Tokens, w: Array, lam: Tokens, plan: Plan, part: Part | None = None) -> HeadMasses:
    """As `reverse.pairing`, for one cloud."""
    return (own if plan.own_tables else shared).pairing(heads, x, w, lam, plan, part)
