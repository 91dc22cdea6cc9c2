"""The certificate of a table at adversarial clouds: no query errs by more than η/(1 − η) ∫|y − m| dP, and rounding."""

import numpy as np
import pytest

from mckean.field.tabulated import costs
from mckean.field.tabulated.plan import Reach, Work, best
from tests.field.tabulated import certificate, geometries

CAPACITY = 40
# dimension: (largest exponent on an axis, tolerance of the plan, cases)
SETTINGS = {1: (50.0, 1e-9, 176), 2: (8.0, 1e-6, 176), 3: (2.5, 1e-4, 165)}


@pytest.mark.parametrize("d", SETTINGS)
def test_no_cloud_breaks_the_certificate(d):
    reach, tolerance, count = SETTINGS[d]
    plan = best(Reach((reach,) * d, (), geometries.TOTAL), Work(20_000, 20_000, 4, d, d, False, 64), tolerance, costs.CPU)
    ratio, error, fits = (np.asarray(v) for v in certificate.ratios(plan, geometries.cases(d, count, CAPACITY, d, reach)))
    assert fits.all()  # else the guard would have kept the table from being read
    assert np.sum(~(ratio <= 1.0)) == 0, f"worst error/bound {ratio.max():.3g}"
    # The cases do come near: the bound is not met by never being tried.
    assert ratio.max() >= 0.03
    assert error.max() >= 1e-4 * tolerance
