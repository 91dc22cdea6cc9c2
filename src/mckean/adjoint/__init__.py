"""The costate, backwards through depth, and the functional gradient δL/δρ that couples tokens and heads.

`functional_gradient` is the verb, `FunctionalGradient` its result. Two adjoints: `discrete` is the reverse of the Runge–Kutta scheme (exact for
the scheme, the default of training), `continuous` integrates the backward equation with its own steps; they agree to the order of the
scheme. `terminal` starts both from the loss. `particles` is the lean form that training uses: the gradient at the atoms of ρ alone.
"""

from mckean.adjoint.functional_gradient import FunctionalGradient, functional_gradient
from mckean.adjoint.particles import ParticleGradient, particle_gradient

__all__ = ["FunctionalGradient", "ParticleGradient", "functional_gradient", "particle_gradient"]
