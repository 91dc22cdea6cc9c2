"""From a name or a file and a list of `--set` to a checked configuration.

`config` is what a run may be told, `loading` reads and writes it, `refusals` and `suggestions` say what is wrong and what was meant, `toml` writes.
"""
