"""Columns of texts as the ints or booleans that the values of a category are in the problem."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import Any

import pandas as pd

from counterplan.problem.dtypes import object_array, plain
from counterplan.problem.frames import MAX_EXACT_INTEGER
from counterplan.problem.parts import Feature
from counterplan.problem.values import is_missing

_POWER = re.compile(r" *[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]{1,3} *")
_WHOLE = re.compile(r" *([-+]?(?:0|[1-9][0-9]{0,30}))(?:\.0*)? *")


def native_type(feature: Feature) -> type[int] | type[bool] | None:
    """The type of all values of a category, if it is int or bool; otherwise None."""
    kinds = {type(native) for native in feature.natives}
    return int if kinds == {int} else bool if kinds == {bool} else None


def as_natives(column: pd.Series[Any], feature: Feature) -> pd.Series[Any]:
    """Convert the texts of a column to the ints or booleans of `feature`; other cells remain as they are."""
    kind = native_type(feature)
    if kind is None:
        return column
    read = _whole if kind is int else _truth
    meaning = {cell: read(cell) if isinstance(cell, str) else plain(cell) for cell in column.dropna().unique()}
    cells = object_array([None if is_missing(cell) else meaning[cell] for cell in column])
    missing, dtype = bool(column.isna().any()), "object"
    if {type(value) for value in meaning.values()} <= {kind} and not (missing and kind is bool):
        dtype = "bool" if kind is bool else "Int64" if missing else "int64"
    with suppress(OverflowError):
        return pd.Series(cells, index=column.index, dtype=dtype)
    return pd.Series(cells, index=column.index)


def _whole(text: str) -> int | str:
    if match := _WHOLE.fullmatch(text):
        return int(match[1])
    number = float(text) if _POWER.fullmatch(text) else math.nan
    return int(number) if abs(number) <= MAX_EXACT_INTEGER and number.is_integer() else text


def _truth(text: str) -> bool | str:
    word = text.strip(" ")
    return word[0] in "tT" if word in ("true", "True", "TRUE", "false", "False", "FALSE") else text
