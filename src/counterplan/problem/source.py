"""A YAML file as plain data, with the line of every location in it.

Scalars follow YAML 1.2: `no`, `on` and `0o7x` are texts. What a user may have meant as a name — `007`, `1e3`, `True` —
is kept as they wrote it, in a `Plain` text; whoever expects a number or a truth value reads it with `as_number` or
`as_truth`. Python objects, tags and merge keys are not part of a problem file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Location = tuple[str | int, ...]
"""The way to a value: ("functions", "CHANGE_JOB", "arguments", 2)."""

LARGEST_FILE = 5_000_000
MOST_VALUES = 200_000

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_HALF = re.compile("[\ud800-\udfff]")
_USUAL_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}
_INFINITY = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf")}


class Plain(str):
    """A scalar written without quotes, neither a plain whole number nor true, false or null: kept as written."""

    __slots__ = ()


@dataclass(frozen=True)
class Finding:
    """Something wrong (`error`) or doubtful (`warning`) at one location of a problem file."""

    message: str
    location: Location = ()
    severity: str = "error"
    line: int | None = None

    def text(self, name: str) -> str:
        """`loan.yaml:12: functions.CHANGE_JOB.arguments[2]: …`"""
        line = f"{name}:{self.line}" if self.line else name
        where = format_location(self.location)
        return f"{line}: {where}: {self.message}" if where else f"{line}: {self.message}"


def format_location(location: Sequence[str | int]) -> str:
    """A location as people write it: `functions.CHANGE_JOB.arguments[2]`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


@dataclass
class Source:
    """What a file (or a dict) holds, where each thing stands, and what could not be read."""

    name: str
    data: Any = None
    lines: dict[Location, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def line(self, location: Location) -> int | None:
        """The line of `location`, or of the nearest thing around it."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location)

    def report(self, message: str, location: Location = (), severity: str = "error") -> None:
        """Note a finding, with its line."""
        self.findings.append(Finding(message, location, severity, self.line(location)))


def read_source(path: str | Path) -> Source:
    """Read a problem file; what is wrong with it as YAML is in `findings`."""
    source = Source(str(path))
    try:
        raw = Path(path).read_bytes()
        if len(raw) > LARGEST_FILE:
            source.report(f"the file has {len(raw):,} bytes; a problem file has at most {LARGEST_FILE:,}")
            return source
        text = raw.decode("utf-8-sig")
    except FileNotFoundError:
        source.report("there is no such file")
    except IsADirectoryError:
        source.report("this is a directory, not a file")
    except UnicodeDecodeError as error:
        source.report(f"the file is not UTF-8 text (byte {error.start})")
    except (OSError, ValueError) as error:
        source.report(f"the file cannot be read: {getattr(error, 'strerror', None) or error}")
    else:
        parse_yaml(text, source)
    return source


def parse_yaml(text: str, source: Source) -> None:
    """Fill `source` from YAML text."""
    try:
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = [error.problem or "cannot be read", error.context or ""]
        if not said[1].startswith("while"):  # "expected a single document", "but found another"
            said.reverse()
        line = mark.line + 1 if mark else None
        source.findings.append(Finding(f"not YAML: {' '.join(said).strip()}", line=line))
        return
    except yaml.YAMLError as error:
        source.report("not YAML: " + " ".join(str(error).split())[:200])
        return
    except (ValueError, OverflowError):
        source.report('not YAML: a "\\U…" in double quotes stands for no character')
        return
    except RecursionError:
        source.report("not YAML: nested too deeply")
        return
    if root is None:
        source.report("the file is empty")
        return
    builder = _Builder(source)
    try:
        source.data = builder.build(root, ())
    except _TooMuch as error:
        source.data = None
        source.report(str(error))


class _TooMuch(Exception):
    pass


class _Builder:
    """Turns YAML nodes into dicts, lists and scalars, noting the line of each."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.count = 0

    def build(self, node: yaml.Node, location: Location) -> Any:
        self.count += 1
        if self.count > MOST_VALUES:
            raise _TooMuch(f"the file holds more than {MOST_VALUES:,} values (are its aliases nested?)")
        if len(location) > 20:
            raise _TooMuch("nested too deeply")
        self.source.lines.setdefault(location, node.start_mark.line + 1)
        if node.tag not in _USUAL_TAGS:
            self.source.report(f"the tag {node.tag} is not allowed here", location)
            return None
        if isinstance(node, yaml.ScalarNode):
            if _HALF.search(node.value):
                self.source.report("has half a character (a lone surrogate) in it", location)
                return None
            return scalar(node.value) if not node.style else str(node.value)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*location, i)) for i, item in enumerate(node.value)]
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or _HALF.search(key_node.value):
                self.source.report("a key must be a plain word", location)
                continue
            key = str(key_node.value)
            inner = (*location, key)
            self.source.lines.setdefault(inner, key_node.start_mark.line + 1)
            if key in result:
                line = key_node.start_mark.line + 1
                self.source.findings.append(Finding("this key is written twice", inner, line=line))
            result[key] = self.build(value_node, inner)
        return result


def scalar(text: str) -> Any:
    """A scalar without quotes, by YAML 1.2, but kept as text where the number would not print the same."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text) and len(text) < 16:
        return int(text)
    return Plain(text)


def as_number(value: Any) -> Any:
    """A number if `value` is one as YAML 1.2 writes it, otherwise `value` itself."""
    if isinstance(value, Plain):
        if _NUMBER.fullmatch(value):
            return float(value)
        return _INFINITY.get(value.lower(), value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > sys.float_info.max:
        return float("inf") if value > 0 else float("-inf")
    return value


def as_truth(value: Any) -> Any:
    """True or False if `value` is one as YAML 1.2 writes it, otherwise `value` itself."""
    if isinstance(value, Plain) and value in ("True", "TRUE", "False", "FALSE"):
        return value.lower() == "true"
    return value
