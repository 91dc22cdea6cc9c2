"""`mckean show-config`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from mckean.cli import output
from mckean.cli.options import QUIET_TALK, Talk


def command(
    config: str = "digits",
    /,
    *,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=(), show_default=False)] = (),
    seed: int | None = None,
    talk: Talk = QUIET_TALK,
) -> int:
    """Print the configuration that `mckean run` would take; the keys that are unset or mean nothing in it are comments.

    Parameters
    ----------
    config
        A packaged example by name, or a TOML file.
    set_
        Change one field: --set model.heads=1024. May be given several times.
    seed
        Seed of the heads, the batches and the noise.
    """
    import tomllib

    from mckean.runs import loading

    text = loading.shown(loading.load(config, set_, seed))
    if talk.json:
        output.json_object({"name": loading.run_name(config), "config": tomllib.loads(text)})
    else:
        output.data(text.rstrip("\n"))
    return 0
