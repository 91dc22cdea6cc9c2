"""The mean-field limit of transformers: tokens as a measure moving through depth, heads as a measure moving through training time.

Names are loaded when they are first used, so that `import mckean` is fast and does not import JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Empirical": "measures", "gauss_hermite": "measures", "gauss_legendre": "measures",
    "Block": "heads", "Bounded": "heads", "Head": "heads", "Layered": "heads", "Perceptron": "heads", "Softmax": "heads",
    "CertifiedVelocity": "field", "Exact": "field", "RandomBatch": "field", "Sharded": "field", "Tabulated": "field",
    "certified_velocity": "field", "velocity": "field",
    "DensityFlow": "tokens", "Flow": "tokens", "density_along": "tokens", "gaussian_transport": "tokens", "transport": "tokens",
    "Problem": "objective", "Readout": "objective", "regularised_risk": "objective", "risk": "objective",
    "FunctionalGradient": "adjoint", "functional_gradient": "adjoint",
    "Inertial": "training", "Langevin": "training", "Optax": "training",
    "Solution": "coupled", "Stepper": "coupled", "solve": "coupled",
    "Result": "result",
    "NumericalFailure": "errors", "Refused": "errors", "StorageFailure": "errors",
}  # fmt: skip
_MODULES = {
    "laws": "measures.laws", "losses": "objective.losses", "plot": "report.plot", "quadrature": "measures.quadrature",
    "schedules": "training.schedules",
}  # fmt: skip

__all__ = [*_HOMES, *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]


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
    from mckean.adjoint import FunctionalGradient as FunctionalGradient
    from mckean.adjoint import functional_gradient as functional_gradient
    from mckean.coupled import Solution as Solution
    from mckean.coupled import Stepper as Stepper
    from mckean.coupled import solve as solve
    from mckean.errors import NumericalFailure as NumericalFailure
    from mckean.errors import Refused as Refused
    from mckean.errors import StorageFailure as StorageFailure
    from mckean.field import CertifiedVelocity as CertifiedVelocity
    from mckean.field import Exact as Exact
    from mckean.field import RandomBatch as RandomBatch
    from mckean.field import Sharded as Sharded
    from mckean.field import Tabulated as Tabulated
    from mckean.field import certified_velocity as certified_velocity
    from mckean.field import velocity as velocity
    from mckean.heads import Block as Block
    from mckean.heads import Bounded as Bounded
    from mckean.heads import Head as Head
    from mckean.heads import Layered as Layered
    from mckean.heads import Perceptron as Perceptron
    from mckean.heads import Softmax as Softmax
    from mckean.measures import Empirical as Empirical
    from mckean.measures import gauss_hermite as gauss_hermite
    from mckean.measures import gauss_legendre as gauss_legendre
    from mckean.measures import laws as laws
    from mckean.measures import quadrature as quadrature
    from mckean.objective import Problem as Problem
    from mckean.objective import Readout as Readout
    from mckean.objective import losses as losses
    from mckean.objective import regularised_risk as regularised_risk
    from mckean.objective import risk as risk
    from mckean.report import plot as plot
    from mckean.result import Result as Result
    from mckean.tokens import DensityFlow as DensityFlow
    from mckean.tokens import Flow as Flow
    from mckean.tokens import density_along as density_along
    from mckean.tokens import gaussian_transport as gaussian_transport
    from mckean.tokens import transport as transport
    from mckean.training import Inertial as Inertial
    from mckean.training import Langevin as Langevin
    from mckean.training import Optax as Optax
    from mckean.training import schedules as schedules
