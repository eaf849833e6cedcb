"""Tables of people: a DataFrame becomes states and back, without losing a value, a type or an extra column."""

from __future__ import annotations

import lzma
import math
import re
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.errors import PeopleError
from counterplan.problem.parts import Feature, format_number
from counterplan.problem.source import as_number
from counterplan.problem.transitions import Floats
from counterplan.problem.values import cut, did_you_mean, is_missing, listed, text_of

MOST_REPORTED = 10
LARGEST_INTEGER = 2**53
_WHOLE = re.compile(r" *([-+]?(?:0|[1-9][0-9]{0,30}))(?:\.0*)? *")
_DECIMAL = re.compile(r"[-+]?(?=.*[.eE])(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NOT_THERE = "the value is missing, and the problem does not allow that ('missing: true' would)"


@dataclass(frozen=True)
class People:
    """People as states [B, F], with the table they came from: changed states are written in its own types."""

    features: tuple[Feature, ...]
    states: Floats
    table: pd.DataFrame
    """The original columns, extra ones included, without the outcome."""

    def __len__(self) -> int:
        return len(self.states)

    @property
    def extras(self) -> list[str]:
        """Columns that are no features: carried along untouched, for models that want them."""
        names = {feature.name for feature in self.features}
        return [column for column in self.table.columns if text_of(column) not in names]

    def take(self, rows: npt.NDArray[np.integer] | slice) -> People:
        """Some of the people."""
        return People(self.features, self.states[rows], self.table.iloc[rows])

    def frame(self, states: Floats | None = None, rows: npt.NDArray[np.integer] | None = None) -> pd.DataFrame:
        """`states` [n, F] of the people `rows` [n] as a table with the original columns, order and types."""
        rows = np.arange(len(self)) if rows is None else rows
        if states is None:
            return self.table.iloc[rows]
        frame = self.table.iloc[rows].copy()
        columns = _by_text(self.table)
        for feature in self.features:
            numbers, original = states[:, feature.index], self.table[columns[feature.name]]
            if _same(numbers, self.states[rows, feature.index]):
                continue
            if feature.is_number:
                column = _numbers(feature, numbers, original.dtype, _absence(original))
            else:
                column = _categories(self._spelled[feature.index], numbers, original.dtype)
            frame[columns[feature.name]] = pd.Series(column, index=frame.index, dtype=column.dtype)
        return frame

    @cached_property
    def _spelled(self) -> dict[int, list[Any]]:
        """How the table writes each value of each category."""
        columns = _by_text(self.table)
        return {f.index: _spelling(f, self.table[columns[f.name]]) for f in self.features if not f.is_number}


def _same(a: Floats, b: Floats) -> bool:
    return bool(np.array_equal(a, b, equal_nan=True))


def read_people(features: Sequence[Feature], frame: pd.DataFrame, outcome: str | None = None) -> People:
    """People from a DataFrame; a PeopleError names the column, row and value of whatever does not fit."""
    if not isinstance(frame, pd.DataFrame):
        raise PeopleError(f"people come as a pandas DataFrame with one row each, not as {type(frame).__name__}")
    columns = _by_text(frame)
    if len(columns) < len(frame.columns):
        names = [text_of(column) for column in frame.columns]
        twice = sorted({repr(name) for name in names if names.count(name) > 1})
        raise PeopleError(f"the table has more than one column called {listed(twice)}")
    absent = [feature.name for feature in features if feature.name not in columns]
    if absent:
        hints = [f"'{name}'{did_you_mean(name, columns).rstrip('?')}" for name in absent]
        raise PeopleError(
            f"the table lacks the column{'s' if len(absent) > 1 else ''} {listed(hints)}; it has {listed(columns)}"
        )
    states = np.empty((len(frame), len(features)))
    wrong: list[str] = []
    for feature in features:
        read = _read_number if feature.is_number else _read_category
        states[:, feature.index], mistakes = read(feature, frame[columns[feature.name]])
        wrong += mistakes
    if wrong:
        more = f"\n… and {len(wrong) - MOST_REPORTED} more" if len(wrong) > MOST_REPORTED else ""
        raise PeopleError("\n".join(wrong[:MOST_REPORTED]) + more)
    table = frame.drop(columns=[columns[outcome]]) if outcome is not None and outcome in columns else frame
    return People(tuple(features), states, table)


def _by_text(table: pd.DataFrame) -> dict[str, Any]:
    """The columns of a table by the text of their names, which need not be texts themselves."""
    return {text_of(column): column for column in table.columns}


def _place(feature: Feature, row: int) -> str:
    return f"column '{feature.name}', row {row}"


def _shown(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return cut(text if isinstance(value, str) else " ".join(text.split()))


def _read_category(feature: Feature, column: pd.Series[Any]) -> tuple[Floats, list[str]]:
    index = _index_of(feature)
    strange: dict[int, str] = {}
    try:
        codes, uniques = pd.factorize(column, use_na_sentinel=True)
    except (TypeError, ValueError, NotImplementedError):  # lists and the like
        values = column.tolist()
        strange = {
            row: f"{_shown(value)} is not a single value" for row, value in enumerate(values) if not _hashable(value)
        }
        plain = [None if row in strange else value for row, value in enumerate(values)]
        codes, uniques = pd.factorize(pd.Series(_object_array(plain)), use_na_sentinel=True)
    numbers = np.empty(len(uniques) + 1)
    numbers[-1] = math.nan
    bad: dict[int, str] = {}
    for code, value in enumerate(uniques):
        text = text_of(value)
        numbers[code] = index.get(text, -1)
        if text not in index:
            hint = did_you_mean(text, feature.values) or f"; the values are {listed(feature.values)}"
            bad[code] = f"{_shown(value)} is not a value of this feature{hint}"
    if not feature.missing and (codes == -1).any():
        bad[-1] = _NOT_THERE
    rows = sorted({*np.flatnonzero(np.isin(codes, list(bad))).tolist(), *strange})
    wrong = [f"{_place(feature, row)}: {strange.get(row) or bad[int(codes[row])]}" for row in rows]
    return numbers[codes], wrong


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _index_of(feature: Feature) -> dict[str, int]:
    """Texts by which a table may name each value: its own, and how pandas writes a truth value or a float.

    A decimal such as 0.10 goes also by 0.1, unless another value does; 007 and 7 stay two.
    """
    index = {value: i for i, value in enumerate(feature.values)}
    for i, value in enumerate(feature.values):
        if value.lower() in ("true", "false"):
            index.setdefault(value.lower(), i)
            index.setdefault(value.capitalize(), i)
    decimals = {i: float(value) for i, value in enumerate(feature.values) if _DECIMAL.fullmatch(value)}
    counts = Counter(decimals.values())
    for i, number in decimals.items():
        if math.isfinite(number) and counts[number] == 1:
            index.setdefault(text_of(number), i)
    return index


def _read_number(feature: Feature, column: pd.Series[Any]) -> tuple[Floats, list[str]]:
    wrong: list[str] = []
    texts = np.zeros(len(column), bool)
    if not _holds_numbers(column):
        numbers = np.full(len(column), math.nan)
        for row, value in enumerate(column):
            if is_missing(value):
                continue
            texts[row] = isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating))
            if texts[row]:
                wrong.append(f"{_place(feature, row)}: {_shown(value)} is not a number")
            else:
                numbers[row] = as_number(value)
    else:
        numbers = column.to_numpy(dtype=float, na_value=math.nan)
    missing = np.isnan(numbers)
    checks = [
        (np.isinf(numbers), "is infinite"),
        ((numbers < feature.low) & ~np.isinf(numbers), f"is below the minimum {format_number(feature.low)}"),
        ((numbers > feature.high) & ~np.isinf(numbers), f"is above the maximum {format_number(feature.high)}"),
        ((numbers != np.round(numbers)) & ~missing if feature.integer else np.zeros(0, bool), "is not a whole number"),
        ((np.abs(numbers) > LARGEST_INTEGER) & ~np.isinf(numbers), "is too large to be kept exactly"),
    ]
    for bad, message in checks:
        wrong += [f"{_place(feature, int(row))}: {_shown(column.iloc[row])} {message}" for row in np.flatnonzero(bad)]
    if not feature.missing:
        wrong += [f"{_place(feature, int(row))}: {_NOT_THERE}" for row in np.flatnonzero(missing & ~texts)]
    return numbers, wrong


