"""Export of scorecards: a page (.html), a Python module (.py), a drawing (.svg) or the card's file (.json).

Everything here is text made from a card and its problem; no query is sent, and nothing here is run by counterplan.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from counterplan.program.export.formats import write_as
from counterplan.scorecard.export.html import to_html
from counterplan.scorecard.export.python import to_python
from counterplan.scorecard.export.svg import to_svg
from counterplan.scorecard.io import to_json
from counterplan.scorecard.protocol import ScorecardParts

FORMATS: dict[str, Callable[[ScorecardParts], str]] = {
    ".json": to_json,
    ".html": lambda card: to_html(card=card),
    ".py": to_python,
    ".svg": to_svg,
}
__all__ = ["FORMATS", "export", "to_html", "to_python", "to_svg"]


def export(card: ScorecardParts, path: str | Path) -> None:
    """Write `card` to `path` in the format that its extension names, whole or not at all."""
    write_as(FORMATS, card, path, "card")
