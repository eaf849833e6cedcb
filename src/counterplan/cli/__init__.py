"""The command line: a file for each group of commands, and here the list of them.

A new command is a function with typer's annotations, in a file of its own or a group's, and a name in `COMMANDS`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

import counterplan
from counterplan.cli.benchmarking import benchmarks_table
from counterplan.cli.experimenting import experiment
from counterplan.cli.fitting import fit
from counterplan.cli.problems import check, init, schema
from counterplan.cli.programs import distil, export, show
from counterplan.cli.recommending import recommend
from counterplan.errors import CounterplanError

COMMANDS: dict[str, Callable[..., None]] = {
    "check": check, "init": init, "schema": schema, "fit": fit, "recommend": recommend, "distil": distil, "show": show,
    "export": export, "benchmarks": benchmarks_table, "experiment": experiment,
}  # fmt: skip

app = typer.Typer(
    help="Which actions, in which order, would overturn a model's decision at the least effort.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for name, command in COMMANDS.items():
    app.command(name)(command)


def main() -> None:
    """Run the command line; whatever the user can put right is a message and exit code 2, never a traceback."""
    try:
        app()
    except CounterplanError as error:
        typer.echo(f"counterplan: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"counterplan {counterplan.__version__}")
        raise typer.Exit
