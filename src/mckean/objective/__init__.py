"""What is minimised: L(ρ) = (1/n) Σ_i ℓ(μ_T^{(i)}, y_i), and its regularisation.

`Problem` holds prompts, targets, loss and the depth flow; `risk` and `regularised_risk` evaluate it. `losses` has the usual functionals of the
terminal measure, two of them through a linear `Readout`.
"""

from mckean.objective.evaluation import regularised_risk, risk
from mckean.objective.problem import Problem
from mckean.objective.readout import Readout

__all__ = ["Problem", "Readout", "regularised_risk", "risk"]
