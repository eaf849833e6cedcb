"""The rows of an experiment, as tables in CSV files: tables, figures and the report are functions of them."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from counterplan.errors import StorageError
from counterplan.experiments.evaluation import OUTCOMES
from counterplan.storage.files import write_whole

_PERSON = ("benchmark", "seed", "person", "method")
_OUTCOME = ("success", "outcome", "reachable", "least_effort", "cost", "length", "questions", "rule_length", "actions")
COLUMNS: dict[str, tuple[str, ...]] = {
    "results": (*_PERSON, *_OUTCOME),
    "curves": (*_PERSON, "knob", "value", *_OUTCOME),
    "questions": ("benchmark", "seed", "method", "phase", "knob", "value", "people", "rows", "remembered"),
    "programs": ("benchmark", "seed", "method", "traces", "got", "leaves"),
    "people": ("benchmark", "seed", "person", "feature", "group"),
    "datasets": (
        *("benchmark", "seed", "rows", "favourable", "unfavourable", "features", "binary_features", "functions"),
        *("accuracy", "refused", "reachable", "unreachable", "optimal_cost", "optimal_length", "shortest", "longest"),
    ),
    "survival": (*_PERSON, "value", "least_effort", "cost", "stated", "held", "judged"),
    "timing": ("benchmark", "seed", "method", "phase", "people", "cpu_seconds", "wall_seconds"),
}
"""The columns of each file. All but `timing` are reproducible for the same seeds and versions.

