"""`python -m mckean.cli`, the command without its installed script."""

from mckean.cli import main

main()
