"""The mean-field limit of transformers: tokens as a measure moving through depth, heads as a measure moving through training time.

Names are loaded when they are first used, so that `import mckean` is fast and does not import JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Empirical": "measures", "gauss_hermite": "measures", "gauss_legendre": "measures",
    "Block": "heads", "Bounded": "heads", "Head": "heads", "Layered": "heads", "Perceptron": "heads", "Softmax": "heads",
    "Exact": "field", "velocity": "field",
    "Flow": "tokens", "gaussian_transport": "tokens", "transport": "tokens",
    "Problem": "objective", "Readout": "objective", "regularised_risk": "objective", "risk": "objective",
    "FunctionalGradient": "adjoint", "functional_gradient": "adjoint",
    "Inertial": "training", "Langevin": "training", "Optax": "training",
    "Solution": "coupled", "Stepper": "coupled", "solve": "coupled",
    "Result": "result",
    "NumericalFailure": "errors", "Refused": "errors", "StorageFailure": "errors",
}  # fmt: skip
_MODULES = {"laws": "measures.laws", "losses": "objective.losses", "plot": "report.plot", "schedules": "training.schedules"}

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"mckean.{_MODULES[name]}")
    if name in _HOMES:
        value = getattr(importlib.import_module(f"mckean.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'mckean' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


if TYPE_CHECKING:
    from mckean.adjoint import FunctionalGradient, functional_gradient
    from mckean.coupled import Solution, Stepper, solve
    from mckean.errors import NumericalFailure, Refused, StorageFailure
    from mckean.field import Exact, velocity
    from mckean.heads import Block, Bounded, Head, Layered, Perceptron, Softmax
    from mckean.measures import Empirical, gauss_hermite, gauss_legendre, laws
    from mckean.report import plot
    from mckean.result import Result
    from mckean.objective import Problem, Readout, losses, regularised_risk, risk
    from mckean.tokens import Flow, gaussian_transport, transport
    from mckean.training import Inertial, Langevin, Optax, schedules
