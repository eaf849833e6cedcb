"""Convert the columns of people to the types that a model was trained on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import ModelError
from counterplan.models.outputs import Array
from counterplan.models.protocol import columns_of
from counterplan.problem.values import cut, did_you_mean, listed, text_of

ADVICE = "give its types with dtypes=, or with --like FILE.parquet, a table as in training"
_NUMBERS = f"numbers there, or categories that it does not tell: {ADVICE}"
_TRUTHS = {"true": True, "false": False, "True": True, "False": False, "1": True, "0": False}


def as_trained(people: pd.DataFrame, dtypes: Mapping[str, Any], name: str, *, closed: bool = True) -> pd.DataFrame:
    """Convert columns of `people` to `dtypes`; columns without one, or that already have it, remain as they are.

    Values are matched by their text, so that "1" in a table is the category 1. A missing value remains missing. A
    column of whole numbers that has missing values or fractions remains a column of floats.

    Parameters
    ----------
    people : DataFrame
        B people.
    dtypes : mapping
        pandas dtypes by column; `object` stands for texts.
    name : str
        The model's name in messages.
    closed : bool, default=True
        Whether a value that is not among the categories is an error; otherwise it becomes another category.

    Raises
    ------
    ModelError
        If a value cannot be converted; the message names column and value.
    """
    changed = {}
    for column, wanted in dtypes.items():
        if column in people.columns:
            series, dtype = people[column], pd.api.types.pandas_dtype(wanted)
            if not _is_already(series, dtype):
                changed[column] = _converted(series, dtype, f"{name}: column '{column}'", closed)
    return people.assign(**changed) if changed else people


def select(people: pd.DataFrame, columns: Sequence[str], name: str) -> pd.DataFrame:
    """The `columns` that a model was trained on, in their order and under their names.

    A column matches a name that differs only in characters that an identifier cannot have, which some packages replace
    by '_'.
    """
    chosen = [column_like(column, people, name, "was trained on column") for column in columns]
    return people[chosen].set_axis(list(columns), axis=1) if chosen != list(columns) else people[chosen]


def column_like(wanted: str, people: pd.DataFrame, name: str, verb: str) -> Any:
    """The column of `people` that a model calls `wanted`; a ModelError names what the people lack."""
    columns = columns_like(wanted, people)
    if len(columns) != 1:
        hint = did_you_mean(str(wanted), map(str, people.columns))
        raise ModelError(f"{name} {verb} '{wanted}', which the people lack{hint}")
    return columns[0]


def columns_like(wanted: str, people: pd.DataFrame) -> list[Any]:
    """The column `wanted`, or those with the same name after replacing non-identifier characters by '_'."""
    if wanted in people.columns:
        return [wanted]
    return [column for column in people.columns if _identifier(str(column)) == _identifier(str(wanted))]


def uses_column(model: object, column: object) -> bool:
    """Whether the outputs of `model` may depend on a column: whether it was trained on it, or does not say."""
    columns = columns_of(model)
    return columns is None or _identifier(str(column)) in set(map(_identifier, columns))


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def _is_already(series: pd.Series[Any], dtype: Any) -> bool:
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(series.dtype, pd.CategoricalDtype):
        return series.dtype.categories.equals(dtype.categories) and series.dtype.ordered == dtype.ordered
    return bool(series.dtype == dtype) and not pd.api.types.is_string_dtype(dtype)


def _converted(series: pd.Series[Any], dtype: Any, place: str, closed: bool) -> Any:
    """The values of `series` [B] as `dtype`."""
    codes, uniques = pd.factorize(series, use_na_sentinel=True)
    kinds = pd.api.types
    if isinstance(dtype, pd.CategoricalDtype):
        return _categories(codes, uniques, dtype, place, closed)
    if kinds.is_string_dtype(dtype):
        return _taken([text_of(value) for value in uniques], codes)
    if kinds.is_datetime64_any_dtype(dtype):
        return _converted_by(pd.Timestamp, uniques, codes, place, "dates").astype(dtype)
    if kinds.is_bool_dtype(dtype):
        truths = _converted_by(lambda value: _TRUTHS[text_of(value)], uniques, codes, place, "true or false")
        return truths if (codes == -1).any() else truths.astype(dtype)
    if not kinds.is_numeric_dtype(dtype):
        return series
    values = as_numbers(series, place)
    if kinds.is_integer_dtype(dtype) and not (values == np.round(values)).all():  # NaN differs from itself
        return values if isinstance(dtype, np.dtype) or not np.isnan(values).any() else pd.array(values).astype(dtype)
    return pd.array(values, dtype=dtype) if not isinstance(dtype, np.dtype) else values.astype(dtype)


def as_numbers(series: pd.Series[Any], place: str) -> Array:
    """The numbers [B] of a column, also those written as texts; NaN where a value is missing."""
    if not pd.api.types.is_numeric_dtype(series.dtype):
        codes, uniques = pd.factorize(series, use_na_sentinel=True)
        series = pd.Series(_converted_by(float, uniques, codes, place, "numbers"))
    return series.to_numpy(dtype=float, na_value=np.nan)


def _categories(codes: Array, uniques: Any, dtype: pd.CategoricalDtype, place: str, closed: bool) -> pd.Categorical:
    numeric = pd.api.types.is_numeric_dtype(dtype.categories.dtype)
    index = {_key(value, numeric): i for i, value in enumerate(dtype.categories)}
    keys = [_key(value, numeric) for value in uniques]
    unknown = [value for value, key in zip(uniques, keys, strict=True) if key not in index]
    if unknown and closed:
        known = list(map(text_of, dtype.categories))
        hint = did_you_mean(text_of(unknown[0]), known) or f"; they are {listed(known)}"
        shown = cut(repr(unknown[0].item() if isinstance(unknown[0], np.generic) else unknown[0]))
        raise ModelError(f"{place} holds {shown}, which is not among the categories of the training data{hint}")
    if unknown:
        categories = [*dtype.categories.astype(object), *unknown]
        index |= {_key(value, numeric): i for i, value in enumerate(categories)}
        dtype = pd.CategoricalDtype(pd.Index(categories, dtype=object), dtype.ordered)
    places = np.array([*(index[key] for key in keys), -1], np.intp)
    return pd.Categorical.from_codes(places[codes], dtype=dtype)


def _key(value: Any, numeric: bool) -> str:
    """The text that identifies a category: numbers as numbers, booleans in any spelling."""
    text = text_of(value)
    if isinstance(value, str) and numeric:
        try:
            return text_of(float(value))
        except ValueError:
            return text
    return text.lower() if text in ("True", "False") else text


def _converted_by(convert: Callable[[Any], Any], uniques: Any, codes: Array, place: str, what: str) -> Array:
    values = []
    for value in uniques:
        try:
            values.append(convert(value))
        except (KeyError, TypeError, ValueError):
            shown = cut(repr(value.item() if isinstance(value, np.generic) else value))
            raise ModelError(f"{place} holds {shown}, but the model takes {what}") from None
    return _taken(values, codes)


def _taken(values: Sequence[Any], codes: Array) -> Array:
    """The values of `codes` [B], None where a code is -1."""
    array = np.empty(len(values) + 1, object)
    array[:-1] = values
    array[-1] = None
    taken: Array = array[codes]
    return taken


def without_texts(people: pd.DataFrame, name: str, estimator: Any = None) -> pd.DataFrame:
    """Convert columns of texts to booleans or numbers, for models that take no texts.

    A ModelError names a text that is neither: its column was a category in training, with categories that are unknown.
    """
    changed = {}
    for column in people.columns:
        if _has_texts(people[column]):
            codes, uniques = pd.factorize(people[column], use_na_sentinel=True)
            truths = set(map(text_of, uniques)) <= {"true", "false", "True", "False"}
            dtype = np.dtype(bool if truths and (codes >= 0).all() else float)
            place = f"{name}: column '{column}'"
            changed[column] = _converted_by(_number, uniques, codes, place, _NUMBERS).astype(dtype)
    return people.assign(**changed) if changed else people


def _number(value: Any) -> float:
    return float(_TRUTHS[value]) if value in ("true", "false", "True", "False") else float(value)


def _has_texts(series: pd.Series[Any]) -> bool:
    if pd.api.types.is_numeric_dtype(series.dtype) or isinstance(series.dtype, pd.CategoricalDtype):
        return False
    return any(isinstance(value, str) for value in series)
