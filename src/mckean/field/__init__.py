"""The velocity field V_{ρ,μ}(x) = ∫ φ_θ(x, μ) dρ(θ), its reverse, its error, and its diagnosis.

`velocity` and `certified_velocity` are the public verbs. `exact` evaluates clouds by a loop over blocks of heads, each head in tiles;
`reverse` holds the transposes that the adjoint is made of; `tabulated` does the same work in O(N + H) for tokens in few dimensions, with a
bound; `random` estimates it from a batch of tokens. `sharding` says on which devices any of them is done, and
`sharded` does it, each device its `part`. `choice` decides among them on the host and `dispatch` calls the one decided on.
`concentration` measures the effective sample size of the attention.
"""

from mckean.field.certified import CertifiedVelocity
from mckean.field.method import Exact, RandomBatch, Tabulated
from mckean.field.sharding import Sharded
from mckean.field.velocity import certified_velocity, velocity

__all__ = ["CertifiedVelocity", "Exact", "RandomBatch", "Sharded", "Tabulated", "certified_velocity", "velocity"]
