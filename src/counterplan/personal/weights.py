"""Personal weights of actions: factors on their costs, by function or action, for everybody or for each person."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_bool_dtype

from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.dtypes import label_of
from counterplan.problem.intake import PeopleTable, as_pandas
from counterplan.problem.transitions import Floats
from counterplan.problem.values import count, cut, did_you_mean

MIN_WEIGHT, MAX_WEIGHT = 0.01, 100.0
"""Range of weights; `forbid` rules an action out altogether."""
DECIMALS = 6
"""Weights are rounded to this, so that the costs of actions are whole multiples of a unit, and equal sums are equal."""
NO_WEIGHTS: Floats = np.ones((1, 1))
"""Weights of people without any: all are 1."""

WeightsLike: TypeAlias = "Mapping[Any, Any] | pd.Series[Any] | pd.DataFrame | npt.ArrayLike"
"""Weights by function or action; the same by the index label of a person; or a table or an array."""


def read_weights(problem: Problem, people: People, weights: WeightsLike | None, *, by_position: bool = False) -> Floats:
    """Convert personal weights to an array.

    Parameters
    ----------
    problem : Problem
    people : People
        B people.
    weights : mapping, Series, DataFrame, array of shape [B, A] or None
        Factors from 0.01 to 100 on the cost of actions. A mapping or a Series has functions (`"CHANGE_JOB"`) or
        actions (`"CHANGE_JOB=manager"`) as keys, for all people; or index labels of people, each with such a mapping. A
        DataFrame has the index labels of the people, and functions or actions as columns; an empty cell is 1. Tables
        of polars or Arrow, which have no labels, have a row for each person, in the same order. The
        weight of an action takes precedence over that of its function, and actions that are not named have weight 1.
    by_position : bool, default=False
        Whether the rows of a DataFrame are in the order of the people, whatever their labels.

    Returns
    -------
    array of shape [B, A], or [1, 1] if there are none
        The weights, rounded to six decimals.

    Raises
    ------
    SettingError
        If a name or a person does not exist, a weight is out of range, or the shape is wrong.
    """
    if weights is None:
        return NO_WEIGHTS
    if isinstance(weights, pd.DataFrame):
        found = _of_table(problem, people, weights if by_position else _aligned(people, weights))
    elif hasattr(weights, "__arrow_c_stream__") and not isinstance(weights, pd.Series):
        table = as_pandas(cast(PeopleTable, weights))  # without labels: rows are in the order of the people
        found = _of_table(problem, people, table)
    elif isinstance(weights, pd.Series):
        if not weights.index.is_unique:
            twice = weights.index[weights.index.duplicated()][0]
            raise SettingError(f"'weights' as a Series needs a unique index, and {_shown(twice)} occurs more than once")
        found = _of_mapping(problem, people, weights.to_dict())
    elif isinstance(weights, Mapping):
        found = _of_mapping(problem, people, weights)
    else:
        found = _of_array(problem, people, weights)
    wrong = ~((found >= MIN_WEIGHT) & (found <= MAX_WEIGHT))  # NaN included
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise SettingError(
            f"'weights' must be numbers from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}; got {found[row, column]:g} for person "
            f"{_shown(people.table.index[row])} and action {problem.transitions.actions[column]}. Use 'forbid' to rule "
            "an action out"
        )
    found = np.round(found, DECIMALS)
    with np.errstate(over="ignore"):
        most = found * problem.transitions.most_costs * problem.max_actions
    if not np.isfinite(most).all():
        raise SettingError("'weights' are too large: the cost of a plan would not be finite")
    return found


def read_weight_options(texts: Sequence[str]) -> dict[str, float]:
    """Weights from options of the command line: `CHANGE_JOB=2`, `CHANGE_JOB=manager=0.5`.

    Raises
    ------
    SettingError
        If an option is not a name, "=" and a number in range, or a name is given twice.
    """
    weights: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            name = ""
        if not name:
            raise SettingError(f"--weight {text}: write FUNCTION=NUMBER or FUNCTION=argument=NUMBER: CHANGE_JOB=2")
        if not MIN_WEIGHT <= weight <= MAX_WEIGHT:  # NaN included
            raise SettingError(
                f"--weight {cut(text)}: the weight of {cut(name)} must be a number from {MIN_WEIGHT:g} to "
                f"{MAX_WEIGHT:g}, not {cut(number)}. Use --forbid to rule an action out"
            )
        if name in weights:
            raise SettingError(f"--weight {text}: {name} has two weights; give it once")
        weights[name] = weight
    return weights


def _of_array(problem: Problem, people: People, array: npt.ArrayLike) -> Floats:
    shape = (len(people), len(problem.transitions))
    try:
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError
        weights = np.asarray(array, float)
    except (TypeError, ValueError, OverflowError):
        raise SettingError(
            f"'weights' must be a mapping from functions or actions to numbers, a DataFrame, or an array of numbers "
            f"of shape {shape}"
        ) from None
    if weights.shape != shape:
        raise SettingError(
            f"'weights' as an array must have shape {shape}, one row per person and one column per action with STOP "
            f"last; got {weights.shape}. To weight by name, pass a mapping: {{'CHANGE_JOB': 2}}"
        )
    return weights


def _of_mapping(problem: Problem, people: People, mapping: Mapping[Any, Any]) -> Floats:
    """Weights [B, A] of a mapping by function or action, or of one by person."""
    weights = np.ones((len(people), len(problem.transitions)))
    mapping = {name: value.to_dict() if isinstance(value, pd.Series) else value for name, value in mapping.items()}
    names = _changeable(problem)
    for label, own in mapping.items():
        if not isinstance(own, Mapping) and label not in names and label in people.table.index:
            raise SettingError(
                f"'weights' of person {_shown(label)} must be a mapping from functions or actions to numbers, not "
                f"{cut(repr(own))}"
            )
    by_person = [isinstance(value, Mapping) for value in mapping.values()]
    if not any(by_person):
        weights[:] = _by_name(problem, mapping, "")
        return weights
    if not all(by_person):
        raise SettingError("'weights' maps either functions and actions to numbers, or people to such mappings")
    labels = list(people.table.index)
    for person, own in mapping.items():
        rows = [row for row, label in enumerate(labels) if label == person]
        if not rows:
            raise SettingError(f"'weights' has person {_shown(person)}, and there is no such person")
        weights[rows] = _by_name(problem, own, f" of person {_shown(person)}")
    return weights


def _by_name(problem: Problem, mapping: Mapping[Any, Any], whose: str) -> Floats:
    """Weights [A] of a mapping from functions or actions to numbers."""
    _require_changeable(problem, map(str, mapping), f"'weights'{whose}")
    numbers = {str(name): _weight(value, str(name), whose) for name, value in mapping.items()}
    table = np.array([list(numbers.values())], float).reshape(1, len(numbers))
    return np.asarray(_spread(problem, list(numbers), table)[0])


def _weight(value: Any, name: str, whose: str) -> float:
    """The weight of the function or action `name` as a number."""
    number = math.nan
    if not isinstance(value, (bool, np.bool_, str)):
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value)
    if not MIN_WEIGHT <= number <= MAX_WEIGHT:
        raise _out_of_range(value, name, whose)
    return number


def _shown(label: Hashable) -> str:
    """The label of a person for a message."""
    return cut(repr(label_of(label)))


def _out_of_range(value: Any, name: str, whose: str) -> SettingError:
    shown = value.item() if isinstance(value, np.generic) else value
    return SettingError(
        f"'weights'{whose}: the weight of {name} must be a number from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}, not "
        f"{cut(repr(shown))}. Use 'forbid' to rule an action out"
    )


def _aligned(people: People, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table in the order of the people, whose labels they have."""
    labels = people.table.index
    if not table.index.is_unique or not labels.is_unique:
        raise SettingError("'weights' as a DataFrame needs unique labels of rows and people")
    for label in [*labels[~labels.isin(table.index)][:1], *table.index[~table.index.isin(labels)][:1]]:
        wrong = "has no row" if label in labels else "is not among the people"
        raise SettingError(
            "'weights' as a DataFrame needs one row for each person, with the person's index label: "
            f"{_shown(label)} {wrong}"
        )
    return table.loc[labels]


