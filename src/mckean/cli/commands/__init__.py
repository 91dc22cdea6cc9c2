"""One module a command, each with a function `command`."""
