"""The head dynamics: one step of training time s for the atoms of ρ.

Each dynamics is a small class with `init(theta)` and `update(theta, memory, drift, h, beta, key)`, where `drift` is ∇_θ δL_λ/δρ at the atoms. That
is H times the gradient of the risk (1/weight in general), so that the step size does not depend on H. `Langevin` is mean-field Langevin by
Euler–Maruyama (the Wasserstein gradient flow at β = 0), `Inertial` its underdamped form, `Optax` any optax optimiser on the particles.
`schedules` are step sizes and temperatures that change with training.
"""

from mckean.training import schedules
from mckean.training.dynamics import Dynamics
from mckean.training.inertial import Inertial
from mckean.training.langevin import Langevin
from mckean.training.optimiser import Optax

__all__ = ["Dynamics", "Inertial", "Langevin", "Optax", "schedules"]
