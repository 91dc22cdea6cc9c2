"""The commands and their one-line help, with no import of what they do."""

from __future__ import annotations

from cyclopts import App

from mckean.cli.version import version_line

EXIT_CODES = """Exit codes: 0 ok · 1 a bug · 2 usage or configuration · 3 numerical failure · 6 self-check
failed · 8 storage · 75 stopped, can be resumed · 130 interrupted."""

_COMMANDS = {
    "run": "Solve the coupled system: a packaged example by name (default: digits) or a TOML file.",
    "resume": "Go on with a run from its last checkpoint.",
    "report": "Make the report of a run again.",
    "show-config": "Print the configuration of an example or a file, with every field.",
    "list": "Show the packaged examples and the runs.",
    "bench": "Measure the field's methods against each other, as ratios inside one run.",
    "doctor": "Check that this machine computes correctly.",
    "cite": "Print how to cite mckean.",
}


def build() -> App:
    """The application; commands are resolved by name when they are called."""
    app = App(
        name="mckean",
        help="The mean-field limit of transformers: tokens, heads, and the adjoint between them.",
        help_epilogue=EXIT_CODES,
        suppress_keyboard_interrupt=False,
        version=version_line,
    )
    for name, text in _COMMANDS.items():
        module = name.replace("-", "_")
        app.command(f"mckean.cli.commands.{module}:command", name=name, help=text)
    app.register_install_completion_command()
    return app
