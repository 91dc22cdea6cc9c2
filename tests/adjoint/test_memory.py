"""The gradient of a long flow is planned in a small part of the memory of plain reverse mode."""

import importlib.util
from pathlib import Path

# At 20 depth steps the lean gradient is dominated by one block of two heads; the benchmark's own sizes give above 200.
RATIO = 40
SIZES = {"tokens": 512, "depth": 20, "heads": 4, "dim": 2}


def _benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "memory.py"
    spec = importlib.util.spec_from_file_location("memory_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_gradient_needs_a_small_part_of_the_memory_of_plain_reverse_mode():
    memory = _benchmark()
    problem, rho = memory.setting(**SIZES)
    assert memory.plain_bytes(problem, rho) >= RATIO * memory.lean_bytes(problem, rho)
