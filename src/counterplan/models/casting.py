"""Convert the columns of people to the types that a model was trained on, with errors that name the model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import ModelError, PeopleError
from counterplan.models.outputs import Array
from counterplan.models.protocol import columns_of
from counterplan.problem.dtypes import as_dtypes, is_untyped
from counterplan.problem.values import did_you_mean, text_of

ADVICE = "give its types with dtypes=, or with --like FILE.parquet, a table as in training"
_TRUTHS = {"true", "false", "True", "False"}


def as_trained(people: pd.DataFrame, dtypes: Mapping[str, Any], name: str, *, closed: bool = True) -> pd.DataFrame:
    """Cast columns of `people` as `as_dtypes` does; a ModelError begins with the `name` of the model."""
    try:
        return as_dtypes(people, dtypes, closed=closed)
    except PeopleError as error:
        raise ModelError(f"{name}: {error}") from None


def as_numbers(series: pd.Series[Any], name: str) -> Array:
    """The numbers [B] of a column, also those written as texts; NaN where a value is missing."""
    cast = as_trained(series.to_frame("" if series.name is None else series.name), {text_of(series.name): float}, name)
    return cast.iloc[:, 0].to_numpy(dtype=float, na_value=np.nan)


def as_numeric(people: pd.DataFrame, name: str, estimator: Any = None) -> pd.DataFrame:
    """Convert columns of texts and objects to booleans or numbers, for models whose other columns are categorical.

    Missing values become NaN. A ModelError names a value that is no number: if it is a text, its column was a category
    in training, with categories that are unknown.
    """
    dtypes = {text_of(column): _numeric_dtype(people[column]) for column in people.columns}
    try:
        return as_dtypes(people, {column: dtype for column, dtype in dtypes.items() if dtype is not None})
    except PeopleError as error:
        raise ModelError(f"{name}: {error}, or categories that it does not tell: {ADVICE}") from None


def _numeric_dtype(series: pd.Series[Any]) -> type[bool] | type[float] | None:
    """bool if a column of texts or objects holds nothing else, otherwise float; None for other columns."""
    if not is_untyped(series):
        return None
    return bool if len(series) and all(_is_truth(value) for value in series) else float


def _is_truth(value: object) -> bool:
    return value in _TRUTHS if isinstance(value, str) else isinstance(value, (bool, np.bool_))


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
