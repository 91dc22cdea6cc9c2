"""`python -m mckean.bench.one_step JSON`: time one training step and print its seconds and this process's peak memory as JSON."""

from __future__ import annotations

import json
import sys
import time

from mckean.bench import memory

FEWEST, LONGEST = 3, 90.0  # after so many rounds and seconds the timing ends


def main(text: str) -> None:
    """Measure the `Step` given as JSON, long ones in three rounds; prints `samples` and `first` (seconds), `before` and `peak` (bytes), `method`."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import numpy as np

    from mckean.bench.cases.training import Step
    from mckean.bench.record import Size
    from mckean.bench.setting import Setting
    from mckean.coupled import Stepper
    from mckean.field import Exact, Tabulated
    from mckean.measures import Empirical
    from mckean.objective import Problem, Readout
    from mckean.objective.losses import SquaredError
    from mckean.training import Langevin

    step = Step(**json.loads(text))
    setting = Setting(Size("ball", step.tokens, step.heads, 2, step.exponent), step.seed)
    method = Exact() if step.rtol is None else Tabulated(rtol=step.rtol)
    loss = SquaredError(Readout(np.eye(2)))
    prompts = Empirical(setting.tokens[None], np.full((1, step.tokens), 1 / step.tokens))
    problem = Problem(prompts, np.ones((1, 2)), loss, horizon=1.0, steps=step.depth, scheme="euler", method=method)
    stepper = Stepper(problem, Langevin(), step_size=1e-3, total=step.rounds + 1)
    state, taken = stepper.init(setting.rho, jax.random.key(step.seed)), problem.settled(setting.rho).method
    before, seconds = memory.peak(), []
    for done in range(step.rounds + 1):
        if done > FEWEST and sum(seconds[1:]) > LONGEST:
            break
        begun = time.perf_counter()
        state, record = stepper.advance(state, 1)
        jax.block_until_ready(state.rho)
        seconds.append(time.perf_counter() - begun)
        if not bool(record["finite"]):
            raise RuntimeError("the training step is not finite")
    name = "table" if type(taken).__name__ == "Planned" else "tiles"
    print(json.dumps({"samples": seconds[1:], "first": seconds[0], "before": before, "peak": memory.peak(), "method": name}))


if __name__ == "__main__":
    main(sys.argv[1])
