"""The token dynamics through depth: ∂_t μ + ∇·(μ V_{ρ,μ}) = 0.

`transport` is the verb and `Flow` its result. `schemes` holds the Runge–Kutta tables, `grid` the depth grid (fixed, or the accepted steps
of the adaptive scheme), `integrate` the loop over depth and `prompts` that over chunks of prompts, which everything else (risk, adjoint)
shares; `saving` says what a flow keeps, `verdict` how it ended. `gaussian_transport` is the exact solution for Gaussian tokens;
`density_along` carries the density with the tokens.
"""

from mckean.tokens.density import DensityFlow, density_along
from mckean.tokens.flow import Flow
from mckean.tokens.gaussian import gaussian_transport
from mckean.tokens.schemes import SCHEMES, Scheme
from mckean.tokens.transport import transport

__all__ = ["SCHEMES", "DensityFlow", "Flow", "Scheme", "density_along", "gaussian_transport", "transport"]
