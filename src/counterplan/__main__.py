"""`python -m counterplan` is the command line."""

from counterplan.cli import main

main()
