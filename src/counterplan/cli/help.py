"""The help of a command: names and types of parameters as in docs/reference/cli.md, which is generated from these."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from typer.core import TyperCommand

_TYPES = {str: "text", int: "integer", float: "number", Path: "path", bool: "flag"}


class HelpfulCommand(TyperCommand):
    """A command whose help shows the types of options as TEXT, INTEGER, NUMBER and PATH."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of the usage line after the command."""
        return usage_pieces(self)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options with their types, defaults and meanings."""
        types = annotations_of(self)
        records: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            if not getattr(parameter, "hidden", False):
                annotation = types.get(parameter.name or "", bool)
                records["Options" if is_option(parameter) else "Arguments"].append(_record(parameter, annotation))
        for title, rows in records.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def annotations_of(command: Any) -> Mapping[str, Any]:
    """The annotation of each parameter of a command's function, by name."""
    parameters = inspect.signature(command.callback, eval_str=True).parameters
    return {name: parameter.annotation for name, parameter in parameters.items()}


def type_name(annotation: Any) -> str:
    """The name of a type: `Annotated[list[int] | None, …]` is an integer."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    inner = [one for one in get_args(annotation) if one not in (NoneType, ...)]
    return _TYPES[annotation] if annotation in _TYPES else type_name(inner[0])


def is_option(parameter: Any) -> bool:
    """Whether a parameter is an option rather than an argument."""
    return bool(parameter.opts[0].startswith("-"))


def usage_pieces(command: Any) -> list[str]:
    """The words of a usage line: arguments, required options, and a place for the others."""
    types = annotations_of(command)
    shown = [one for one in command.params if not getattr(one, "hidden", False) and one.name in types]
    options = [one for one in shown if is_option(one)]
    places = [_place(one) for one in shown if not is_option(one)]
    required = [f"{one.opts[0]} {type_name(types[one.name]).upper()}" for one in options if one.required]
    return [*places, *required, *(["[OPTIONS]"] if len(options) > len(required) else [])]


def limits(parameter: Any) -> list[str]:
    """The least and the largest value of a number, such as `≥ 0`."""
    least, most = getattr(parameter, "min", None), getattr(parameter, "max", None)
    return [f"{sign} {number}" for sign, number in (("≥", least), ("≤", most)) if number is not None]


def default_text(parameter: Any, is_flag: bool) -> str | None:
    """The default of a parameter; None if it has none, or is a flag that is off."""
    default = parameter.default() if callable(parameter.default) else parameter.default
    if default is None or default == () or default == []:
        return None
    if is_flag:
        return ("on" if default else "off") if parameter.secondary_opts else None
    return str(default)


def _place(argument: Any) -> str:
    """An argument in a usage line."""
    name = f"{argument.name.upper()}{'...' if argument.nargs == -1 else ''}"
    return name if argument.required else f"[{name}]"


def _record(parameter: Any, annotation: Any) -> tuple[str, str]:
    """The names of a parameter with its type, and its meaning with limits and default."""
    kind = type_name(annotation)
    if is_option(parameter):
        names = [", ".join(parameter.opts), *parameter.secondary_opts]
        left = " / ".join(names) + ("" if kind == "flag" else f" {kind.upper()}")
    else:
        left = parameter.name.upper()
    default = default_text(parameter, kind == "flag")
    notes = [note.replace("≥", ">=").replace("≤", "<=") for note in limits(parameter)]
    notes += [] if default is None or parameter.required else [f"default: {default}"]
    notes += ["required"] if parameter.required else []
    return left, "  ".join(part for part in (parameter.help or "", f"[{'; '.join(notes)}]" if notes else "") if part)