def _holds_numbers(column: pd.Series[Any]) -> bool:
    kind = pd.api.types
    if kind.is_bool_dtype(column.dtype) or kind.is_complex_dtype(column.dtype):
        return False
    return kind.is_numeric_dtype(column.dtype)


def _numbers(feature: Feature, numbers: Floats, dtype: Any, absent: Any = None) -> Any:
    """A changed column of numbers in the type of the original one, or the nearest type that can hold it."""
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        return numbers.astype(dtype)
    if isinstance(dtype, pd.CategoricalDtype):  # its categories are the old numbers
        return _numbers(feature, numbers, dtype.categories.dtype)
    known = numbers[~np.isnan(numbers)]
    whole = bool((known == np.round(known)).all())
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return numbers.astype(_wide_enough(dtype, known)) if whole and len(known) == len(numbers) else numbers
    if str(dtype).lower().startswith(("int", "uint")):
        wide = _wide_enough(dtype.numpy_dtype, known) if whole else None
        dtype = "Float64" if wide is None else dtype if wide == dtype.numpy_dtype else "Int64"
    natives = [absent if math.isnan(number) else feature.native(number) for number in numbers]
    return _as_type(_object_array(natives), dtype)


def _categories(spelled: list[Any], numbers: Floats, dtype: Any) -> Any:
    """A changed column of categories in the type of the original one."""
    missing = np.isnan(numbers)
    values = _object_array(spelled)[np.where(missing, -1, numbers).astype(np.intp)]
    if isinstance(dtype, pd.CategoricalDtype):
        categories = dtype.categories.tolist()
        added = [value for value in pd.unique(values[~missing]) if value not in set(categories)]
        return pd.Categorical(values, categories=[*categories, *added], ordered=dtype.ordered)
    return _as_type(values, dtype)


