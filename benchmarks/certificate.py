"""The certificate of the tables attacked: thousands of adversarial clouds under many plans.

    python -m benchmarks.certificate [--plans 120] [--cases 50] [--seed 0]

Prints for each dimension how many clouds broke the bound η/(1 − η) ∫|y − m| dP + rounding (none may), and the worst error over the bound.
"""

import argparse
import sys
import time

import jax
import numpy as np
from tests.field.tabulated import certificate, geometries

from mckean.field.tabulated import costs
from mckean.field.tabulated.plan import Plan, Reach, Work, best

jax.config.update("jax_enable_x64", True)

LARGEST = {1: 250.0, 2: 40.0, 3: 4.0}


def random_plan(rng: np.random.Generator, d: int) -> tuple[Plan, float, float]:
    """A plan for a random reach and tolerance (and these), of a random balance between building and reading."""
    while True:
        reach, tolerance = LARGEST[d] * 10.0 ** rng.uniform(-3, 0), 10.0 ** rng.uniform(-11.5 if d < 3 else -6, -1)
        count = int(10.0 ** rng.uniform(3, 6))
        work = Work(count, count, int(10.0 ** rng.uniform(0, 2)), d, d, False, 64)
        plan = best(Reach((reach,) * d, (), geometries.TOTAL), work, tolerance, costs.CPU)
        if plan is not None and max(plan.keys.nodes, plan.boxes.nodes) < 60_000:
            return plan, reach, tolerance


def main() -> int:
    """Run the attack; the exit status says whether the bound held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=int, default=120)
    parser.add_argument("--cases", type=int, default=50, help="clouds for each plan")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, start = np.random.default_rng(options.seed), time.perf_counter()
    found: dict[int, list[np.ndarray]] = {1: [], 2: [], 3: []}
    for index in range(options.plans):
        d, capacity = 1 + index % 3, int(rng.choice([4, 20, 60, 200]))
        plan, reach, tolerance = random_plan(rng, d)
        clouds = geometries.cases(int(rng.integers(2**31)), options.cases, capacity, d, reach)
        ratio, _, fits = (np.asarray(v) for v in certificate.ratios(plan, clouds))
        broken = np.flatnonzero(~(ratio <= 1.0) & fits)
        for i in broken:
            name = geometries.GEOMETRIES[i % len(geometries.GEOMETRIES)].__name__.strip("_")
            print(f"  broken: d={d} reach {reach:.3g} tolerance {tolerance:.2g} {name}, cloud {i}: {ratio[i]:.3g}\n  {plan}")
        found[d].append(np.stack([ratio, fits]))
        jax.clear_caches()
    failed = 0
    for d, parts in found.items():
        ratio, fits = np.concatenate(parts, axis=1)
        inside = ratio[fits == 1]
        broken = int(np.sum(~(inside <= 1.0)))
        failed += broken
        print(
            f"d={d}: {ratio.size} clouds, {int(np.sum(fits == 0))} of them outside their plan, {broken} broken, "
            f"worst error/bound {np.max(inside):.3f}"
        )
    print(f"{time.perf_counter() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
