"""A card in a notebook: its drawing, and what to know about it."""

from __future__ import annotations

from html import escape

from counterplan.drawing import image_tag
from counterplan.program.export.resolved import title
from counterplan.scorecard.export.svg import to_svg
from counterplan.scorecard.protocol import ScorecardParts
from counterplan.scorecard.wording import limits


def to_display(card: ScorecardParts) -> str:
    """HTML with the drawing as an embedded image, so that its style cannot leak; all text is escaped."""
    items = "".join(f"<li>{escape(line)}</li>" for line in limits(card))
    return (
        f'<div class="counterplan-card">{image_tag(to_svg(card), title(card.problem))}'
        f"<details><summary>Limitations</summary><ul>{items}</ul></details></div>"
    )