def _of_table(problem: Problem, people: People, table: pd.DataFrame) -> Floats:
    """Weights [B, A] of a table with a row for each person, in their order, and functions or actions as columns."""
    names, labels = [str(name) for name in table.columns], people.table.index
    if len(table) != len(people):
        raise SettingError(f"'weights' has {count(len(table), 'row')} for {count(len(people), 'person', 'people')}")
    if len(set(names)) < len(names):
        raise SettingError("'weights' as a DataFrame needs unique columns")
    _require_changeable(problem, names, "'weights'")
    values = np.ones(table.shape)
    for place, name in enumerate(names):
        column = table.iloc[:, place]
        numbers = np.full(len(column), np.nan)
        if not is_bool_dtype(column.dtype) and column.dtype.kind not in "mM":
            numbers = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
        given = column.notna().to_numpy(bool)
        for row in np.flatnonzero(given & ~((numbers >= MIN_WEIGHT) & (numbers <= MAX_WEIGHT)))[:1].tolist():
            raise _out_of_range(column.iloc[row], name, f" of person {_shown(labels[row])}")
        values[given, place] = numbers[given]
    return _spread(problem, names, values)


def _changeable(problem: Problem) -> dict[str, None]:
    """The names of functions and actions that weights are for."""
    actions = problem.transitions.actions[:-1]
    return dict.fromkeys([*(action.function for action in actions), *map(str, actions)])


def _require_changeable(problem: Problem, names: Iterable[str], where: str) -> None:
    """Raise a SettingError about a name that is neither a function nor an action."""
    known = _changeable(problem)
    for name in names:
        if name not in known:
            raise SettingError(f"{where}: '{cut(name)}' is neither a function nor an action{did_you_mean(name, known)}")


def _spread(problem: Problem, names: list[str], values: Floats) -> Floats:
    """Weights [n, A] from those [n, k] of the functions and actions `names`; functions first, then actions."""
    actions = [str(action) for action in problem.transitions.actions]
    functions = [action.function for action in problem.transitions.actions]
    weights = np.ones((len(values), len(actions)))
    for by in (functions, actions):
        for column, name in enumerate(names):
            weights[:, [place for place, one in enumerate(by) if one == name]] = values[:, [column]]
    return weights