`least_effort` is the optimal cost of a person, `questions` counts queries, `rows` are queries sent to the model and
`remembered` those answered from the cache, `knob` and `value` name a varied parameter, `got` is a number of traces.
In `survival`, `value` is the weight λ, `stated` the stated chance, and `held` counts those of the `judged` retrained
models that are favourable at the end of the plan.
"""
_OPTIONAL = ("survival",)
"""Files that earlier versions did not write."""
FIELDS = {name: "queries" if name == "questions" else name for name in COLUMNS}
"""The attribute of `ExperimentRows` that holds each file."""


@dataclass(frozen=True)
class ExperimentRows:
    """All tables of an experiment."""

    results: pd.DataFrame
    """A row for each person, method and seed."""
    curves: pd.DataFrame
    """The same for other query budgets and numbers of traces (`knob`, `value`)."""
    queries: pd.DataFrame
    """Queries by phase (training, distillation, trial, prediction): sent to the model, and answered from the cache."""
    programs: pd.DataFrame
    people: pd.DataFrame
    """The protected groups of each person."""
    datasets: pd.DataFrame
    survival: pd.DataFrame
    """Plans for survival, judged by retrained models, and accepted people as they are."""
    timing: pd.DataFrame

    @classmethod
    def collected(cls, records: Iterable[Mapping[str, list[dict[str, Any]]]]) -> ExperimentRows:
        """Collect the rows of all cells, in order; the optimal cost of each person is that of exact search."""
        parts: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
        for record in records:
            for name, rows in record.items():
                parts[name] += rows
        exact = {_person(row): row for row in parts["results"] if row["method"] == "exact"}
        for row in (*parts["results"], *parts["curves"]):
            known = exact.get(_person(row), {"outcome": "", "cost": None})
            row["reachable"] = {"holds": "yes", "proved_none": "no"}.get(known["outcome"], "unknown")
            row["least_effort"] = known["cost"]
        tables = {name: pd.DataFrame(rows, columns=list(COLUMNS[name])) for name, rows in parts.items()}
        return cls(**{FIELDS[name]: _typed(table) for name, table in tables.items()})

    @classmethod
    def read(cls, folder: Path) -> ExperimentRows:
        """Read the tables that `write` wrote.

        Raises
        ------
        StorageError
            If a file is missing or damaged; the message names line and column.
        """
        tables = {}
        for name, columns in COLUMNS.items():
            path = folder / f"{name}.csv"
            try:
                with path.open(encoding="utf-8", newline="") as file:
                    tables[FIELDS[name]] = _typed(_table(path, columns, csv.reader(file, strict=True)))
            except StorageError:
                raise
            except FileNotFoundError:
                if name in _OPTIONAL:
                    tables[FIELDS[name]] = _typed(pd.DataFrame(columns=list(columns)))
                    continue
                raise StorageError(
                    f"{path}: there is no such file; run the experiment first, or continue it with --resume"
                ) from None
            except (OSError, ValueError, csv.Error) as error:
                raise StorageError(f"{path}: cannot be read ({error}); --resume writes it again") from None
        return cls(**tables)

    def write(self, folder: Path) -> None:
        """Write each table to a file of its own, atomically."""
        for name, field in FIELDS.items():
            write_whole(folder / f"{name}.csv", getattr(self, field).to_csv(index=False, lineterminator="\n"))


def _person(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["benchmark"], row["seed"], row["person"]


def _table(path: Path, columns: tuple[str, ...], lines: Any) -> pd.DataFrame:
    """Parse a file cell by cell; a StorageError names the line and the column of an invalid cell.

    Nothing is coerced: a misspelt word that was read as true would turn a failure into a success.
    """
    if tuple(next(lines, ())) != columns:
        raise StorageError(f"{path}: has other columns than expected; --resume writes it again")
    rows = []
    for cells in lines:
        place = f"{path}: line {lines.line_num}"
        if len(cells) != len(columns):
            raise StorageError(f"{place}: has {len(cells)} cells, not {len(columns)}; --resume writes it again")
        row = []
        for column, text in zip(columns, cells, strict=True):
            try:
                row.append(_value(path.stem, column, text))
            except ValueError as error:
                raise StorageError(
                    f"{place}, column '{column}': {text!r} is {error}; --resume writes the file again"
                ) from None
        rows.append(row)
    return pd.DataFrame(rows, columns=list(columns))


_OPTIONAL_COUNTS = (
    *("value", "people", "traces", "got", "rows", "remembered", "length", "questions"),
    *("shortest", "longest"),
)
_COUNTS = (
    *_OPTIONAL_COUNTS,
    *(
        "seed",
        "person",
        "held",
        "judged",
        "leaves",
        "favourable",
        "unfavourable",
        "features",
        "binary_features",
        "functions",
    ),
    *("refused", "unreachable"),
)
_OPTIONAL_NUMBERS = ("cost", "least_effort", "rule_length", "optimal_cost", "optimal_length", "stated")
_NUMBERS = (*_OPTIONAL_NUMBERS, "accuracy", "cpu_seconds", "wall_seconds")
_WORDS = {"outcome": tuple(OUTCOMES), "reachable": ("yes", "no", "unknown")}
_NEVER_EMPTY = (
    "benchmark",
    "seed",
    "person",
    "method",
    "phase",
    "feature",
    "success",
    "outcome",
    "reachable",
    "held",
    "judged",
)


def _value(table: str, column: str, text: str) -> Any:
    """The value of a cell; the message of a ValueError completes "... is"."""
    if not text:
        if column in _NEVER_EMPTY:
            raise ValueError("empty, which is not allowed here")
        return None
    if column == "success":
        if text not in ("True", "False"):
            raise ValueError("neither True nor False")
        return text == "True"
    if column in _COUNTS:
        if not text.removesuffix(".0").isdecimal():
            raise ValueError("not a non-negative integer")
        return int(text.removesuffix(".0"))
    if column in _NUMBERS or (table, column) == ("datasets", "reachable"):
        return _number(text)
    if column in _WORDS and text not in _WORDS[column]:
        raise ValueError(f"none of {', '.join(_WORDS[column])}")
    return text


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError("not a number") from None
    if not math.isfinite(number):
        raise ValueError("not a number")
    return number


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with one data type for each column, whether it was collected or read."""
    for name in table.columns:
        if name in _OPTIONAL_COUNTS:
            table[name] = pd.to_numeric(table[name]).astype("Int64")
        elif name in _OPTIONAL_NUMBERS:
            table[name] = pd.to_numeric(table[name]).astype(float)
        elif name == "success":
            table[name] = table[name].astype(bool)
        elif name in ("actions", "outcome", "knob", "group"):
            table[name] = table[name].astype(object).fillna("").astype(str)
    return table
