"""What the theory says exactly: identities that every problem satisfies, so that a solve can check itself.

`identities` holds them; each gives a number that is zero up to rounding (or to the order of the scheme, where it says so).
"""

from mckean.theory import identities

__all__ = ["identities"]
