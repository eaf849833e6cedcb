"""Infer features of a problem from the columns of a table."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterplan.problem.column_words import (
    CODED,
    COUNTED,
    DATE,
    DATED,
    IDENTIFIER,
    LOWERED,
    PROTECTED,
    RANKED,
    mentions,
)
from counterplan.problem.draft_text import is_writable, number_text, sorted_values, values_lines, yaml_scalar
from counterplan.problem.encoding import quantile_cuts
from counterplan.problem.frames import MAX_EXACT_INTEGER
from counterplan.problem.transitions import Floats
from counterplan.problem.values import text_of

MOST_VALUES = 50
ENOUGH_ROWS = 20
"""From this many rows on, a column of distinct values is taken for an identifier."""
MOST_CODES = 15
"""Columns with more whole numbers than this are not taken for codes."""
SCALARS = (str, bool, np.bool_, int, float, np.integer, np.floating)
_LARGE_CODES = frozenset(
    float(code)
    for size in range(2, 7)
    for code in (int("7" * size), int("8" * size), 10**size - 3, 10**size - 2, 10**size - 1)
)
_NEGATIVE_CODES = frozenset([-7.0, -8.0, -9.0, *(-code for code in _LARGE_CODES)])
"""Numbers that often stand for a missing value, such as 99, 998 and -9999."""
_DATES_SHARE = 0.9
"""If at least this share of different whole numbers are dates such as 20190104, all are taken for dates."""
_ENOUGH_DATES = 5
"""Fewer numbers may look like dates by chance, unless the name of their column is that of dates."""


@dataclass(frozen=True)
class FeatureDraft:
    """A feature inferred from a column: a number if it has `numbers`, otherwise a category."""

    name: str
    values: Sequence[str] = ()
    numbers: Floats | None = None
    integer: bool = False
    empty: int = 0
    codes: bool = False
    """Whether the values are whole numbers that are likely codes."""
    absent: Sequence[tuple[float, int]] = ()
    """Numbers that are likely codes of missing values, and how many people have each."""

    order: str = ""
    """Why the values are taken to have a rank, and are listed in this order; empty if they are not."""

    not_negative: bool = False
    """Whether the numbers are taken to be never negative."""

    @property
    def codes_of_missing(self) -> list[float]:
        """The numbers in `absent`."""
        return [code for code, _ in self.absent]

    @property
    def absent_states(self) -> list[float]:
        """The states of people with a number in `absent`: the indices of the values of a category."""
        if self.numbers is not None:
            return self.codes_of_missing
        return [float(self.values.index(number_text(code))) for code in self.codes_of_missing]

    @property
    def counts(self) -> bool:
        """Whether the name is that of an amount or a number of something."""
        return mentions(COUNTED, self.name) or mentions(LOWERED, self.name)

    @property
    def protected(self) -> bool:
        """Whether the name is that of a protected attribute."""
        return mentions(PROTECTED, self.name)

    def lines(self) -> list[str]:
        """The feature as lines of YAML, with remarks."""
        lines = [f"  {yaml_scalar(self.name)}:"]
        if self.numbers is not None:
            few = np.unique(self.numbers)
            hint = ""
            if self.integer and _few_and_frequent(self.numbers):
                hint = f"; kind: category with values: [{', '.join(map(number_text, few))}], if they are codes"
            seen = f"seen: {number_text(few[0])} to {number_text(few[-1])}"
            lines.append(f"    kind: number  # {seen}{hint}")
            lines += ["    integer: true"] * self.integer
            lines += ["    minimum: 0  # guess: nobody can have less"] * self.not_negative
            lines.append(
                f"    bins: [{', '.join(['-.inf', *map(number_text, quantile_cuts(self.numbers, self.integer)[1:])])}]"
            )
        else:
            kind = "ordered" if self.order else "category"
            ranked = len(self.values) > 2 and len([value for value in self.values if RANKED.fullmatch(value)]) > 1
            hint = "  # ordered, if rank matters; then list the lowest first" if ranked else ""
            hint = "  # the only value seen" if len(self.values) == 1 else hint
            hint = "  # whole numbers, likely codes; if they are amounts: kind: number" if self.codes else hint
            hint = f"  # guess: {self.order}" if self.order else hint
            lines += [f"    kind: {kind}{hint}", *values_lines(self.values, "    ")]
        lines += ["    protected: true  # check: is it something by which nobody may be treated?"] * self.protected
        lines += [f"    missing: true  # {self.empty:,} empty"] * (self.empty > 0)
        if self.absent:
            codes = ", ".join(f"{number_text(code)} ({count:,} people)" for code, count in self.absent)
            lines.append(f"    # likely codes of missing values: {codes}; empty these cells, and allow missing: true")
        return lines


def infer_feature(name: str, column: pd.Series[Any]) -> FeatureDraft | str:
    """The feature inferred from a column, or the reason to leave it out."""
    if not name.strip() or "`" in name or name == "argument" or not is_writable(name):
        return "no feature can have this name; rename the column to use it"
    known = column.dropna()
    try:
        seen = list(known.unique())
    except TypeError:  # lists and the like are not hashable
        seen = [known.iloc[0]]
    if not seen:
        return "it is empty"
    types = [type(value).__name__ for value in seen if not isinstance(value, SCALARS)]
    if _are_dates(name, seen):
        return "dates; to use them, add a number to the table, such as the days since then"
    if types:
        return f"it holds {types[0]} values, neither texts nor numbers"
    if any(isinstance(value, (float, np.floating)) and math.isinf(value) for value in seen):
        return "it holds infinite numbers; empty these cells"
    empty, unique = len(column) - len(known), len(seen) == len(known) > 1
    identifier = unique and mentions(IDENTIFIER, name)
    numeric = all(map(is_number, seen))
    if numeric and len(seen) == 1 and not float(seen[0]).is_integer():
        return "the same number for everybody"
    if numeric and (len(seen) > 2 or not all(float(value).is_integer() for value in seen)):
        numbers = known.to_numpy(dtype=float)
        absent = _missing_codes(numbers)
        numbers = numbers[~np.isin(numbers, [code for code, _ in absent])]
        integer = bool((numbers == np.round(numbers)).all())
        counts_up = len(numbers) >= ENOUGH_ROWS and bool((np.diff(numbers) == 1).all())
        if counts_up or (identifier and integer):
            return "a different number for everybody, like an identifier"
        if integer and _few_and_frequent(numbers) and _holds_codes(name):
            values = [number_text(number) for number in np.unique(known.to_numpy(dtype=float))]
            return FeatureDraft(name, values, empty=empty, codes=True, absent=absent)
        return FeatureDraft(name, numbers=numbers, integer=integer, empty=empty, absent=absent)
    if identifier or (unique and len(seen) >= ENOUGH_ROWS):
        return "a different value for everybody, like an identifier"
    values = sorted_values(set(map(text_of, seen)))
    if len(values) > MOST_VALUES:
        return f"{len(values):,} different texts, too many for a category"
    if not all(map(is_writable, values)):
        return "a text in it is too long, or not valid"
    return FeatureDraft(name, values, empty=empty)


def _few_and_frequent(numbers: Floats) -> bool:
    """Whether numbers are few different ones, each of which many people have."""
    few = np.unique(numbers)
    return 2 < len(few) <= MOST_CODES and len(numbers) >= max(ENOUGH_ROWS, 5 * len(few))


def _holds_codes(name: str) -> bool:
    """Whether the whole numbers in a column of this name are likely codes rather than amounts."""
    return (mentions(CODED, name) or mentions(PROTECTED, name)) and not mentions(COUNTED, name)


def _missing_codes(numbers: Floats) -> list[tuple[float, int]]:
    """Numbers that are likely codes of missing values, with their counts.

    Negative ones are if no other number is negative; large ones, also below zero, if they are further from the other
    numbers than these are from each other.
    """
    values, counts = np.unique(numbers, return_counts=True)
    repeated = values[counts > 1]
    negative = values[values < 0]
    codes = [code for code in repeated[repeated < 0].tolist() if code in _NEGATIVE_CODES or _is_code(code, values)]
    found = _outliers(values[values >= 0], repeated)
    rest = values[~np.isin(values, found)]
    found += codes if len(codes) == len(negative) else [-code for code in _outliers(-rest[::-1], -repeated)]
    others = values[~np.isin(values, found)]
    counted = dict(zip(values.tolist(), counts.tolist(), strict=True))
    return [(code, counted[code]) for code in sorted(found)] if len(others) > 1 else []


def _is_code(number: float, values: Floats) -> bool:
    """Whether -1 is a code of missing values rather than a step of a scale such as -1, 0, 1."""
    return number == -1 and (0 not in values or (values >= 0).sum() > MOST_CODES)


def _outliers(values: Floats, repeated: Floats) -> list[float]:
    """The largest of rising `values` that are likely codes, far from the others; several people have each."""
    first = len(values)
    while first and values[first - 1] in _LARGE_CODES and values[first - 1] in repeated:
        first -= 1
    for start in range(max(first, 2), len(values)):
        others, code = values[:start], float(values[start])
        gap, least = code - others[-1], 2 * float(np.abs(others).max()) if code < 100 else 0.0
        if gap > max(np.ptp(others), least):
            return [float(value) for value in values[start:]]
    return []


def _are_dates(name: str, seen: Sequence[Any]) -> bool:
    if all(isinstance(value, (datetime.date, np.datetime64)) for value in seen):  # a Timestamp is one, too
        return True
    if all(isinstance(value, str) for value in seen):
        return all(DATE.fullmatch(value.strip()) for value in seen)
    if not all(isinstance(value, SCALARS) and is_number(value) for value in seen):
        return False
    dates = sum(map(_is_date, seen))
    return dates >= _DATES_SHARE * len(seen) and dates >= (3 if mentions(DATED, name) else _ENOUGH_DATES)


def _is_date(number: Any) -> bool:
    """Whether a number is a day such as 20190104, from 1900 to 2099."""
    text = number_text(number)
    if not re.fullmatch("(19|20)[0-9]{6}", text):
        return False
    try:
        datetime.date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return False
    return True


def is_number(value: Any) -> bool:
    """Whether a cell is a number that floats represent exactly; Booleans are none."""
    if isinstance(value, (bool, str, np.bool_)):
        return False
    return abs(value if isinstance(value, int) else float(value)) <= MAX_EXACT_INTEGER
