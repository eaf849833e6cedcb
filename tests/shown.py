"""Comparison of what code prints with the output that a page shows."""

from __future__ import annotations

import re

TOLERANCE = 0.02
"""Relative and absolute difference of decimals where something is learned."""
_DECIMAL = re.compile(r"\d+\.\d+")


def same(printed: str, shown: str, *, learned: bool) -> bool:
    """Whether outputs are equal.

    The rounding errors of processors differ, and so does what is `learned` on them: decimals may then differ a little,
    and spaces, which align them. Words and whole numbers may not.
    """
    if printed.strip() == shown.strip():
        return True
    if not learned or _skeleton(printed) != _skeleton(shown):
        return False
    pairs = zip(map(float, _DECIMAL.findall(printed)), map(float, _DECIMAL.findall(shown)), strict=True)
    return all(abs(one - other) <= TOLERANCE * max(1.0, abs(other)) for one, other in pairs)


def _skeleton(text: str) -> str:
    return re.sub(r" +", " ", _DECIMAL.sub("0.0", text)).strip()