def _wide_enough(dtype: Any, numbers: Floats) -> Any:
    info = np.iinfo(dtype)
    fits = len(numbers) == 0 or (numbers.min() >= info.min and numbers.max() <= info.max)
    return dtype if fits else np.dtype(np.int64)


def _as_type(values: npt.NDArray[Any], dtype: Any) -> Any:
    if dtype == "object" or (dtype == "bool" and None in values.tolist()):
        return values
    try:
        return pd.array(values, dtype=dtype) if not isinstance(dtype, np.dtype) else values.astype(dtype)
    except OverflowError:  # too large for a small type of integers
        return pd.array(values, dtype="Int64") if not isinstance(dtype, np.dtype) else values.astype(np.int64)
    except (TypeError, ValueError):
        return values


def _object_array(values: Sequence[Any]) -> npt.NDArray[Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _spelling(feature: Feature, column: pd.Series[Any]) -> list[Any]:
    """How a column writes each value (1, "1", 1.0, True: by what is in it, else like the others) and a missing one."""
    index = _index_of(feature)
    seen = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else pd.unique(column.dropna())
    spelled: dict[int, Any] = {}
    for value in seen:
        at = index.get(text_of(value))
        if at is not None:
            spelled[at] = value
    others = list(spelled.values()) or ([""] if isinstance(column.dtype, pd.StringDtype) else [])
    texts = [spelled[i] if i in spelled else _alike(native, others) for i, native in enumerate(feature.natives)]
    return [*texts, _absence(column)]


def _absence(column: pd.Series[Any]) -> Any:
    """How a column of objects says that a value is missing: None, NaN or NA."""
    if column.dtype != "object":
        return None
    missing = column[column.isna()]
    return missing.iloc[0] if len(missing) else None


def _alike(native: Any, others: Sequence[Any]) -> Any:
    """A value that a column does not hold yet, as text, truth value or number like the `others` in it."""
    text, kinds = text_of(native), {type(value) for value in others}
    truth = text.lower() in ("true", "false")
    if kinds == {str}:
        return text.capitalize() if truth and {"True", "False"} & {*others} else text
    if truth and kinds and kinds <= {bool, np.bool_}:
        return text.lower() == "true"
    if len(kinds) == 1 and not kinds & {bool, np.bool_}:
        with suppress(TypeError, ValueError, OverflowError):
            return kinds.pop()(text)
    return native


def read_table(path: str | Path, features: Sequence[Feature] = ()) -> pd.DataFrame:
    """A table from CSV (also compressed) or Parquet.

    Of a CSV, the columns of categories are read as the problem writes their values: as ints if all are ints, as truth
    values if all are, otherwise as texts, where `NA`, `007` and `None` are values.
    """
    name = str(path)
    try:
        if name.endswith((".parquet", ".pq")):
            return pd.read_parquet(path)
        return _read_csv(path, features)
    except PeopleError:  # also a ValueError
        raise
    except FileNotFoundError:
        raise PeopleError(f"{name}: there is no such file") from None
    except ImportError as error:
        if not name.endswith((".parquet", ".pq")):
            raise PeopleError(f"{name}: cannot be read as a table: {error}") from None
        raise PeopleError(f"{name}: reading Parquet needs pyarrow; pip install 'counterplan[parquet]'") from None
    except pd.errors.EmptyDataError:
        raise PeopleError(f"{name}: the file is empty") from None
    except (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise PeopleError(f"{name}: cannot be read as a table: {' '.join(str(error).split())}") from error


def _read_csv(path: str | Path, features: Sequence[Feature]) -> pd.DataFrame:
    names = pd.read_csv(path, nrows=0).columns  # where pandas has renamed what is there twice
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0]
    twice = [repr(name) for name, count in Counter(header).items() if name and count > 1]
    if twice:
        raise PeopleError(f"{path}: the table has more than one column called {listed(twice)}")
    categories = {feature.name: feature for feature in features if not feature.is_number}
    empty_only: dict[Any, list[str]] = {
        name: [] if "" in feature.values else [""] for name, feature in categories.items()
    }
    usual = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]
    na_values = {name: empty_only.get(name, usual) for name in names}
    dtypes = {name: str for name in categories if name in names}
    table = pd.read_csv(path, dtype=dtypes, keep_default_na=False, na_values=na_values, low_memory=False)
    for feature in features:
        if feature.name in table.columns:
            column = table[feature.name]
            table[feature.name] = _cells_as_numbers(column) if feature.is_number else _cells_as_natives(column, feature)
    return table


