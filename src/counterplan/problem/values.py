"""The text that identifies a category's value in YAML, in a table and in a model's output, and texts for messages."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from counterplan.errors import visible as visible

MAX_HINT_LENGTH = 200
MAX_HINT_CANDIDATES = 1_000

Native: TypeAlias = bool | int | float | str
"""A category's value in a table: `7`, `True` and `"manager"` are all valid."""


def is_missing(value: object) -> bool:
    """Whether `value` is None, NaN, NA or NaT."""
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


def did_you_mean(wrong: str, candidates: Iterable[str]) -> str:
    """A hint to append to an error message; empty if no candidate is close to `wrong`.

    Long texts and candidates beyond the first thousand are not compared, which keeps hints cheap.
    """
    if len(wrong) > MAX_HINT_LENGTH:
        return ""
    names = [name for name in islice(candidates, MAX_HINT_CANDIDATES) if len(name) <= MAX_HINT_LENGTH]
    close = difflib.get_close_matches(wrong, names, n=1, cutoff=0.6)
    if not close:
        same = [name for name in names if name.casefold() == wrong.casefold()]
        close = same[:1]
    return f"; did you mean '{close[0]}'?" if close else ""


def cut(text: object, most: int = 80) -> str:
    """Shorten a text for an error message to at most `most` characters."""
    whole = str(text)
    return whole if len(whole) <= most else whole[: most - 1] + "…"


def one_line(text: object, most: int = 80) -> str:
    """Shorten a text of unknown origin to at most `most` characters, and show line breaks and the like as U+FFFD."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in cut(text, most))


def listed(names: Iterable[str], most: int = 8) -> str:
    """Join names for an error message: all if they are few, otherwise the first ones and the total."""
    all_names = list(names)
    shown = ", ".join(cut(name) for name in all_names[:most])
    return shown if len(all_names) <= most else f"{shown}, … ({len(all_names)} in all)"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: "1 answer", "2 answers"; "1 person", "2 people"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def describe_target(target: Iterable[str]) -> str:
    """The outcomes of a target in words, as applicants read them: `A`, `A or B`, `A, B or C`."""
    *others, last = target
    return f"{', '.join(others)} or {last}" if others else last
