"""The coupled system: at every training time s the tokens flow forward, the costate flows back, and ρ moves along δL/δρ.

`solve` is the verb and `Solution` its result; `Stepper` is the loop that it runs, for those who want to hold the loop themselves (a run with
checkpoints, a study).
"""

from mckean.coupled.solution import Solution
from mckean.coupled.solve import solve
from mckean.coupled.stepper import State, Stepper

__all__ = ["Solution", "State", "Stepper", "solve"]
