"""What may be passed as a dynamics."""

from typing import Any

from mckean.errors import Refused
from mckean.training.dynamics import Dynamics
from mckean.training.langevin import Langevin


def as_dynamics(value: Any) -> Dynamics:
    """The dynamics asked for; None is `Langevin()`."""
    if value is None:
        return Langevin()
    if isinstance(value, Dynamics):
        return value
    wanted = "`dynamics` must be mk.Langevin(), mk.Inertial(friction) or mk.Optax(optimiser)"
    if isinstance(value, type) and issubclass(value, Dynamics):
        argument = "optax.adam(1.0)" if value.__name__ == "Optax" else ""
        raise Refused(f"{wanted}; found the class {value.__name__}. Make an instance: mk.{value.__name__}({argument}).")
    if hasattr(value, "init") and hasattr(value, "update"):
        raise Refused(f"{wanted}; found an optax transformation. Wrap it: mk.Optax(optimiser).")
    found = repr(value) if isinstance(value, str) else f"an object of type {type(value).__name__}"
    raise Refused(f"{wanted}; found {found}. An optimiser of optax is wrapped: mk.Optax(optax.adam(1.0)).")
