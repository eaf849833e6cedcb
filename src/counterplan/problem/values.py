"""One text for one value: how a category is recognised in YAML, in a table, and in a model's answer."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

Native: TypeAlias = bool | int | float | str
"""A category as a user's table holds it: `7`, `True` and `"manager"` are all fine category values."""


def is_missing(value: object) -> bool:
    """Whether `value` stands for "not known": None, NaN, NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def text_of(value: Any) -> str:
    """The text that identifies a category: "manager", "7" for 7 and 7.0, "true" for True."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Replace characters that control a terminal or change the writing direction by U+FFFD."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)


def did_you_mean(wrong: str, candidates: Iterable[str]) -> str:
    """A hint to append to an error message, or nothing if no candidate is close to `wrong`."""
    names = list(candidates)
    close = difflib.get_close_matches(wrong, names, n=1, cutoff=0.6)
    if not close:
        same = [name for name in names if name.casefold() == wrong.casefold()]
        close = same[:1]
    return f"; did you mean '{close[0]}'?" if close else ""


def cut(text: object, most: int = 80) -> str:
    """A text for an error message, no longer than `most`."""
    whole = str(text)
    return whole if len(whole) <= most else whole[: most - 1] + "…"


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names for an error message: all of them if they are few, otherwise the first and how many more."""
    all_names = list(names)
    shown = ", ".join(all_names[:most])
    return shown if len(all_names) <= most else f"{shown}, … ({len(all_names)} in all)"
