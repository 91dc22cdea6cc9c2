"""Risk curves at one step size converge to one curve as the number of heads grows."""

import importlib.util
from pathlib import Path

import numpy as np

SIZES, SEEDS, STEPS, REFERENCE = (16, 64, 256), 32, 12, 1024
# At least the rate −1/2 up to 0.08, with three sizes and 32 seeds: the interval must reach it, and exclude −1/4.
AT_MOST, NOT_SLOWER = -0.5 + 0.08, -0.25


def _benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "transfer.py"
    spec = importlib.util.spec_from_file_location("transfer_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_risk_curves_converge_at_the_root_of_the_number_of_heads():
    transfer = _benchmark()
    found, reference = transfer.curves(SIZES, SEEDS, STEPS, REFERENCE, widths=SIZES[-1:])
    assert np.all(np.isfinite(found))
    # The risk is really trained.
    assert reference[-1] < 0.75 * reference[0]
    fitted, _, high, _ = transfer.slope(SIZES, np.max(np.abs(found - reference), axis=2), draws=1000)
    assert fitted <= AT_MOST
    assert high < NOT_SLOWER
