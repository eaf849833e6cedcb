"""A card drawn: a block for each feature, with a bar for the points of each of its values."""

from __future__ import annotations

from typing import NamedTuple

from counterplan.drawing import Sheet, text_width, wrapped
from counterplan.problem.values import visible
from counterplan.program.export.resolved import title
from counterplan.scorecard.protocol import ScorecardParts
from counterplan.scorecard.wording import entry_texts, making, meaning, performance

_MARGIN, _GAP = 24.0, 36.0
_NAMES, _BAR, _NUMBER = 190.0, 96.0, 44.0
"""Widths of the names of values, of the longest bar, and of its number."""
_ROW, _HEAD, _BETWEEN = 19.0, 20.0, 16.0
_COLUMN = _NAMES + _BAR + _NUMBER
_STYLE = ".drawing .points { fill: var(--arc); } .drawing .track { fill: var(--first); }"


class _Block(NamedTuple):
    """The rows of a feature: the lines of its name, and of each value with its points."""

    name: list[str]
    rows: list[tuple[list[str], int]]

    @property
    def height(self) -> float:
        """The height of the block."""
        return len(self.name) * _HEAD + sum(len(lines) for lines, _ in self.rows) * _ROW + _BETWEEN


def to_svg(card: ScorecardParts) -> str:
    """The drawing as a standalone file, with styles for light and dark."""
    blocks = [_block(card, place) for place in range(len(card.features))]
    largest = max((points for block in blocks for _, points in block.rows), default=0) or 1
    columns = _columns(blocks, 1 if len(blocks) < 3 else 2 if card.entries <= 60 else 3)
    width = len(columns) * (_COLUMN + _GAP) - _GAP
    sheet = Sheet()
    y = sheet.text(_MARGIN, _MARGIN, wrapped(f"{title(card.problem)}: points", width, 19, True), "bold", 19)
    y = sheet.text(_MARGIN, y + 6, wrapped(meaning(card), width, 14), size=14) + 16
    top, bottom = y, y
    for number, column in enumerate(columns):
        y = top
        for block in column:
            y = _draw(sheet, block, _MARGIN + number * (_COLUMN + _GAP), y, largest) + _BETWEEN
        bottom = max(bottom, y)
    notes = [performance(card), making(card), "Not checked with the model that decides."]
    for note in filter(None, notes):
        bottom = sheet.text(_MARGIN, bottom, wrapped(note, width, 12), "soft", 12)
    described = "; ".join(
        f"{' '.join(block.name)}: " + ", ".join(f"{' '.join(lines)} {points}" for lines, points in block.rows)
        for block in blocks
    )
    name = f"{title(card.problem)}: the points of each value"
    return sheet.svg(name, f"{meaning(card)} {described}", margin=_MARGIN, style=_STYLE)


def _block(card: ScorecardParts, place: int) -> _Block:
    one = card.features[place]
    feature = card.problem.features[one.feature]
    texts = zip(entry_texts(feature, one), one.all_points, strict=True)
    rows = [(wrapped(visible(text), _NAMES - 10, 12.5), points) for text, points in texts]
    return _Block(wrapped(visible(feature.label), _COLUMN, 13.5, True), rows)


def _columns(blocks: list[_Block], count: int) -> list[list[_Block]]:
    """The blocks, in their order, in columns of similar height."""
    share, height = sum(block.height for block in blocks) / count, 0.0
    columns: list[list[_Block]] = [[]]
    for block in blocks:
        if columns[-1] and len(columns) < count and height + block.height / 2 > share * len(columns):
            columns.append([])
        columns[-1].append(block)
        height += block.height
    return columns


def _draw(sheet: Sheet, block: _Block, x: float, y: float, largest: int) -> float:
    """Draw a block; returns the y below it."""
    y = sheet.text(x, y, block.name, "bold", 13.5) + 2
    for lines, points in block.rows:
        sheet.text(x, y, lines, size=12.5)
        left, length = x + _NAMES, _BAR * points / largest
        sheet.add(f'<rect class="track" x="{left:.1f}" y="{y + 7.5:.1f}" width="{_BAR:.1f}" height="3" rx="1.5"/>')
        if points:
            sheet.add(f'<rect class="points" x="{left:.1f}" y="{y + 3:.1f}" width="{length:.1f}" height="12" rx="3"/>')
        text = f"{points:,}"
        sheet.text(left + _BAR + _NUMBER - text_width(text, 12.5), y, text, "bold" if points else "soft", 12.5)
        y += len(lines) * _ROW
    sheet.cover(x + _COLUMN, y)
    return y