def _cells_as_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column that pandas left as text because of some of its cells: those stay text, the others become numbers."""
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        return column
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=math.nan).tolist()
    cells = [
        cell if math.isnan(number) else int(number) if number.is_integer() else number
        for cell, number in zip(column, numbers, strict=True)
    ]
    return pd.Series(_object_array(cells), index=column.index)


def _cells_as_natives(column: pd.Series[Any], feature: Feature) -> pd.Series[Any]:
    """A column of texts as ints or truth values if the values of `feature` are; a cell that cannot be stays text."""
    kinds = {type(native) for native in feature.natives}
    if kinds not in ({int}, {bool}):
        return column
    read = _whole if kinds == {int} else _truth
    meaning = {text: read(text) for text in column.dropna().unique()}
    cells = _object_array([None if is_missing(text) else meaning[text] for text in column])
    missing, dtype = bool(column.isna().any()), "object"
    if {type(value) for value in meaning.values()} <= kinds and not (missing and kinds == {bool}):
        dtype = "bool" if kinds == {bool} else "Int64" if missing else "int64"
    with suppress(OverflowError):
        return pd.Series(cells, index=column.index, dtype=dtype)
    return pd.Series(cells, index=column.index)


def _whole(text: str) -> int | str:
    match = _WHOLE.fullmatch(text)
    return int(match[1]) if match else text


def _truth(text: str) -> bool | str:
    word = text.strip(" ")
    return word[0] in "tT" if word in ("true", "True", "TRUE", "false", "False", "FALSE") else text
