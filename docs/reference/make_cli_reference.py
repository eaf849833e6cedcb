"""Write docs/reference/cli.md from the commands of the command line: `make cli-reference`."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from counterplan.cli.app import COMMANDS, app
from counterplan.cli.help import annotations_of, default_text, is_option, limits, type_name, usage_pieces

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


def page() -> str:
    """The text of the page."""
    rows = "\n".join(f"| [`{name}`](#{name}) | {_cell(command.help)} |" for name, command in COMMANDS.items())
    usage = "counterplan COMMAND [OPTIONS] [ARGUMENTS]"
    head = INTRODUCTION.format(help=ROOT.help, usage=usage, rows=rows)
    return "\n".join([head, *(_section(name) for name in COMMANDS)])


def _section(name: str) -> str:
    """The heading, summary, usage, parameters and examples of a command."""
    built = ROOT.get_command(None, name)
    types = annotations_of(built)
    shown = [one for one in built.params if not getattr(one, "hidden", False) and one.name in types]
    words = ["counterplan", name, *usage_pieces(built)]
    lines = [f"## {name}", "", inspect.cleandoc(built.help), "", "```text", " ".join(words), "```", ""]
    lines += _table("argument", [one for one in shown if not is_option(one)], types)
    lines += _table("option", [one for one in shown if is_option(one)], types)
    lines += ["```sh", *(f"counterplan {example}" for example in EXAMPLES[name]), "```", ""]
    return "\n".join(lines)


def _table(what: str, parameters: list[Any], types: dict[str, Any]) -> list[str]:
    """A table of arguments or options; nothing if there are none."""
    if not parameters:
        return []
    rows = [f"| {' | '.join(_row(one, types[one.name]))} |" for one in parameters]
    return [f"| {what} | type | default | meaning |", "|---|---|---|---|", *rows, ""]


def _row(parameter: Any, annotation: Any) -> Iterator[str]:
    """Name, type, default and meaning of a parameter."""
    names = [*parameter.opts, *parameter.secondary_opts] if is_option(parameter) else [parameter.name.upper()]
    yield ", ".join(f"`{name}`" for name in names)
    kind = type_name(annotation)
    described = ", ".join([" ".join([kind, *limits(parameter)[:1]]), *limits(parameter)[1:]])
    yield f"{described}, repeatable" if parameter.multiple or parameter.nargs == -1 else described
    yield "required" if parameter.required else _default(parameter, kind)
    yield _cell(parameter.help or "")


def _default(parameter: Any, kind: str) -> str:
    default = default_text(parameter, kind == "flag")
    if kind == "flag" and not parameter.secondary_opts:
        return "off"
    return "–" if default is None else default if kind == "flag" else f"`{default}`"


def _cell(text: str) -> str:
    """A text as one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def parse(example: str) -> None:
    """Parse an example's words with its command, and run nothing; an unknown option is an error."""
    name, *words = shlex.split(example)
    ROOT.get_command(None, name).make_context(name, words)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
