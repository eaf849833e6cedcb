"""Column dtypes: cast a table to the dtypes that a model was trained on, and describe dtypes as plain data."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.errors import PeopleError, SettingError
from counterplan.problem.values import cut, did_you_mean, is_missing, listed, one_line, text_of

Dtypes = Mapping[Any, Any]
"""A pandas dtype, or its name, for each of some columns."""
Schema = tuple[tuple[int | str, Any], ...]
"""The columns of a table and their dtypes as plain data, in order."""
_MARKERS = {"None": None, "nan": math.nan, "NA": pd.NA}
"""Missing values in a column of objects."""


def object_array(values: Sequence[Any]) -> npt.NDArray[Any]:
    """An array [n] of Python objects, whatever they are."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def label_of(name: Hashable) -> int | str:
    """The label of a person or a column: an integer stays one, everything else becomes text."""
    if isinstance(name, tuple):  # of a MultiIndex; a tuple shows its parts as Python values
        return str(tuple(part.item() if isinstance(part, np.generic) else part for part in name))
    return int(name) if isinstance(name, (int, np.integer)) and not isinstance(name, bool) else str(name)


def plain(value: Any) -> Any:
    """A cell of a table as a Python value; None if it is missing."""
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def for_json(value: Any) -> Any:
    """A plain value of a cell; a value that JSON cannot represent becomes text."""
    fits = value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))
    return value if fits else str(value)


def absence(column: pd.Series[Any]) -> Any:
    """The marker of a missing value in a column of objects: None, NaN or NA."""
    if column.dtype != "object":
        return None
    missing = column[column.isna()]
    return missing.iloc[0] if len(missing) else None


