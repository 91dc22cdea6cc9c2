"""What the host loop asks of the numerical side: an assembly that can be stepped, evaluated and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mckean.runs.configuration.config import Config


class Stepper(Protocol):
    """The training dynamics, compiled over chunks. A state is a pytree of arrays with `.step` and `.time`."""

    def init(self, rho0: Any, key: Any) -> Any: ...

    def advance(self, state: Any, steps: int) -> tuple[Any, Mapping[str, Any]]:
        """Up to n training steps, ending before one that would leave the finite numbers.

        The records hold `risk`, `temperature`, one entry for each step done, and `finite`, whether n were
        done.
        """
        ...

    def settled(self, state: Any) -> Stepper:
        """The stepper with everything decided that `advance` would decide from the state at its start."""
        ...

    def cut_free(self, state: Any) -> bool:
        """Whether nothing is decided so: the numbers then do not depend on how steps are cut into calls."""
        ...


class Assembly(Protocol):
    """A configuration and its prompts, ready to run."""

    @property
    def stepper(self) -> Stepper: ...
    @property
    def rho0(self) -> Any: ...
    @property
    def key(self) -> Any: ...
    @property
    def dataset(self) -> Any: ...
    @property
    def title(self) -> str: ...
    @property
    def facts(self) -> dict[str, Any]: ...


Report = Callable[[Path, bool], Path]
"""Writes the report of a run folder, with or without moving pictures; the page's path."""


class Beside(Protocol):
    """Work under way on a thread of its own."""

    def cancel(self) -> None:
        """End it, and wait until it has ended."""
        ...


@dataclass(frozen=True)
class Tools:
    """The functions of the numerical side.

    `beside` begins what needs no result of the training, for `write_results` to take; it comes last there, where something was begun.
    `attempt` does the one step that `advance` would not, for its state and its risk to be looked at.
    """

    assemble: Callable[[Config], Assembly]
    evaluate: Callable[[Any, Any], Mapping[str, float | None]]
    selfcheck: Callable[[Any, Any], Iterable[dict[str, Any]]]
    write_results: Callable[..., dict[str, Any]]
    attempt: Callable[[Any, Any], tuple[Any, float]]
    beside: Callable[[Any], Beside | None] | None = None


def default_tools() -> Tools:
    """The library's own; imports JAX."""
    from mckean.runs.assembly.assemble import assemble
    from mckean.runs.evaluation import beside
    from mckean.runs.evaluation.conclude import write_results
    from mckean.runs.evaluation.predictions import evaluate
    from mckean.runs.evaluation.selfcheck import selfcheck

    return Tools(assemble, evaluate, selfcheck, write_results, attempt, beside.start)


def attempt(stepper: Any, state: Any) -> tuple[Any, float]:
    """One training step, wherever it leads."""
    import equinox as eqx

    from mckean.coupled.stepper import step

    advanced, record = eqx.filter_jit(step)(stepper, state)
    return advanced, float(record["risk"])
