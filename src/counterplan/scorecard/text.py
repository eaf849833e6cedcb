"""A scorecard as text: a table that fits a page, with one line, or a few, for each feature."""

from __future__ import annotations

import math
import textwrap

from counterplan.problem.values import visible
from counterplan.scorecard.io import CardParts
from counterplan.scorecard.wording import entry_texts

WIDTH = 110
_WIDEST_LABEL = 36


def card_text(card: CardParts) -> str:
    """The card in plain words: the points of each value, and how many are enough."""
    problem = card.problem
    entries = sum(len(one.all_points) for one in card.features)
    outcome = problem.outcome.goal
    likely = 1 / (1 + math.exp(min(max(card.shift - card.slope * card.needed, -700.0), 700.0)))
    lines = [
        f"{problem.name}: a card of {entries:,} entries; {card.needed:,} points are needed",
        *textwrap.wrap(
            f"Add the points of each line. With {card.needed:,} points or more the decision is likely to be {outcome} "
            f"(estimated: in {likely:.0%} of such cases). A plan takes the least effort to get there.",
            WIDTH,
        ),
        "",
    ]
    rows = []
    for one in card.features:
        feature = problem.features[one.feature]
        texts = entry_texts(feature, one)
        rows.append((feature.label, [f"{text}: {own}" for text, own in zip(texts, one.all_points, strict=True)]))
    width = min(max((len(label) for label, _ in rows), default=0), _WIDEST_LABEL)
    for label, cells in rows:
        names = textwrap.wrap(label, width) or [""]
        values = _joined(cells, WIDTH - width - 4)
        for i in range(max(len(names), len(values))):
            name, value = (part[i] if i < len(part) else "" for part in (names, values))
            lines.append(f"  {name:<{width}}  {value}".rstrip())
    return visible("\n".join(lines))


def _joined(cells: list[str], width: int) -> list[str]:
    """Cells with separators, in lines of at most `width` if they fit."""
    lines = [""]
    for cell in cells:
        longer = f"{lines[-1]} | {cell}" if lines[-1] else cell
        if lines[-1] and len(longer) > width:
            lines.append(cell)
        else:
            lines[-1] = longer
    return lines
