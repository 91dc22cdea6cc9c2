"""A run from its configuration to its folder.

`config` (what a run is) and `loading` (from TOML, examples and `--set`) · `datasets` (the prompts) ·
`assemble` (configuration and prompts become a stepper) · `execute` (the host loop over jitted chunks) ·
`folder`, `manifest`, `metrics`, `checkpoint`, `lock` (the durable store) · `environment` and `doctor` (the
machine).

Nothing here is imported with the package, and only `assemble`, `evaluate`, `selfcheck`, and functions that
need the device import JAX.
"""
