"""Comparison of what code prints with the output that a page shows."""

from __future__ import annotations

import re

TOLERANCE = 0.02
"""Relative and absolute difference of decimals and of large counts where something is learned."""
_INEXACT = re.compile(r"\d+\.\d+|\d{1,3}(?:,\d{3})+")
"""Decimals, and counts from 1,000 on, as they are printed with separators."""


def same(printed: str, shown: str, *, learned: bool) -> bool:
    """Whether outputs are equal.

    The rounding errors of processors differ, and so does what is `learned` on them: decimals and large counts, such as
    those of queries, may then differ a little, and spaces, which align them. Words and other whole numbers may not.
    """
    if printed.strip() == shown.strip():
        return True
    if not learned or _skeleton(printed) != _skeleton(shown):
        return False
    pairs = zip(_numbers(printed), _numbers(shown), strict=True)
    return all(abs(one - other) <= TOLERANCE * max(1.0, abs(other)) for one, other in pairs)


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in _INEXACT.findall(text)]


def _skeleton(text: str) -> str:
    return re.sub(r" +", " ", _INEXACT.sub("0.0", text)).strip()
