"""Write docs/reference/cli.md from the commands of the command line: `make cli-reference`."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import typer

from counterplan.cli.app import COMMANDS, Command, app

PAGE = Path(__file__).with_name("cli.md")
ROOT: Any = typer.main.get_command(app)
INTRODUCTION = """\
# Command line

{help}

```text
{usage}
```

This page is generated from the commands by `make cli-reference`. `counterplan COMMAND --help` prints the same for one
command, `counterplan --version` the version.

| command | purpose |
|---|---|
{rows}

## Common rules

- A problem is a benchmark's name (`counterplan benchmarks` lists them), a problem file, or a folder that `fit` wrote.
- A benchmark has people and a model of its own. Other problems need `--people` and `--model`.
- An option of type *flag* takes no value. An option that is *repeatable* can be given several times.
- Results go to the standard output; progress, notices and errors go to the standard error.
- Exit codes: 0 if the command succeeded, 1 if the reader of its output ended first, as in `counterplan … | head`, 2 if
  the input, the options or a file have to be corrected, 130 after Ctrl-C.
"""
EXAMPLES = {
    "check": ("check loan.yaml", "check loan.yaml --people people.csv --model scoring:model"),
    "describe": ("describe german",),
    "init": ("init people.csv --outcome decision --out loan.yaml",),
    "schema": ("schema --out problem.schema.json",),
    "fit": ("fit german --out learned", "fit loan.yaml --people people.csv --model scoring:model --out learned"),
    "recommend": (
        "recommend german --person 14",
        "recommend learned --people others.csv --model scoring:model --csv plans.csv",
    ),
    "ask": ("ask german --person 14",),
    "survival": ("survival plans.json --problem german --model scoring:retrained",),
    "audit": ("audit german --out audit",),
    "distil": ("distil learned", "distil learned --form card"),
    "show": ("show learned",),
    "export": ("export learned --to page.html",),
    "benchmarks": ("benchmarks german syn",),
    "experiment": ("experiment --out results --quick",),
}
"""Command lines by command, without the program's name."""
_TYPES = {str: "text", int: "integer", float: "number", Path: "path", bool: "flag"}


def page() -> str:
    """The text of the page."""
    rows = "\n".join(f"| [`{name}`](#{name}) | {_cell(command.help)} |" for name, command in COMMANDS.items())
    usage = "counterplan COMMAND [OPTIONS] [ARGUMENTS]"
    head = INTRODUCTION.format(help=ROOT.help, usage=usage, rows=rows)
    return "\n".join([head, *(_section(name, command) for name, command in COMMANDS.items())])


def _section(name: str, command: Command) -> str:
    """The heading, summary, usage, parameters and examples of a command."""
    built, function = ROOT.get_command(None, name), _function(command)
    types = {key: one.annotation for key, one in inspect.signature(function, eval_str=True).parameters.items()}
    shown = [one for one in built.params if not getattr(one, "hidden", False) and one.name in types]
    arguments = [one for one in shown if not one.opts[0].startswith("-")]
    options = [one for one in shown if one.opts[0].startswith("-")]
    required = [f"{one.opts[0]} {_type(types[one.name]).upper()}" for one in options if one.required]
    places = [_place(one) for one in arguments]
    words = ["counterplan", name, *places, *required, *(["[OPTIONS]"] if len(options) > len(required) else [])]
    lines = [f"## {name}", "", inspect.cleandoc(built.help), "", "```text", " ".join(words), "```", ""]
    lines += _table("argument", arguments, types) + _table("option", options, types)
    lines += ["```sh", *(f"counterplan {example}" for example in EXAMPLES[name]), "```", ""]
    return "\n".join(lines)


def _function(command: Command) -> Any:
    return getattr(import_module(f"counterplan.cli.{command.module}"), command.function)


def _place(argument: Any) -> str:
    """An argument in a usage line."""
    name = f"{argument.name.upper()}{'...' if argument.nargs == -1 else ''}"
    return name if argument.required else f"[{name}]"


def _table(what: str, parameters: list[Any], types: dict[str, Any]) -> list[str]:
    """A table of arguments or options; nothing if there are none."""
    if not parameters:
        return []
    rows = [f"| {' | '.join(_row(one, types[one.name]))} |" for one in parameters]
    return [f"| {what} | type | default | meaning |", "|---|---|---|---|", *rows, ""]


def _row(parameter: Any, annotation: Any) -> Iterator[str]:
    """Name, type, default and meaning of a parameter."""
    if parameter.opts[0].startswith("-"):
        names = [*parameter.opts, *parameter.secondary_opts]
        yield ", ".join(f"`{name}`" for name in names)
    else:
        yield f"`{parameter.name.upper()}`"
    least, most = getattr(parameter, "min", None), getattr(parameter, "max", None)
    kind = _type(annotation)
    kind += "" if least is None else f" ≥ {least}"
    kind += "" if most is None else f", ≤ {most}"
    repeated = parameter.multiple or parameter.nargs == -1
    yield f"{kind}, repeatable" if repeated else kind
    yield "required" if parameter.required else _default(parameter, kind)
    yield _cell(parameter.help or "")


def _default(parameter: Any, kind: str) -> str:
    default = parameter.default() if callable(parameter.default) else parameter.default
    if default is None or default == () or default == []:
        return "–"
    if kind == "flag":
        return ("on" if default else "off") if parameter.secondary_opts else "off"
    return f"`{default}`"


def _type(annotation: Any) -> str:
    """The name of a type: `Annotated[list[int] | None, …]` is an integer."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    inner = [one for one in get_args(annotation) if one not in (NoneType, ...)]
    return _TYPES[annotation] if annotation in _TYPES else _type(inner[0])


def _cell(text: str) -> str:
    """A text as one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def parse(example: str) -> None:
    """Parse an example's words with its command, and run nothing; an unknown option is an error."""
    name, *words = shlex.split(example)
    ROOT.get_command(None, name).make_context(name, words)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
