"""Read tables of people from CSV and Parquet files."""

from __future__ import annotations

import lzma
import math
import tarfile
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from counterplan.errors import PeopleError
from counterplan.problem.dtypes import object_array
from counterplan.problem.natives import as_natives
from counterplan.problem.parts import Feature
from counterplan.problem.values import listed

if TYPE_CHECKING:
    from pandas.io.parsers import TextFileReader


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
        If the file is missing, empty or not a table, or has two columns of one name, or values without a column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from counterplan.problem import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age,job\\n30,worker\\n")
    >>> read_table(path).shape
    (1, 2)
    """
    with _reporting(path):
        return pd.read_parquet(path) if _is_parquet(path) else _CsvFormat.of(path, features).read(path)


def iter_table(path: str | Path, features: Sequence[Feature], rows: int) -> Iterator[pd.DataFrame]:
    """Read a CSV file in parts, so that memory does not grow with its length.

    The features have the same values as in `read_table`; the types of other columns are inferred for each part.

    Parameters
    ----------
    path : str or Path
        The file.
    features : sequence of Feature
        The features of the problem (``problem.features``).
    rows : int
        Most rows of a part.

    Yields
    ------
    pandas.DataFrame

    Raises
    ------
    PeopleError
        As `read_table`; and if the type of a column depends on rows of other parts: such a file has to be read as a
        whole.
    """
    with _reporting(path):
        if _is_parquet(path):
            raise PeopleError(f"{path}: only CSV files are read in parts")
        numbers = [feature.name for feature in features if feature.is_number]
        form = _CsvFormat.of(path, features)
        with form.parts(path, rows) as parts:
            while (part := _next_part(parts)) is not None:
                kinds = {part[name].dtype.kind for name in numbers if name in part.columns}
                if not kinds <= set("iuf"):
                    raise PeopleError(f"{path}: has to be read as a whole")
                yield form.natives(part)


def _next_part(parts: TextFileReader) -> pd.DataFrame | None:
    """The next part of a CSV file; None at its end."""
    with _without_loss():
        return next(parts, None)


@contextmanager
def _without_loss() -> Iterator[None]:
    """Within this context, values without a column raise a ParserWarning; pandas would drop them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        yield


def count_rows(path: str | Path) -> int:
    """Number of rows of a CSV file, read in parts, or of a Parquet file; raises PeopleError as `read_table`."""
    if _is_parquet(path):
        with _reporting(path):
            from pyarrow.parquet import read_metadata

            return int(read_metadata(path).num_rows)
    with _reporting(path), pd.read_csv(path, usecols=[0], dtype=str, chunksize=100_000) as parts:
        return sum(len(part) for part in parts)


def _is_parquet(path: str | Path) -> bool:
    return str(path).endswith((".parquet", ".pq"))


@contextmanager
def _reporting(path: str | Path) -> Iterator[None]:
    """Within this context, errors of reading the file are raised as PeopleError."""
    name = str(path)
    if Path(path).exists() and not Path(path).is_file():
        raise PeopleError(f"{name}: cannot be read as a table: not a regular file")
    try:
        yield
    except PeopleError:  # also a ValueError
        raise
    except FileNotFoundError:
        raise PeopleError(f"{name}: there is no such file") from None
    except ImportError as error:
        if not _is_parquet(path):
            raise PeopleError(f"{name}: cannot be read as a table: {error}") from None
        raise PeopleError(f"{name}: reading Parquet needs pyarrow; pip install 'counterplan[parquet]'") from None
    except pd.errors.EmptyDataError:
        raise PeopleError(f"{name}: the file is empty") from None
    except pd.errors.ParserWarning:
        raise PeopleError(
            f"{name}: the first row has more values than the header has columns; name every column, or remove commas "
            "at the ends of rows"
        ) from None
    except (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise PeopleError(f"{name}: cannot be read as a table: {' '.join(str(error).split())}") from error


@dataclass(frozen=True)
class _CsvFormat:
    """How the columns of a CSV file are read, given its header and the features of a problem."""

    features: Sequence[Feature]
    options: Mapping[str, Any]
    """Parameters of `pandas.read_csv`."""

    @classmethod
    def of(cls, path: str | Path, features: Sequence[Feature]) -> _CsvFormat:
        """The format of a file; PeopleError if two columns have one name."""
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
        options = {"dtype": dtypes, "keep_default_na": False, "na_values": na_values, "low_memory": False}
        options["index_col"] = False  # otherwise one value too many in the rows moves all values by a column
        return cls(features, options)

    def read(self, path: str | Path) -> pd.DataFrame:
        """The whole table."""
        with _without_loss():
            table = pd.read_csv(path, **self.options)
        return self.natives(table)

    def parts(self, path: str | Path, rows: int) -> TextFileReader:
        """The table in parts of `rows`, before `natives`."""
        return pd.read_csv(path, **self.options, chunksize=rows)

    def natives(self, table: pd.DataFrame) -> pd.DataFrame:
        """`table`, whose cells of features become values of the problem."""
        for feature in self.features:
            if feature.name in table.columns:
                column = table[feature.name]
                table[feature.name] = _cells_as_numbers(column) if feature.is_number else as_natives(column, feature)
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
