"""The command line. Importing it is cheap: each command's module is imported when the command is used.

May import: everything but audit.
"""

from __future__ import annotations

import sys

_VERSION = ["--version"]


def main() -> None:
    """Run the command line; errors that a user can fix are a message and exit code 2, never a traceback."""
    if sys.argv[1:] == _VERSION:
        from counterplan import __version__
        from counterplan.cli.terminal import guarded, write

        with guarded():
            write(f"counterplan {__version__}")
        return
    from counterplan.cli.app import run

    run()
