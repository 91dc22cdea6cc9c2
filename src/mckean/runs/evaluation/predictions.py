"""What a state predicts: scores, losses and accuracy on all prompts of a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import numpy as np
from numpy.typing import NDArray

from mckean.coupled import State
from mckean.measures import Empirical
from mckean.objective import Problem, Readout
from mckean.objective.evaluation import terminal
from mckean.runs.assembly.assemble import Assembly, at_state
from mckean.runs.datasets import PromptSet


@dataclass(frozen=True)
class Predictions:
    """On n prompts: scores (n, C), losses (n,), and for classes which were right (n,), else None."""

    scores: NDArray[np.float64]
    losses: NDArray[np.float64]
    correct: NDArray[np.bool_] | None

    @property
    def risk(self) -> float:
        """The mean loss."""
        return float(self.losses.mean())

    @property
    def accuracy(self) -> float | None:
        """The fraction that was right, where there are classes."""
        return None if self.correct is None else float(self.correct.mean())


def predict(assembly: Assembly, state: State, *, held_out: bool) -> Predictions | None:
    """Carry all prompts through depth and read them out; None where nothing is held out."""
    problem = assembly.held_out if held_out else assembly.problem
    part = assembly.dataset.test if held_out else assembly.dataset.train
    if problem is None or part is None:
        return None
    problem = at_state(problem, state)
    return from_terminal(assembly, problem, terminal(problem, state.rho), part)


def from_terminal(assembly: Assembly, problem: Problem, final: Empirical, part: PromptSet) -> Predictions:
    """The predictions from the terminal measures."""
    readout: Readout = problem.loss.readout  # type: ignore[attr-defined]
    scores = np.asarray(jax.vmap(readout)(final), np.float64)
    losses = np.asarray(jax.vmap(problem.loss)(final, problem.targets), np.float64)
    correct = None
    if assembly.dataset.classes is not None:
        correct = scores.argmax(axis=1) == np.asarray(part.targets)
    return Predictions(scores, losses, correct)


def evaluate(assembly: Assembly, state: State) -> Mapping[str, float | None]:
    """Risk and accuracy on all prompts, training and held out."""
    train, test = predict(assembly, state, held_out=False), predict(assembly, state, held_out=True)
    assert train is not None
    return {
        "train_accuracy": train.accuracy,
        "test_accuracy": None if test is None else test.accuracy,
        "risk": train.risk,
        "held_out_risk": None if test is None else test.risk,
    }
