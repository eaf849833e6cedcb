"""Plans as tables with one row per step: DataFrame, Arrow, Parquet and CSV, from columns without `Plan` objects."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.errors import SettingError
from counterplan.plans.coded import NO_CODE, Coded, rows_of
from counterplan.plans.distinct import distinct, rounded
from counterplan.plans.plan import PlanOption
from counterplan.plans.robustness import RobustnessColumns
from counterplan.plans.sources import PlanSource, steps_taken
from counterplan.plans.status import Status
from counterplan.plans.text import option_facts
from counterplan.plans.totals import total_costs, total_durations, unweighted_costs
from counterplan.problem.values import describe_target, text_of, visible

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
Column = npt.NDArray[Any] | Coded[Any]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of texts that a spreadsheet runs as a formula."""


def to_frame(source: PlanSource) -> pd.DataFrame:
    """One row per step; see `Plans.to_frame`."""
    columns, stepless = _columns(source)
    if not len(stepless):
        return pd.DataFrame(columns=[*columns])
    values = {}
    for name, column in columns.items():
        if isinstance(column, Coded):
            # an object array of its own, so that pandas infers the type as from a list
            values[name] = _objects(column)
            values[name][stepless & (column.codes == NO_CODE)] = math.nan
        else:
            values[name] = column
    return pd.DataFrame(values).infer_objects()


