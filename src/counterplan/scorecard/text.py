"""A card as a table of text that fits one page."""

from __future__ import annotations

import textwrap

from counterplan.problem.values import visible
from counterplan.program.export.resolved import title
from counterplan.scorecard.protocol import ScorecardParts
from counterplan.scorecard.wording import entry_texts, making, meaning, performance

WIDTH = 100
_LABELS = 34
"""Most columns of the labels of features."""
_SEPARATOR = "    "


def card_text(card: ScorecardParts) -> str:
    """The card as text: a row for each feature with its values and their points, and what the points mean."""
    rows = [_row(card, place) for place in range(len(card.features))]
    width = min(_LABELS, max((len(label) for label, _ in rows), default=0))
    lines = [f"{title(card.problem)}: points", *_wrapped(meaning(card)), ""]
    for label, entries in rows:
        labels = textwrap.wrap(label, width) or [""]
        values = _filled(entries, WIDTH - width - 2)
        for i in range(max(len(labels), len(values))):
            left, right = (some[i] if i < len(some) else "" for some in (labels, values))
            lines.append(f"{left:<{width}}  {right}".rstrip())
    notes = [performance(card), making(card), _not_counted(card)]
    checked = "Nothing of this is checked with the model that decides: have a plan checked before you rely on it."
    return visible("\n".join([*lines, "", *(line for note in [*notes, checked] if note for line in _wrapped(note))]))


def _row(card: ScorecardParts, place: int) -> tuple[str, list[tuple[str, str]]]:
    """The label of a feature, and its values with their points."""
    one = card.features[place]
    feature = card.problem.features[one.feature]
    texts = zip(entry_texts(feature, one), one.all_points, strict=True)
    return visible(feature.label), [(visible(text), f"{points:,}") for text, points in texts]


def _filled(entries: list[tuple[str, str]], width: int) -> list[str]:
    """Entries in lines of at most `width` columns, those of one feature below each other."""
    numbers = max(len(points) for _, points in entries)
    names = min(max(len(name) for name, _ in entries), width - numbers - 2)
    cells = [
        f"{textwrap.shorten(name, names, placeholder='…'):<{names}}  {points:>{numbers}}" for name, points in entries
    ]
    count = max(1, (width + len(_SEPARATOR)) // (names + 2 + numbers + len(_SEPARATOR)))
    rows = -(-len(cells) // count)
    return [_SEPARATOR.join(cells[row::rows]) for row in range(rows)]


def _not_counted(card: ScorecardParts) -> str:
    """The protected features, and whether there are points for them."""
    counted = {one.feature for one in card.features}
    protected = [feature for feature in card.problem.features if feature.protected]
    texts = [
        f"{start} {', '.join(feature.label for feature in some)}."
        for start, some in (
            ("There are points for protected features:", [one for one in protected if one.index in counted]),
            ("No points for", [one for one in protected if one.index not in counted]),
        )
        if some
    ]
    return " ".join(texts)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH)
