"""A program in a notebook: its drawing and its card."""

from __future__ import annotations

from html import escape

from counterplan.drawing import image_tag
from counterplan.program.export.model_card_summary import limits, summary
from counterplan.program.export.resolved import title
from counterplan.program.export.svg import to_svg
from counterplan.program.protocol import ProgramLike


def to_display(program: ProgramLike) -> str:
    """HTML with the drawing as an embedded image, so that its style cannot leak, and the card; all text is escaped."""
    head = "<th style='text-align: left'>"
    pairs = "".join(f"<tr>{head}{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in summary(program))
    items = "".join(f"<li>{escape(line)}</li>" for line in limits(program))
    return (
        '<div class="counterplan-program">'
        f"{image_tag(to_svg(program), title(program.problem))}"
        f"{f'<table>{pairs}</table>' if pairs else ''}"
        f"<details><summary>Limitations</summary><ul>{items}</ul></details></div>"
    )
