"""Export of programs: a drawing (.svg, .dot), a Python module (.py), a page (.html) or the program's file (.json).

`trace_svg` draws the way of one person through a program.

Everything here is text made from a program and its problem; nobody is asked, and nothing here is run by counterplan.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from counterplan.program.export.dot import to_dot
from counterplan.program.export.formats import write_as
from counterplan.program.export.html import to_html
from counterplan.program.export.python import to_python
from counterplan.program.export.svg import to_svg
from counterplan.program.export.trace import trace_svg
from counterplan.program.io import to_json
from counterplan.program.protocol import ProgramLike

FORMATS: dict[str, Callable[[ProgramLike], str]] = {
    ".json": to_json,
    ".html": to_html,
    ".py": to_python,
    ".svg": to_svg,
    ".dot": to_dot,
}
__all__ = ["FORMATS", "export", "to_dot", "to_html", "to_python", "to_svg", "trace_svg"]


def export(program: ProgramLike, path: str | Path) -> None:
    """Write `program` to `path` in the format that its extension names, whole or not at all."""
    write_as(FORMATS, program, path, "program")
