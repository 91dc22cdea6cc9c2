"""A run from its configuration to its folder.

Each room uses only those below it:

- `execution`: the course of a run, and `catalogue`: what there is to run, and what was run.
- `evaluation`: predictions, self-checks, baselines and results of a state.
- `assembly`: configuration and prompts become problem, heads and stepper.
- `machine`: the environment, and whether it computes correctly.
- `datasets` (the prompts) · `configuration` (what a run is told) · `store` (its folder, durable).

Nothing here is imported with the package; only `assembly`, `evaluation` and functions that need the device import JAX.
"""
