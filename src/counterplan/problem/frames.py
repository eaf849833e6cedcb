"""Convert DataFrames of people to states and back, preserving values, types and extra columns."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.errors import PeopleError
from counterplan.problem.dtypes import absence, object_array
from counterplan.problem.dtypes import as_dtypes as as_dtypes
from counterplan.problem.intake import PeopleTable, as_pandas
from counterplan.problem.parts import Feature, format_number
from counterplan.problem.scalars import as_number
from counterplan.problem.transitions import Floats
from counterplan.problem.values import cut, did_you_mean, is_missing, listed, text_of

MAX_REPORTED = 10
MAX_EXACT_INTEGER = 2**53
_DECIMAL = re.compile(r"[-+]?(?=.*[.eE])(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_MISSING = "the value is missing, and the problem does not allow that ('missing: true' would)"


class BadCell(NamedTuple):
    """A cell of a table of people that does not match the problem."""

    row: int
    """Counted from 0."""
    column: str
    message: str

    def __str__(self) -> str:
        return f"column '{self.column}', row {self.row}: {self.message}"


@dataclass(frozen=True)
class People:
    """People as states, with the table they were read from.

    Attributes
    ----------
    features : tuple of Feature
        The features of the problem.
    states : numpy.ndarray of shape (B, F)
        One row of numbers per person: a category is the index of its value, a missing value is NaN.
    table : pandas.DataFrame
        The original columns without the outcome. Columns that are not features are passed on to the model.
    source_rows : numpy.ndarray of shape (B,) or None
        Row numbers of these people among all people of a task, in a worker process that plans for some of them.
    outcomes : pandas.Series or None
        The column of the outcome as the table holds it; None if there is none.

    See Also
    --------
    counterplan.Problem.read : Makes `People` from a DataFrame.

    Examples
    --------
    >>> from counterplan import benchmarks
    >>> german = benchmarks.load("german")
    >>> people = german.problem.read(german.test.head(3).assign(name=["Ann", "Bob", "Eve"]))
    >>> people
    People(3 people, 9 features, 1 extra columns)
    >>> people.extras, people.states.shape
    (['name'], (3, 9))
    """

    features: tuple[Feature, ...]
    states: Floats
    table: pd.DataFrame
    source_rows: npt.NDArray[np.integer] | None = None
    outcomes: pd.Series[Any] | None = None

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        extras = f", {len(self.extras)} extra columns" if self.extras else ""
        return f"People({len(self):,} people, {len(self.features)} features{extras})"

    @property
    def extras(self) -> list[str]:
        """Columns that are not features; models receive them unchanged."""
        names = {feature.name for feature in self.features}
        return [column for column in self.table.columns if text_of(column) not in names]

    def take(self, rows: npt.NDArray[np.integer] | slice) -> People:
        """Select people by row numbers or a slice.

        Parameters
        ----------
        rows : array of int, or slice
            Row numbers, counted from 0.

        Returns
        -------
        People
            The selected people, in this order.

        Examples
        --------
        >>> from counterplan import benchmarks
        >>> german = benchmarks.load("german")
        >>> people = german.problem.read(german.test)
        >>> people.take(slice(10))
        People(10 people, 9 features)
        """
        source = None if self.source_rows is None else self.source_rows[rows]
        outcomes = None if self.outcomes is None else self.outcomes.iloc[rows]
        return People(self.features, self.states[rows], self.table.iloc[rows], source, outcomes)

    def frame(self, states: Floats | None = None, rows: npt.NDArray[np.integer] | None = None) -> pd.DataFrame:
        """Convert states to a table with the original columns, their order and their types.

        Parameters
        ----------
        states : array of shape (n, F), optional
            States of the people `rows`; default: their own.
        rows : array of int of shape (n,), optional
            Row numbers; default: everybody in order.

        Returns
        -------
        pandas.DataFrame
            One row for each state.

        Examples
        --------
        >>> from counterplan import benchmarks
        >>> german = benchmarks.load("german")
        >>> people = german.problem.read(german.test.head(2))
        >>> states = people.states.copy()
        >>> states[:, 2] = 3  # highly_skilled
        >>> people.frame(states)["job"].tolist()
        ['highly_skilled', 'highly_skilled']
        """
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
                column = _numbers(feature, numbers, original.dtype, absence(original))
            else:
                column = _categories(self._spelled[feature.index], numbers, original.dtype)
            frame[columns[feature.name]] = pd.Series(column, index=frame.index, dtype=column.dtype)
        return frame

    @cached_property
    def _spelled(self) -> dict[int, list[Any]]:
        """The spelling in the table of each value of each category."""
        columns = _by_text(self.table)
        return {f.index: _spelling(f, self.table[columns[f.name]]) for f in self.features if not f.is_number}


def _same(a: Floats, b: Floats) -> bool:
    return bool(np.array_equal(a, b, equal_nan=True))


def read_people(features: Sequence[Feature], people: PeopleTable, outcome: str | None = None) -> People:
    """Read people from a table; a PeopleError names the column, row and value of every mismatch."""
    frame = as_pandas(people, [feature.name for feature in features])
    states, bad = _read_states(features, frame)
    if bad:
        raise PeopleError(describe_bad_cells(bad))
    return _people(features, states, frame, outcome)


def read_valid_people(
    features: Sequence[Feature], people: PeopleTable, outcome: str | None = None
) -> tuple[People, list[BadCell]]:
    """Read the rows of a table that match the problem, and return the cells of the others that do not.

    A PeopleError is raised if columns are missing.
    """
    frame = as_pandas(people, [feature.name for feature in features])
    states, bad = _read_states(features, frame)
    if bad:
        valid = np.ones(len(frame), bool)
        valid[[cell.row for cell in bad]] = False
        states, frame = states[valid], frame[valid]
    return _people(features, states, frame, outcome), bad


def describe_bad_cells(bad: Sequence[object]) -> str:
    """The first of several mismatches, a line each, and the number of the others."""
    rest = f"\n… and {len(bad) - MAX_REPORTED} more" if len(bad) > MAX_REPORTED else ""
    return "\n".join(map(str, bad[:MAX_REPORTED])) + rest


def _read_states(features: Sequence[Feature], frame: pd.DataFrame) -> tuple[Floats, list[BadCell]]:
    """The states [B, F] of a table, and its cells that do not match the features, whose states are undefined."""
    columns = _by_text(frame)
    if len(columns) < len(frame.columns):
        names = [text_of(column) for column in frame.columns]
        twice = sorted({repr(name) for name in names if names.count(name) > 1})
        raise PeopleError(f"the table has more than one column called {listed(twice)}")
    require_columns(features, columns)
    states = np.empty((len(frame), len(features)))
    bad: list[BadCell] = []
    for feature in features:
        read = _read_number if feature.is_number else _read_category
        states[:, feature.index], more = read(feature, frame[columns[feature.name]])
        bad += more
    return states, bad


def require_columns(features: Sequence[Feature], columns: Iterable[str]) -> None:
    """Raise a PeopleError if a table with these `columns` lacks some of the features."""
    known = [*columns]
    absent = [feature.name for feature in features if feature.name not in known]
    if absent:
        others = {*known} - {feature.name for feature in features}
        hints = [f"'{name}'{_hint(name, sorted(others))}" for name in absent]
        raise PeopleError(
            f"the table lacks the column{'s' if len(absent) > 1 else ''} {listed(hints)}; it has {listed(known)}"
        )


def _hint(name: str, columns: Iterable[str]) -> str:
    """The column that a name may mean, in parentheses for a list; empty if none is close."""
    hint = did_you_mean(name, columns).removeprefix("; ")
    return f" ({hint})" if hint else ""


def _people(features: Sequence[Feature], states: Floats, frame: pd.DataFrame, outcome: str | None) -> People:
    """People of a table, without the column of the outcome."""
    columns = _by_text(frame)
    if outcome is None or outcome not in columns:
        return People(tuple(features), states, frame)
    column = columns[outcome]
    return People(tuple(features), states, frame.drop(columns=[column]), outcomes=frame[column])


def _by_text(table: pd.DataFrame) -> dict[str, Any]:
    """The columns of a table by the text of their names, which may be of any type."""
    return {text_of(column): column for column in table.columns}


def _shown(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return cut(text if isinstance(value, str) else " ".join(text.split()))


def _read_category(feature: Feature, column: pd.Series[Any]) -> tuple[Floats, list[BadCell]]:
    index = _index_of(feature)
    unhashable: dict[int, str] = {}
    try:
        codes, uniques = pd.factorize(column, use_na_sentinel=True)
    except (TypeError, ValueError, NotImplementedError):  # lists and the like
        values = column.tolist()
        unhashable = {
            row: f"{_shown(value)} is not a single value" for row, value in enumerate(values) if not _hashable(value)
        }
        plain = [None if row in unhashable else value for row, value in enumerate(values)]
        codes, uniques = pd.factorize(pd.Series(object_array(plain)), use_na_sentinel=True)
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
        bad[-1] = _MISSING
    rows = sorted({*np.flatnonzero(np.isin(codes, list(bad))).tolist(), *unhashable})
    wrong = [BadCell(row, feature.name, unhashable.get(row) or bad[int(codes[row])]) for row in rows]
    return numbers[codes], wrong


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _index_of(feature: Feature) -> dict[str, int]:
    """The index of each value by the spellings accepted in a table: its own, and pandas's of a boolean or a float.

    A decimal such as 0.10 is also accepted as 0.1, unless that is another value; 007 and 7 are distinct.
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


