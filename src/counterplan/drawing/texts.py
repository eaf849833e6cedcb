"""Text in drawings: escaped, measured without a font, and wrapped."""

from __future__ import annotations

import unicodedata
from html import escape

from counterplan.errors import visible

_NARROW = frozenset("iljtfrI.,:;'|!()[] ·")
_WIDE = frozenset("mwMW—…→×@%")


def escaped(text: str) -> str:
    """Escape text for XML; control characters, which XML and readers cannot show, are replaced."""
    plain = "".join(letter if letter >= " " and letter not in "\ufffe\uffff" else " " for letter in text)
    return escape(visible(plain))


def text_width(text: str, size: float = 13, bold: bool = False) -> float:
    """An upper estimate of the width of a text in a sans-serif font of `size` pixels.

    Examples
    --------
    >>> round(text_width("income", 10)), round(text_width("CHANGE_INCOME", 10))
    (38, 92)
    """
    return size * sum(_letter_width(letter) for letter in text) * (1.06 if bold else 1)


def _letter_width(letter: str) -> float:
    if letter in _NARROW:
        return 0.38
    if letter in _WIDE:
        return 0.95
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    return 0.72 if letter.isupper() or letter == "_" else 0.61


def wrapped(text: str, width: float, size: float = 13, bold: bool = False) -> list[str]:
    """Break a text into lines of at most `width` pixels, between words where possible; an empty text is one line.

    Examples
    --------
    >>> wrapped("your income is below 50,000", 120)
    ['your income is', 'below 50,000']
    """
    lines, line = [], ""
    for word in text.split():
        for piece in _pieces(word, width, size, bold):
            joined = f"{line} {piece}" if line else piece
            if text_width(joined, size, bold) <= width or not line:
                line = joined
            else:
                lines.append(line)
                line = piece
    return [*lines, line]


def _pieces(word: str, width: float, size: float, bold: bool) -> list[str]:
    """A word, cut where it is wider than a line."""
    if text_width(word, size, bold) <= width:
        return [word]
    pieces, taken = [""], 0.0
    for letter in word:
        taken += text_width(letter, size, bold)
        if taken > width and pieces[-1]:
            pieces.append("")
            taken = text_width(letter, size, bold)
        pieces[-1] += letter
    return pieces
