"""The commands by name; the module of a command is imported when it is used.

A new command is a function with typer's annotations, in a module of its own or of a group, and a line in `COMMANDS`.
"""

from __future__ import annotations

import errno
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from counterplan import __version__
from counterplan.cli.help import HelpfulCommand, is_option
from counterplan.cli.terminal import OutputError, echo, guarded


class Command(NamedTuple):
    """Where a command is, and the first line of its help."""

    module: str
    function: str
    help: str


COMMANDS = {
    "check": Command("problems", "check", "Report everything wrong or doubtful in a problem file, with line numbers."),
    "describe": Command("problems", "describe", "Describe a problem: functions, causal graph and features."),
    "init": Command("problems", "init", "Write a commented problem file to start from, inferred from a table."),
    "schema": Command("problems", "schema", "Print the JSON Schema of problem files, for editors."),
    "fit": Command("fitting", "fit", "Learn about the model once, to plan for everybody."),
    "recommend": Command("recommending", "recommend", "Compute plans: which actions would overturn the decision."),
    "ask": Command("asking", "ask", "Ask a person which plans would be easier, and plan with the answers."),
    "survival": Command("surviving", "survival", "Check plans with retrained models: which of them still hold."),
    "audit": Command("auditing", "audit", "Audit a model: who has recourse, at what cost, and who provably has none."),
    "distil": Command("programs", "distil", "Distil a program: rules that people can read, and that need no model."),
    "show": Command("programs", "show", "Print a program, rule by rule, and its model card."),
    "export": Command("programs", "export", "Write a program as a page, a module, a drawing or a file; draw a trace."),
    "benchmarks": Command("benchmarking", "benchmarks_table", "Describe the five benchmark problems."),
    "experiment": Command("experimenting", "experiment", "Repeat the paper's evaluation, and ours."),
}


class LazyCommands(TyperGroup):
    """A group that lists its commands from `COMMANDS`, and imports the one that is invoked."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and build one command."""
        if cmd_name not in COMMANDS:
            return None
        command = COMMANDS[cmd_name]
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        function = getattr(import_module(f"counterplan.cli.{command.module}"), command.function)
        single.command(cmd_name, cls=HelpfulCommand)(function)
        built: Any = typer.main.get_command(single)
        for parameter in built.params:
            if not is_option(parameter):
                parameter.metavar = parameter.name.upper()  # its name in messages about errors
        return built

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])


app = typer.Typer(
    cls=LazyCommands,
    help="Which actions, in which order, would overturn a model's decision at the least cost.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        echo(f"counterplan {__version__}")
        raise typer.Exit


def run() -> None:
    """Run a command; errors that a user can fix are a message and exit code 2."""
    with guarded():
        try:
            app()
        except OSError as error:  # click's own output, such as help, goes straight to the stream
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
                raise OutputError(f"the output cannot be written: {error.strerror}") from None
            raise
