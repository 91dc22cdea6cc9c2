"""`mckean show-config`."""

from __future__ import annotations

from mckean.cli import output
from mckean.cli.options import QUIET_TALK, ConfigName, Overrides, Seed, Talk


def command(
    config: ConfigName = "digits",
    /,
    *,
    set_: Overrides = (),
    seed: Seed = None,
    talk: Talk = QUIET_TALK,
) -> int:
    """Print the configuration that `mckean run` would take; the keys that are unset or mean nothing in it are comments."""
    import tomllib

    from mckean.runs.configuration import loading

    text = loading.shown(loading.load(config, set_, seed))
    if talk.json:
        output.json_object({"name": loading.run_name(config), "config": tomllib.loads(text)})
    else:
        output.data(text.rstrip("\n"))
    return 0