def is_untyped(column: pd.Series[Any]) -> bool:
    """Whether a column is one of texts or of objects rather than of numbers, categories or dates."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return False
    return pd.api.types.is_object_dtype(column.dtype) or pd.api.types.is_string_dtype(column.dtype)


def holds_texts(column: pd.Series[Any]) -> bool:
    """Whether a column that is not categorical holds a text."""
    return is_untyped(column) and any(isinstance(value, str) for value in column)


def read_dtypes(dtypes: Dtypes | pd.DataFrame | None) -> dict[str, Any]:
    """Validate dtypes: those of a table, or a mapping from column names.

    Parameters
    ----------
    dtypes : mapping of str to dtype, or pandas.DataFrame, optional
        A table stands for the dtypes of its columns.

    Returns
    -------
    dict
        A pandas dtype by the text of the column name.

    Raises
    ------
    SettingError
        If a dtype is not one of pandas, or a categorical dtype has no categories.
    """
    if dtypes is None:
        return {}
    if isinstance(dtypes, pd.DataFrame):
        dtypes = dtypes.dtypes.to_dict()
    if not isinstance(dtypes, Mapping):
        raise SettingError(f"dtypes are a mapping from columns to dtypes, or a table, not {type(dtypes).__name__}")
    result = {}
    for name, dtype in dtypes.items():
        try:
            result[text_of(name)] = known = pd.api.types.pandas_dtype(dtype)
        except TypeError:
            raise SettingError(f"dtypes: column '{name}': {cut(repr(dtype))} is not a pandas dtype") from None
        if isinstance(known, pd.CategoricalDtype) and known.categories is None:
            raise SettingError(
                f"dtypes: column '{name}': a categorical dtype needs the categories that the model was trained on: "
                "pandas.CategoricalDtype([...])"
            )
    return result


def as_dtypes(frame: pd.DataFrame, dtypes: Dtypes | pd.DataFrame | None, *, closed: bool = True) -> pd.DataFrame:
    """Cast the columns of a table to given dtypes without changing the meaning of a value.

    Texts become the numbers, booleans or categories that they spell. Columns without a dtype remain as they are, and
    dtypes of columns that the table lacks are ignored. Where a dtype cannot hold the values (missing ones and fractions
    among integers, missing ones among booleans, large numbers), the nearest one that can is used.

    Parameters
    ----------
    frame : pandas.DataFrame
    dtypes : mapping of str to dtype, or pandas.DataFrame, optional
        See `read_dtypes`.
    closed : bool, default=True
        Whether a value that is not among the categories of its dtype is an error; otherwise it becomes another one.

    Returns
    -------
    pandas.DataFrame
        `frame` itself if it has these dtypes already; otherwise a copy.

    Raises
    ------
    PeopleError
        If a value cannot be represented: the message names the column and the value.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterplan.problem.frames import as_dtypes
    >>> people = pd.DataFrame({"job": ["clerk"], "owner": ["False"]})
    >>> job = pd.CategoricalDtype(["manager", "clerk"])
    >>> cast = as_dtypes(people, {"job": job, "owner": "bool"})
    >>> cast["job"].cat.codes[0], cast["owner"][0]
    (np.int8(1), np.False_)
    """
    wanted = read_dtypes(dtypes)
    columns = {column: wanted[text_of(column)] for column in frame.columns if text_of(column) in wanted}
    changed = {column: dtype for column, dtype in columns.items() if not same_dtype(frame[column].dtype, dtype)}
    if not changed:
        return frame
    result = frame.copy()
    for column, dtype in changed.items():
        result[column] = _cast(frame[column], dtype, closed)
    return result


def same_dtype(one: Any, other: Any) -> bool:
    """Whether two dtypes are equal; of categorical ones, also the order of their categories."""
    if isinstance(one, pd.CategoricalDtype) and isinstance(other, pd.CategoricalDtype):
        same_order = one.categories.equals(other.categories) and one.categories.dtype == other.categories.dtype
        return bool(one.ordered) == bool(other.ordered) and same_order
    return bool(one == other)


def _cast(column: pd.Series[Any], dtype: Any, closed: bool) -> pd.Series[Any]:
    """Cast each distinct value once."""
    if isinstance(dtype, pd.CategoricalDtype):
        return _cast_to_categories(column, dtype, closed)
    kind, values = pd.api.types, column.dtype
    numeric = kind.is_numeric_dtype(values) and not kind.is_complex_dtype(values) and not kind.is_bool_dtype(values)
    if numeric and kind.is_float_dtype(dtype):
        numbers = column.to_numpy(dtype=float, na_value=math.nan)
        return pd.Series(pd.array(numbers, dtype=dtype), index=column.index)
    if kind.is_object_dtype(dtype):
        return column.astype(object)
    codes, uniques = pd.factorize(column, use_na_sentinel=True)
    read, words = next(((read, words) for fits, read, words in _READERS if fits(dtype)), (plain, str(dtype)))
    natives = [read(plain(value)) for value in uniques]
    for value, native in zip(uniques, natives, strict=True):
        if native is None:
            raise PeopleError(f"column '{column.name}' holds {cut(repr(plain(value)))}, but the model takes {words}")
    dtype = _wide_enough(dtype, natives, bool((codes < 0).any()))
    try:
        distinct = pd.Series(object_array([*natives, None][: len(natives) + bool((codes < 0).any())])).astype(dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise PeopleError(f"column '{column.name}': cannot be cast to {dtype}: {cut(str(error))}") from None
    return pd.Series(distinct.array.take(codes % max(1, len(distinct))), index=column.index)


def _wide_enough(dtype: Any, natives: Sequence[Any], missing: bool) -> Any:
    """`dtype`, or the nearest one that can hold values which it cannot: fractions, large numbers, missing values."""
    kind, plainly = pd.api.types, isinstance(dtype, np.dtype)
    if kind.is_bool_dtype(dtype):
        return np.dtype(object) if missing and plainly else dtype
    if not kind.is_integer_dtype(dtype):
        return dtype
    if any(isinstance(native, float) for native in natives):
        return np.dtype(float) if plainly else pd.Float64Dtype()
    if missing and plainly:
        return np.dtype(float)
    info = np.iinfo(dtype if plainly else dtype.numpy_dtype)
    fits = all(info.min <= native <= info.max for native in natives)
    return dtype if fits else np.dtype(np.int64) if plainly else pd.Int64Dtype()


def _cast_to_categories(column: pd.Series[Any], dtype: pd.CategoricalDtype, closed: bool) -> pd.Series[Any]:
    categories = [plain(value) for value in dtype.categories]
    numeric = pd.api.types.is_numeric_dtype(dtype.categories.dtype)
    position: dict[str, int] = {}
    for which in (0, -1):  # a category's own text precedes what others may spell
        for i, value in enumerate(categories):
            position.setdefault(_spellings(value, numeric)[which], i)
    codes, uniques = pd.factorize(column, use_na_sentinel=True)
    numbers = np.full(len(uniques) + 1, -1, np.intp)
    for code, unique in enumerate(uniques):
        value = plain(unique)
        found = next((position[text] for text in _spellings(value, numeric) if text in position), None)
        if found is None and closed:
            known = [*map(text_of, categories)]
            hint = did_you_mean(text_of(value), known) or f"; they are {listed(known)}"
            raise PeopleError(
                f"column '{column.name}' holds {cut(repr(value))}, which is not among the categories that the model "
                f"knows{hint}"
            )
        if found is None:
            found = len(categories)
            categories.append(value)
        numbers[code] = found
    if len(categories) > len(dtype.categories):
        dtype = pd.CategoricalDtype(pd.Index(object_array(categories)).infer_objects(), dtype.ordered)
    return pd.Series(pd.Categorical.from_codes(numbers[codes], dtype=dtype), index=column.index)


def _spellings(value: Any, numeric: bool) -> list[str]:
    """The texts by which a value is found among categories: its own, then that of the boolean or number it spells.

    Among texts, 007 and 7 are different. Among numbers, true is 1 and false is 0.
    """
    text = text_of(value)
    truth = text.lower() if text.lower() in ("true", "false") else None
    number = _number(truth == "true" if truth else text) if numeric else None
    return [text, *([truth] if truth else []), *([text_of(number)] if number is not None else [])]


def _truth(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False, "1": True, "0": False}.get(value.strip().lower())
    return bool(value) if isinstance(value, (bool, int, float)) and value in (0, 1) else None


def _number(value: Any) -> float | None:
    truth = _truth(value) if isinstance(value, str) else None
    try:
        return float(value if truth is None else truth)
    except (TypeError, ValueError):
        return None


def _whole(value: Any) -> int | float | None:
    """An int if the value is whole, otherwise a float."""
    try:
        return int(value) if not isinstance(value, float) or value.is_integer() else value
    except (TypeError, ValueError, OverflowError):
        number = _number(value)
        return int(number) if number is not None and number.is_integer() else number


def _text(value: Any) -> str:
    return str(value) if isinstance(value, bool) else text_of(value)


def _date(value: Any) -> pd.Timestamp | None:
    try:
        return pd.Timestamp(value)
    except (TypeError, ValueError, OverflowError):
        return None


_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any], str], ...] = (
    (pd.api.types.is_bool_dtype, _truth, "true or false"),
    (pd.api.types.is_integer_dtype, _whole, "numbers"),
    (pd.api.types.is_float_dtype, _number, "numbers"),
    (pd.api.types.is_string_dtype, _text, "texts"),
    (pd.api.types.is_datetime64_any_dtype, _date, "dates"),
)
"""How a value is read as one of a dtype, None if it cannot be, and the words for such values."""


def schema_of(table: pd.DataFrame) -> Schema:
    """Describe the dtypes of a table as plain data that JSON can represent, with categories in order."""
    described = []
    for i, column in enumerate(table.columns):
        dtype = _describe(table.dtypes.iloc[i])
        if dtype == "object":
            marker = absence(table.iloc[:, i])
            dtype = {"object": "nan" if isinstance(marker, float) else "NA" if marker is pd.NA else "None"}
        described.append((label_of(column), dtype))
    return tuple(described)


def _describe(dtype: Any) -> Any:
    if isinstance(dtype, pd.CategoricalDtype):
        categories = [for_json(plain(value)) for value in dtype.categories]
        return {"categories": categories, "of": _describe(dtype.categories.dtype), "ordered": bool(dtype.ordered)}
    if isinstance(dtype, pd.StringDtype):
        return {"string": dtype.storage, "missing": "NA" if dtype.na_value is pd.NA else "nan"}
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        schema = pa.schema([("", dtype.pyarrow_dtype)]).serialize().to_pybytes()
        return {"arrow": base64.b64encode(schema).decode(), "name": str(dtype.pyarrow_dtype)}
    return str(dtype)


def _restore(described: Any) -> Any:
    """The dtype that `_describe` described."""
    if isinstance(described, str) and described != "category":
        return pd.api.types.pandas_dtype(described)
    if not isinstance(described, dict):
        raise TypeError
    if "categories" in described:
        categories = pd.Index(_column(described["categories"], described["of"]))
        return pd.CategoricalDtype(categories, ordered=described["ordered"])
    if "string" in described:
        storage = described["string"]
        if described["missing"] == "NA" or storage == "pyarrow_numpy":  # pandas before 2.3
            return pd.StringDtype(storage)
        return pd.StringDtype(storage, na_value=math.nan)
    if "arrow" in described:
        import pyarrow as pa

        return pd.ArrowDtype(pa.ipc.read_schema(pa.py_buffer(base64.b64decode(described["arrow"]))).field(0).type)
    if described["object"] not in _MARKERS:
        raise KeyError
    return np.dtype(object)


def _column(values: Sequence[Any], described: Any) -> pd.Series[Any]:
    """Plain values, None if missing, as a column with a described dtype."""
    dtype = _restore(described)
    if isinstance(dtype, pd.CategoricalDtype):
        code = {text_of(value): i for i, value in enumerate(described["categories"])}
        codes = [-1 if value is None else code[text_of(for_json(value))] for value in values]
        return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype))
    if dtype == "object":
        marker = _MARKERS[described["object"]] if isinstance(described, dict) else None
        return pd.Series(object_array([marker if value is None else value for value in values]), dtype=object)
    if isinstance(dtype, np.dtype) and dtype.kind == "b" and None in values:
        raise PeopleError("a value is missing")
    if pd.api.types.is_integer_dtype(dtype):
        unfit = [value for value in values if isinstance(value, (bool, float))]
        if unfit:
            raise PeopleError(f"{unfit[0]!r} is not an integer")
    return pd.Series(object_array(values), dtype=object).astype(dtype)


def frame_of(columns: Sequence[Sequence[Any]], schema: Schema) -> pd.DataFrame:
    """The table whose columns hold plain values and have the dtypes of a schema; the inverse of `schema_of`.

    Raises
    ------
    PeopleError
        If a dtype is not known here, or cannot represent the values.
    """
    series = []
    for (name, described), values in zip(schema, columns, strict=True):
        wrong = f"column '{one_line(name)}': its dtype cannot be restored"
        try:
            dtype = _restore(described)
        except ImportError as error:
            raise PeopleError(f"{wrong}: {one_line(error)}") from None
        except (KeyError, TypeError, ValueError, OverflowError):
            raise PeopleError(f"{wrong}: {one_line(repr(described))} does not describe one") from None
        try:
            series.append(_column(values, described))
        except PeopleError as error:
            raise PeopleError(f"{wrong}: {error}") from None
        except (KeyError, TypeError, ValueError, OverflowError):
            raise PeopleError(
                f"{wrong}: {one_line(repr(values))} are no values of the dtype {one_line(dtype)}"
            ) from None
    frame = pd.concat(series, axis=1) if series else pd.DataFrame()
    frame.columns = pd.Index([name for name, _ in schema])
    return frame
