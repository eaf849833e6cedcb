"""The data of a problem with the line of every location in it, and the findings about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from counterplan.problem import limits
from counterplan.problem.values import cut, visible

Location = tuple[str | int, ...]
"""The path to a value: ("functions", "CHANGE_JOB", "arguments", 2)."""


class TooManyFindings(Exception):
    """Raised by `Source.report` to end the reading of a file with more than `MAX_FINDINGS` mistakes."""


class LimitExceeded(Exception):
    """Data are larger than a problem can be; `location` is where the limit was exceeded."""

    def __init__(self, message: str, location: Location = (), line: int | None = None) -> None:
        super().__init__(message)
        self.location = location
        self.line = line


@dataclass(frozen=True)
class Finding:
    """A mistake (`error`), a likely mistake (`warning`) or a `doubt` from data at one location of a problem file.

    Attributes
    ----------
    message : str
        The cause and, where possible, the way out.
    location : tuple of str and int
        The path to the value, such as ``("functions", "CHANGE_JOB", "arguments", 2)``.
    severity : {"error", "warning", "doubt"}
    line : int or None
        The line in the file; None for data in memory.
    """

    message: str
    location: Location = ()
    severity: str = "error"
    line: int | None = None

    def text(self, name: str) -> str:
        """Format the finding for the file `name`: `loan.yaml:12: functions.CHANGE_JOB.arguments[2]: …`."""
        line = f"{name}:{self.line}" if self.line else name
        location = format_location(self.location)
        return visible(f"{line}: {location}: {self.message}" if location else f"{line}: {self.message}")


def format_location(location: Sequence[str | int]) -> str:
    """Format a location: `functions.CHANGE_JOB.arguments[2]`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{cut(part)}" if text else cut(part)
    return text


@dataclass
class Source:
    """The data of a file (or a dict), the line of every location, and the findings so far."""

    name: str
    data: Any = None
    lines: dict[Location, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def line(self, location: Location) -> int | None:
        """The line of `location`, or of the nearest enclosing value that has one."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location)

    def report(self, message: str, location: Location = (), severity: str = "error", line: int | None = None) -> None:
        """Add a finding; its line is looked up unless it is given."""
        if len(self.findings) >= limits.MAX_FINDINGS:
            raise TooManyFindings
        self.findings.append(Finding(cut(message, 1_000), location, severity, line or self.line(location)))

    @property
    def has_errors(self) -> bool:
        """Whether a finding is an error."""
        return any(finding.severity == "error" for finding in self.findings)


def check_size(data: Any) -> None:
    """Raise `LimitExceeded` if plain data (dicts, lists, scalars) are larger or deeper than a problem can be."""
    nodes = characters = 0
    stack: list[tuple[Any, Location]] = [(data, ())]
    while stack:
        value, location = stack.pop()
        nodes += 1
        if len(location) > limits.MAX_DEPTH:
            raise too_deep(location)
        if isinstance(value, str):
            characters += len(value)
            if len(value) > limits.MAX_TEXT_LENGTH:
                raise too_long(location)
        elif isinstance(value, int) and value.bit_length() > limits.MAX_DIGITS * 10 / 3:
            raise LimitExceeded(f"a whole number has at most {limits.MAX_DIGITS:,} digits", location)
        elif isinstance(value, Mapping):
            nodes += len(value)
            characters += sum(len(key) for key in value if isinstance(key, str))
            if nodes + len(stack) <= limits.MAX_NODES:
                stack += [(item, (*location, str(key)[:80])) for key, item in value.items()]
        elif isinstance(value, (list, tuple)) and nodes + len(stack) + len(value) <= limits.MAX_NODES:
            stack += [(item, (*location, i)) for i, item in enumerate(value)]
        elif isinstance(value, (list, tuple)):
            nodes += len(value)
        if nodes + len(stack) > limits.MAX_NODES:
            raise too_many_nodes(location)
        if characters > limits.MAX_FILE_BYTES:
            most = limits.MAX_FILE_BYTES
            raise LimitExceeded(f"the texts of a problem have at most {most:,} characters in all", location)


def too_many_nodes(location: Location = (), line: int | None = None) -> LimitExceeded:
    """The error for data of more than `MAX_NODES` nodes."""
    message = f"a problem has at most {limits.MAX_NODES:,} keys and values in all, and there are more (nested aliases?)"
    return LimitExceeded(message, location, line)


def too_deep(location: Location = (), line: int | None = None) -> LimitExceeded:
    """The error for data nested deeper than `MAX_DEPTH`."""
    message = f"nested too deeply: at most {limits.MAX_DEPTH} lists and mappings within one another"
    return LimitExceeded(message, location, line)


def too_long(location: Location = (), line: int | None = None) -> LimitExceeded:
    """The error for a text of more than `MAX_TEXT_LENGTH` characters."""
    return LimitExceeded(f"a text has at most {limits.MAX_TEXT_LENGTH:,} characters", location, line)
