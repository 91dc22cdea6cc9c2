"""The velocity field V_{ρ,μ}(x) = ∫ φ_θ(x, μ) dρ(θ), its reverse, and its diagnosis.

`velocity` is the public verb. `exact` evaluates clouds by a loop over blocks of heads, each head in tiles; `reverse` holds the two
transposes that the adjoint is made of; `concentration` measures the effective sample size of the attention. `Exact` states the method's
sizes.
"""

from mckean.field.method import Exact
from mckean.field.velocity import velocity

__all__ = ["Exact", "velocity"]