def _read_number(feature: Feature, column: pd.Series[Any]) -> tuple[Floats, list[BadCell]]:
    wrong: list[BadCell] = []
    texts = np.zeros(len(column), bool)
    if not _holds_numbers(column):
        numbers = np.full(len(column), math.nan)
        for row, value in enumerate(column):
            if is_missing(value):
                continue
            texts[row] = isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating))
            if texts[row]:
                wrong.append(BadCell(row, feature.name, f"{_shown(value)} is not a number"))
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
        ((np.abs(numbers) > MAX_EXACT_INTEGER) & ~np.isinf(numbers), "is too large to be exact"),
    ]
    for bad, message in checks:
        rows = np.flatnonzero(bad).tolist()
        wrong += [BadCell(row, feature.name, f"{_shown(column.iloc[row])} {message}") for row in rows]
    if not feature.missing:
        wrong += [BadCell(row, feature.name, _MISSING) for row in np.flatnonzero(missing & ~texts).tolist()]
    return numbers, wrong


def _holds_numbers(column: pd.Series[Any]) -> bool:
    kind = pd.api.types
    if kind.is_bool_dtype(column.dtype) or kind.is_complex_dtype(column.dtype):
        return False
    return kind.is_numeric_dtype(column.dtype)


def _numbers(feature: Feature, numbers: Floats, dtype: Any, absent: Any = None) -> Any:
    """Convert changed numbers to the type of the original column, or the nearest type that can hold them."""
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        return numbers.astype(dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        if np.isin(numbers[~np.isnan(numbers)], dtype.categories).all():
            codes = dtype.categories.get_indexer(pd.Index(numbers))
            return pd.Categorical.from_codes(np.where(np.isnan(numbers), -1, codes), dtype=dtype)
        return _numbers(feature, numbers, dtype.categories.dtype)
    known = numbers[~np.isnan(numbers)]
    whole = bool((known == np.round(known)).all())
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        wide = _wide_enough(dtype, known) if whole and len(known) == len(numbers) else None
        return numbers if wide is None else numbers.astype(wide)
    if str(dtype).lower().startswith(("int", "uint")):
        wide = _wide_enough(dtype.numpy_dtype, known) if whole else None
        dtype = "Float64" if wide is None else dtype if wide == dtype.numpy_dtype else "Int64"
    natives = [absent if math.isnan(number) else feature.native(number) for number in numbers]
    return _as_type(object_array(natives), dtype)


def _categories(spelled: list[Any], numbers: Floats, dtype: Any) -> Any:
    """Convert changed categories to the type of the original column."""
    missing = np.isnan(numbers)
    values = object_array(spelled)[np.where(missing, -1, numbers).astype(np.intp)]
    if isinstance(dtype, pd.CategoricalDtype):
        categories = dtype.categories.tolist()
        added = [value for value in pd.unique(values[~missing]) if value not in set(categories)]
        return pd.Categorical(values, categories=[*categories, *added], ordered=dtype.ordered)
    return _as_type(values, dtype)


def _wide_enough(dtype: Any, numbers: Floats) -> Any:
    """The type of integers, or int64, if it can hold the numbers; None if neither can."""
    for wide in (dtype, np.dtype(np.int64)):
        info = np.iinfo(wide)
        if not len(numbers) or (numbers.min() >= info.min and numbers.max() < float(info.max) + 1):
            return wide
    return None


def _as_type(values: npt.NDArray[Any], dtype: Any) -> Any:
    if dtype == "object" or (dtype == "bool" and None in values.tolist()):
        return values
    try:
        return pd.array(values, dtype=dtype) if not isinstance(dtype, np.dtype) else values.astype(dtype)
    except OverflowError:  # too large for a small type of integers
        return pd.array(values, dtype="Int64") if not isinstance(dtype, np.dtype) else values.astype(np.int64)
    except (TypeError, ValueError):
        return values


def _spelling(feature: Feature, column: pd.Series[Any]) -> list[Any]:
    """The spelling in a column of each value (1, "1", 1.0, True; unseen ones like the others) and of a missing one."""
    index = _index_of(feature)
    seen = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else pd.unique(column.dropna())
    spelled: dict[int, Any] = {}
    for value in seen:
        at = index.get(text_of(value))
        if at is not None:
            spelled[at] = value
    others = list(spelled.values()) or ([""] if isinstance(column.dtype, pd.StringDtype) else [])
    texts = [spelled[i] if i in spelled else _alike(native, others) for i, native in enumerate(feature.natives)]
    return [*texts, absence(column)]


def _alike(native: Any, others: Sequence[Any]) -> Any:
    """Convert a value that a column does not contain to the type of the `others` in it."""
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
