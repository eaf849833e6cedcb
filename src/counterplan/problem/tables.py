"""Read tables of people from CSV and Parquet files."""

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
from pathlib import Path
from typing import Any

import pandas as pd

from counterplan.errors import PeopleError
from counterplan.problem.dtypes import object_array
from counterplan.problem.frames import MAX_EXACT_INTEGER
from counterplan.problem.parts import Feature
from counterplan.problem.values import is_missing, listed

_POWER = re.compile(r" *[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]{1,3} *")
_WHOLE = re.compile(r" *([-+]?(?:0|[1-9][0-9]{0,30}))(?:\.0*)? *")


def read_table(path: str | Path, features: Sequence[Feature] = ()) -> pd.DataFrame:
    """Read a table of people from a CSV (also compressed) or Parquet file.

    In a CSV, a column of a category is read with the type of the values in the problem: as ints if all are ints, as
    booleans if all are booleans, otherwise as texts, where `NA`, `007` and `None` are values.

    Parameters
    ----------
    path : str or Path
        The file; ``.parquet`` and ``.pq`` are read as Parquet (needs pyarrow), everything else as CSV.
    features : sequence of Feature, optional
        The features of the problem (``problem.features``).

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    PeopleError
        If the file is missing, empty or not a table, or has two columns of one name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from counterplan.problem import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age,job\\n30,worker\\n")
    >>> read_table(path).shape
    (1, 2)
    """
    name = str(path)
    if Path(path).exists() and not Path(path).is_file():
        raise PeopleError(f"{name}: cannot be read as a table: not a regular file")
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
    names = pd.read_csv(path, nrows=0).columns  # pandas renames duplicates
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
    """Convert the numeric cells of a column that pandas read as text; the others remain texts."""
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        return column
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=math.nan).tolist()
    cells = [
        cell if math.isnan(number) else int(number) if number.is_integer() else number
        for cell, number in zip(column, numbers, strict=True)
    ]
    return pd.Series(object_array(cells), index=column.index)


def _cells_as_natives(column: pd.Series[Any], feature: Feature) -> pd.Series[Any]:
    """Convert a column of texts to the ints or booleans of `feature`; other cells remain texts."""
    kinds = {type(native) for native in feature.natives}
    if kinds not in ({int}, {bool}):
        return column
    read = _whole if kinds == {int} else _truth
    meaning = {text: read(text) for text in column.dropna().unique()}
    cells = object_array([None if is_missing(text) else meaning[text] for text in column])
    missing, dtype = bool(column.isna().any()), "object"
    if {type(value) for value in meaning.values()} <= kinds and not (missing and kinds == {bool}):
        dtype = "bool" if kinds == {bool} else "Int64" if missing else "int64"
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
