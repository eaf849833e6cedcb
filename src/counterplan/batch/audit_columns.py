"""The columns of Parquet files that people are grouped by, and their kinds, before anything is audited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from counterplan.audit.groups import group_columns, is_number, require_few, texts_of
from counterplan.audit.settings import GroupName
from counterplan.problem import Problem
from counterplan.problem.parquet_people import ParquetPeople, PeopleFile, reporting_errors

TEXT, NUMBER, NULLABLE, INTEGER = "text", "number", "nullable integer", "integer"
"""Kinds of columns that are not features; those of the last are whole numbers unless one is missing anywhere."""


def columns_of_groups(
    problem: Problem, files: ParquetPeople, wanted: Sequence[GroupName] | None, key: str | None
) -> tuple[list[tuple[str, ...]], tuple[tuple[str, str], ...]]:
    """Find the columns that people are grouped by.

    Parameters
    ----------
    problem : Problem
    files : ParquetPeople
    wanted : sequence of str or tuple of str, or None
        As `AuditSettings.groups`.
    key : str or None
        The column with keys, by which people are not grouped.

    Returns
    -------
    groups : list of tuple of str
        The one or two columns of each grouping.
    columns : tuple of (str, str)
        All of them, each once, with the kind of those that are not features.

    Raises
    ------
    SettingError
        If there is no such column, or one of texts has too many values.
    PeopleError
        If a file cannot be read.
    """
    features = [feature.name for feature in problem.features]
    others = [name for name in _dtypes(files.files[0]) if name not in (*features, key)]
    groups = group_columns(problem, [*features, *others], wanted)
    chosen = list(dict.fromkeys(name for names in groups for name in names))
    kinds = _kinds(files, [name for name in chosen if name not in features])
    _require_few_texts(files, [name for name, kind in kinds.items() if kind == TEXT])
    return groups, tuple((name, kinds.get(name, "")) for name in chosen)


def _dtypes(file: PeopleFile) -> dict[str, Any]:
    """The columns of a file, as pandas reads them: without an index."""
    with reporting_errors(file.path) as (_, pq):
        return {str(name): dtype for name, dtype in pq.read_schema(file.path).empty_table().to_pandas().dtypes.items()}


def _kinds(files: ParquetPeople, names: Sequence[str]) -> dict[str, str]:
    """The kinds of columns that are not features, in all files."""
    if not names:
        return {}
    found = [{name: _kind(dtype) for name, dtype in _dtypes(file).items() if name in names} for file in files.files]
    order = (TEXT, NUMBER, NULLABLE, INTEGER)
    return {name: next(kind for kind in order if any(own.get(name) == kind for own in found)) for name in names}


def _kind(dtype: Any) -> str:
    if not is_number(dtype):
        return TEXT
    if not pd.api.types.is_integer_dtype(dtype):
        return NUMBER
    return NULLABLE if pd.api.types.is_extension_array_dtype(dtype) else INTEGER


def _require_few_texts(files: ParquetPeople, names: Sequence[str]) -> None:
    """Raise a SettingError if a column of texts has too many values; only these columns are read."""
    found: dict[str, set[str | None]] = {name: set() for name in names}
    for file in files.files:
        for name in names:
            for texts in _distinct_texts(file, name):
                found[name] |= texts
                require_few(name, len(found[name]))


def _distinct_texts(file: PeopleFile, name: str) -> Iterator[set[str | None]]:
    """The texts of a column of a file, batch by batch; none if there is no such column."""
    if name not in file.columns:
        return
    with reporting_errors(file.path) as (_, pq), pq.ParquetFile(file.path) as content:
        for batch in content.iter_batches(columns=[name], use_threads=False):
            yield {*texts_of(batch.column(name).unique().to_pandas())}
