"""The rows that an experiment comes down to, as tables in CSV: everything that is told of it follows from these."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from counterplan.errors import PlanError
from counterplan.experiments.evaluation import OUTCOMES
from counterplan.storage.files import write_whole

COLUMNS: dict[str, tuple[str, ...]] = {
    "results": (
        "benchmark", "seed", "person", "method", "success", "outcome", "reachable", "least_effort", "cost", "length",
        "questions", "rule_length", "actions",
    ),
    "curves": (
        "benchmark", "seed", "person", "method", "knob", "value", "success", "outcome", "reachable", "least_effort",
        "cost", "length", "questions", "rule_length", "actions",
    ),
    "questions": ("benchmark", "seed", "method", "phase", "knob", "value", "people", "rows", "remembered"),
    "programs": ("benchmark", "seed", "method", "traces", "got", "leaves"),
    "people": ("benchmark", "seed", "person", "feature", "group"),
    "datasets": (
        "benchmark", "seed", "rows", "favourable", "unfavourable", "features", "binary_features", "functions",
        "accuracy", "refused", "reachable", "unreachable", "optimal_cost", "optimal_length", "shortest", "longest",
    ),
    "timing": ("benchmark", "seed", "method", "phase", "people", "cpu_seconds", "wall_seconds"),
}  # fmt: skip
"""The columns of each file. All but `timing` are the same whenever seeds and versions are."""


@dataclass(frozen=True)
class Rows:
    """All tables of an experiment."""

    results: pd.DataFrame
    """A row for each person, method and seed."""
    curves: pd.DataFrame
    """The same for other limits of questions and other numbers of traces (`knob`, `value`)."""
    questions: pd.DataFrame
    """Rows sent to the model, by what for (training, distillation, trial, prediction), and those memory answered."""
    programs: pd.DataFrame
    people: pd.DataFrame
    """To which protected groups people belong."""
    datasets: pd.DataFrame
    timing: pd.DataFrame

    @classmethod
    def collected(cls, sheets: Iterable[Mapping[str, list[dict[str, Any]]]]) -> Rows:
        """The rows of all cells, in their order; everybody's least effort is what exact search found."""
        parts: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
        for sheet in sheets:
            for name, rows in sheet.items():
                parts[name] += rows
        exact = {_who(row): row for row in parts["results"] if row["method"] == "exact"}
        for row in (*parts["results"], *parts["curves"]):
            known = exact.get(_who(row), {"outcome": "", "cost": None})
            row["reachable"] = {"holds": "yes", "proved_none": "no"}.get(known["outcome"], "unknown")
            row["least_effort"] = known["cost"]
        return cls(**{name: _typed(pd.DataFrame(rows, columns=list(COLUMNS[name]))) for name, rows in parts.items()})

    @classmethod
    def read(cls, folder: Path) -> Rows:
        """What `write` wrote; a PlanError says so if a file is damaged or not there."""
        tables = {}
        for name, columns in COLUMNS.items():
            path = folder / f"{name}.csv"
            try:
                with path.open(encoding="utf-8", newline="") as file:
                    tables[name] = _typed(_table(path, columns, csv.reader(file, strict=True)))
            except FileNotFoundError:
                raise PlanError(
                    f"{path}: there is no such file; run the experiment first, or go on with --resume"
                ) from None
            except (OSError, ValueError, csv.Error) as error:
                raise PlanError(f"{path}: cannot be read ({error}); --resume writes it again") from None
        return cls(**tables)

    def write(self, folder: Path) -> None:
        """Write each table to a file of its own, whole or not at all."""
        for one in fields(self):
            write_whole(folder / f"{one.name}.csv", getattr(self, one.name).to_csv(index=False, lineterminator="\n"))


def _who(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["benchmark"], row["seed"], row["person"]


def _table(path: Path, columns: tuple[str, ...], lines: Any) -> pd.DataFrame:
    """A file as it was written, cell by cell; a PlanError names the line and the column of what cannot be right.

    Nothing is guessed: a misspelt word that was read as a yes would turn a failure into a success.
    """
    if tuple(next(lines, ())) != columns:
        raise PlanError(f"{path}: has other columns than expected; --resume writes it again")
    rows = []
    for cells in lines:
        where = f"{path}: line {lines.line_num}"
        if len(cells) != len(columns):
            raise PlanError(f"{where}: has {len(cells)} cells, not {len(columns)}; --resume writes it again")
        row = []
        for column, text in zip(columns, cells, strict=True):
            try:
                row.append(_value(path.stem, column, text))
            except ValueError as error:
                raise PlanError(
                    f"{where}, column '{column}': {text!r} is {error}; --resume writes the file again"
                ) from None
        rows.append(row)
    return pd.DataFrame(rows, columns=list(columns))


_WHOLE = ("value", "people", "traces", "got", "rows", "remembered", "length", "questions", "shortest", "longest")
_COUNTS = (
    *_WHOLE, "seed", "person", "leaves", "favourable", "unfavourable", "features", "binary_features", "functions",
    "refused", "unreachable",
)  # fmt: skip
_REAL = ("cost", "least_effort", "rule_length", "optimal_cost", "optimal_length")
_NUMBERS = (*_REAL, "accuracy", "cpu_seconds", "wall_seconds")
_WORDS = {"outcome": tuple(OUTCOMES), "reachable": ("yes", "no", "unknown")}
_NEVER_EMPTY = ("benchmark", "seed", "person", "method", "phase", "feature", "success", "outcome", "reachable")


def _value(table: str, column: str, text: str) -> Any:
    """What a cell says; a ValueError tells what it is not."""
    if not text:
        if column in _NEVER_EMPTY:
            raise ValueError("empty, which it never is")
        return None
    if column == "success":
        if text not in ("True", "False"):
            raise ValueError("neither True nor False")
        return text == "True"
    if column in _COUNTS:
        if not text.removesuffix(".0").isdecimal():
            raise ValueError("no whole number, zero or more")
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
        raise ValueError("no number") from None
    if not math.isfinite(number):
        raise ValueError("no number")
    return number


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """The same with one type for each column, however it came about."""
    for name in table.columns:
        if name in _WHOLE:
            table[name] = pd.to_numeric(table[name]).astype("Int64")
        elif name in _REAL:
            table[name] = pd.to_numeric(table[name]).astype(float)
        elif name == "success":
            table[name] = table[name].astype(bool)
        elif name in ("actions", "outcome", "knob", "group"):
            table[name] = table[name].astype(object).fillna("").astype(str)
    return table