def import_arrow() -> Any:
    """The module `pyarrow`; SettingError if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise SettingError("Arrow and Parquet need pyarrow: pip install 'counterplan[parquet]'") from None
    return pyarrow


def to_arrow(source: PlanSource, *, dictionary: bool = False) -> pa.Table:
    """An Arrow table with the rows of `to_frame`; see `Plans.to_arrow`."""
    pa = import_arrow()
    arrays = {}
    for name, column in _columns(source)[0].items():
        if isinstance(column, Coded):
            whole = name == "person" and all(isinstance(value, int) for value in column.values)
            kind, values = (pa.int64(), column.values) if whole else (pa.string(), [*map(text_of, column.values)])
            if dictionary and not whole:  # whose entries differ, while values may be equal
                numbers, texts = pd.factorize(np.array(values, object))
                codes = np.append(numbers, NO_CODE)[column.codes]
                coded = pa.array(codes, pa.int32(), mask=codes == NO_CODE)
                arrays[name] = pa.DictionaryArray.from_arrays(coded, pa.array(texts, kind))
            else:
                codes = pa.array(column.codes, pa.int64(), mask=column.codes == NO_CODE)
                arrays[name] = pa.array(values, kind).take(codes)
        else:
            arrays[name] = pa.array(column, from_pandas=True)  # NaN becomes null
    return pa.table(arrays)


def to_csv(source: PlanSource, header: bool = True) -> str:
    """CSV with the rows of `to_frame`; see `Plans.to_csv`.

    Each distinct cell is formatted once, and so is each distinct row without the person.
    """
    columns, _ = _columns(source)
    head = f"{','.join(columns)}\n" if header else ""
    persons, *rest = (_cells(column) for column in columns.values())
    codes, first = distinct(*(cells.codes for cells in rest))
    ends = [f",{','.join(row)}\n" for row in zip(*(cells.take(first) for cells in rest), strict=True)]
    lines = zip(persons.take(), Cells(codes, ends).take(), strict=True)
    return head + "".join(chain.from_iterable(lines))


def _columns(source: PlanSource) -> tuple[dict[str, Column], npt.NDArray[np.bool_]]:
    """The columns of the table, and which of its S rows are people without steps [S].

    If there are related plans, their rows follow those of the plan, and two more columns tell them apart.
    """
    sources = [source, *(related.source for related in source.related.values())]
    weighted = any(one.columns.weights is not None for one in sources)
    own, stepless = _own_columns(source, weighted)
    if not source.related:
        return own, stepless
    owner = own["person"].codes if isinstance(own["person"], Coded) else np.empty(0, np.intp)
    none = np.zeros(len(owner), np.intp)
    parts, owners = [own | {"related": Coded(none, [""]), "related_number": none}], [owner]
    for kind, related in source.related.items():
        part, _ = _own_columns(related.source, weighted)
        plan = part["person"].codes if isinstance(part["person"], Coded) else np.empty(0, np.intp)
        owner = related.owner
        number = np.arange(len(owner)) - np.searchsorted(owner, owner) + 1
        none = np.zeros(len(plan), np.intp)
        same = {name: _absent(column, len(none)) for name, column in own.items() if name not in part}
        parts.append(part | same | {"related": Coded(none, [kind]), "related_number": number[plan]})
        owners.append(owner[plan])
    order = np.argsort(np.concatenate(owners), kind="stable")
    joined = {name: rows_of(_joined([part[name] for part in parts]), order) for name in parts[0]}
    stepless = np.concatenate([stepless, np.zeros(len(order) - len(stepless), bool)])[order]
    return joined, stepless


def _absent(column: Column, count: int) -> Column:
    """`count` empty cells of the kind of `column`."""
    return Coded(np.zeros(count, np.intp), [""]) if isinstance(column, Coded) else np.full(count, np.nan)


def _joined(columns: list[Column]) -> Column:
    """Columns of one name, one after the other."""
    coded = [column for column in columns if isinstance(column, Coded)]
    if coded:
        return Coded.join(coded)
    return np.concatenate([column for column in columns if not isinstance(column, Coded)])


def _own_columns(source: PlanSource, weighted: bool) -> tuple[dict[str, Column], npt.NDArray[np.bool_]]:
    """The columns of the table without related plans, and which of its S rows are people without steps [S].

    If plans are `weighted`, two more columns have the weights of steps and the total without them.
    """
    columns = source.columns
    taken = steps_taken(columns)
    count = taken.sum(axis=1)
    person = np.repeat(np.arange(len(columns)), np.maximum(count, 1))
    stepless = (count == 0)[person]
    row, t = np.nonzero(taken)
    statuses = [*Status]
    number_of = {key: number for number, one in enumerate(statuses) for key in (one, one.value)}
    status = np.array([number_of[one] for one in columns.status], np.intp)
    bound = rounded(columns.lower_bound)
    total = np.where(status == statuses.index(Status.FOUND), total_costs(source), np.nan)
    number, cost = np.zeros(len(person), np.intp), np.full(len(person), np.nan)
    number[~stepless], cost[~stepless] = t + 1, source.step_costs[row, t]

    def of_step(codes: npt.NDArray[np.intp], values: list[Any]) -> Coded[Any]:
        """Values of the steps [B, T], by row of the table."""
        spread = np.full(len(person), NO_CODE)
        spread[~stepless] = codes[row, t]
        return Coded(spread, values)

    names = source.action_names
    reasons = columns.reasons or Coded.empty(taken.shape)
    because = [None if data is None else data.source for _, data in reasons.values]
    points = np.full(len(person), np.nan)
    earned = [math.nan if data is None or data.points is None else data.points for _, data in reasons.values]
    points[~stepless] = np.array([*earned, math.nan])[reasons.codes[row, t]]
    further: dict[str, Column] = {}
    if source.schedule is not None:
        planned = np.full((2, len(person)), np.nan)
        planned[:, ~stepless] = source.schedule.start[row, t], source.schedule.duration[row, t]
        limits = columns.deadlines or Coded.empty(count.shape)
        further = {
            "total_duration": np.where(stepless, np.nan, total_durations(source)[person]),
            "start": planned[0],
            "duration": planned[1],
            "time_unit": Coded(np.zeros(len(person), np.intp), [source.time_unit]),
            "deadline": np.array([*limits.values, math.nan], float)[limits.codes][person],
        }
    if weighted:
        factors = np.ones(taken.shape) if columns.weights is None else columns.weights
        without = unweighted_costs(source, factors)
        weight = np.full(len(person), np.nan)
        weight[~stepless] = factors[row, t]
        further |= {"unweighted_cost": np.where(stepless, np.nan, without[person]), "weight": weight}
    targets = {} if columns.targets is None else {"target": _texts(columns.targets, describe_target).take(person)}
    by_person = _robustness(columns.robustness or RobustnessColumns.empty(len(columns)))
    checks = columns.checks or Coded.empty(count.shape)
    by_person |= {
        "model": _texts(checks, lambda check: check.model),
        "fingerprint": _texts(checks, lambda check: check.fingerprint),
        "checked_on": _texts(checks, lambda check: check.date),
    }
    return {
        "person": Coded(person, source.persons),
        "status": Coded(status[person], [one.value for one in statuses]),
        "total_cost": total[person],
        "verified": columns.verified[person],
        "optimal": columns.optimal[person],
        "lower_bound": np.where(np.isfinite(bound), bound, np.nan)[person],
        "questions": columns.queries[person],
        "step": number,
        "function": of_step(columns.actions, [name.function for name in names]),
        "argument": of_step(columns.actions, [name.argument for name in names]),
        "cost": cost,
        "text": of_step(source.texts.codes, source.texts.values),
        "reason": of_step(reasons.codes, [text for text, _ in reasons.values]),
        "source": of_step(reasons.codes, because),
        "points": points,
        "options": _texts(columns.options or Coded.empty(count.shape), _option_texts).take(person),
        "caution": _texts(columns.cautions or Coded.empty(count.shape), str).take(person),
        **{name: rows_of(column, person) for name, column in by_person.items()},
        **further,
        **targets,
    }, stepless


def _robustness(robustness: RobustnessColumns) -> dict[str, Column]:
    """The columns [B] of the table about the chance that plans hold when the model is trained again."""
    wanted = [math.nan if basis.at_least is None else basis.at_least for basis in robustness.basis.values]
    return {
        "survival": robustness.survival,
        "survival_source": _texts(robustness.basis, lambda basis: basis.source),
        "survival_at_least": np.array([*wanted, math.nan])[robustness.basis.codes],
        "survival_proved": robustness.proved,
        "cheapest_cost": robustness.cheapest_cost,
        "cheapest_survival": robustness.cheapest_survival,
        "cheapest_verified": robustness.cheapest_verified,
        "held": robustness.held,
        "judged": robustness.judged,
    }


def _option_texts(options: tuple[PlanOption, ...]) -> str:
    """What else would do, in one cell."""
    return " | ".join(f"{option.text} ({option_facts(option)})" for option in options)


def _texts(column: Coded[T], text: Callable[[T], str]) -> Coded[str]:
    """Values as texts; empty where they are absent."""
    codes = np.where(column.codes == NO_CODE, 0, column.codes + 1)
    return Coded(codes, ["", *map(text, column.values)])


def _objects(column: Coded[Any]) -> npt.NDArray[np.object_]:
    """The values of a column; None where it has none."""
    table = np.empty(len(column.values) + 1, object)
    table[:-1] = column.values
    return table[column.codes]


class Cells(NamedTuple):
    """A column of a CSV file: `codes` index the distinct `texts`, the last of which stands for absent values."""

    codes: npt.NDArray[np.intp]
    texts: list[str]

    def take(self, rows: Any = slice(None)) -> list[str]:
        """The texts of some rows."""
        table = np.empty(len(self.texts), object)
        table[:] = self.texts
        taken: list[str] = table[self.codes[rows]].tolist()
        return taken


def _cells(column: Column) -> Cells:
    """A column as cells of a CSV file."""
    if isinstance(column, Coded):
        codes, values = column.codes, column.values
    else:
        codes, known = pd.factorize(column)
        values = known.tolist()
    return Cells(codes, [*(str(value) if type(value) is int else cell(value) for value in values), ""])


def cell(value: Any) -> str:
    """One cell: text that would be a formula is marked as text, and quoted where CSV needs it.

    Control characters are made visible, after the test for a formula, which may begin with one.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    text = visible(f"'{value}" if value.startswith(_FORMULA) else value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def frame_csv(frame: pd.DataFrame) -> str:
    """A table as CSV: missing values are empty, and text that a spreadsheet would run is marked as text."""
    lines = [[cell(str(name)) for name in frame.columns]]
    lines += [[_known_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return "".join(f"{','.join(line)}\n" for line in lines)


def _known_cell(value: Any) -> str:
    return "" if isinstance(value, float) and value != value else cell(value)
