"""Run the command line with `python -m counterplan`."""

from counterplan.cli import main

main()
