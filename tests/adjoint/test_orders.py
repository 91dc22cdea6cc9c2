"""The continuous adjoint meets the discrete one at the order of the scheme, and the Hamiltonian is constant to it."""

import numpy as np
import pytest

import mckean as mk
from mckean.theory import identities
from tests.adjoint import cases

# Steps on a grid padded to the largest number: compiled once a scheme. Chosen where the next order is below a tenth of the slope.
STEPS = {"euler": (32, 64, 128, 256), "heun": (16, 32, 64, 128), "rk4": (8, 16, 32, 64)}
ORDERS = {"euler": 1.0, "heun": 2.0, "rk4": 4.0}
WITHIN = 0.1


@pytest.mark.parametrize("scheme", list(STEPS))
def test_the_two_adjoints_and_the_hamiltonian_agree_at_the_order_of_the_scheme(scheme):
    counts = STEPS[scheme]
    base, rho = cases.problem(scheme, counts[-1]), cases.measure("block")
    gaps = {"costate": [], "values": [], "particles": []}
    drifts = []
    for count in counts:
        problem = cases.padded(base, count)
        exact, formula = (mk.functional_gradient(problem, rho, adjoint=a) for a in ("discrete", "continuous"))
        gaps["costate"].append(cases.distance(formula.costate[:, 0], exact.costate[:, 0]))
        gaps["values"].append(cases.distance(formula.values, exact.values))
        gaps["particles"].append(cases.distance(formula.particles, exact.particles))
        h = np.asarray(identities.hamiltonian(problem, rho))
        drifts.append(np.max(np.abs(h - h[:, -1:])) / np.max(np.abs(h)))
    for name, errors in (*gaps.items(), ("hamiltonian", drifts)):
        assert abs(cases.slope(counts, errors) + ORDERS[scheme]) <= WITHIN, (name, errors)
