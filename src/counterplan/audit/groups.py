"""Groups of people: by features, by other columns of the table, and by pairs of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from counterplan.audit.settings import GroupName
from counterplan.errors import SettingError
from counterplan.problem import Feature, People, Problem
from counterplan.problem.encoding import quantile_cuts
from counterplan.problem.parts import format_number
from counterplan.problem.transitions import Floats, Ints
from counterplan.problem.values import did_you_mean, is_missing, text_of

EVERYBODY = "everybody"
MISSING = "(missing)"
BINS = 4
"""Groups by quantiles of a number whose feature has no bins."""
FEW_VALUES = 8
"""Numbers with at most so many different values are not binned."""
MOST_GROUPS = 100
_NUMBER = re.compile(r"-?[0-9]{1,300}(\.[0-9]+)?")


@dataclass(frozen=True)
class Grouping:
    """People by the values of a column, or of two.

    Parameters
    ----------
    name : str
        The columns: "sex", "sex × age".
    labels : tuple of str
        The groups, all of which have people.
    codes : int array of shape [B]
        The group of each person, by its position in `labels`.
    """

    name: str
    labels: tuple[str, ...]
    codes: Ints


def everybody(count: int) -> Grouping:
    """All of `count` people as one group, whose grouping has no name."""
    return Grouping("", (EVERYBODY,), np.zeros(count, np.intp))


def read_groups(problem: Problem, people: People, wanted: Sequence[GroupName] | None = None) -> list[Grouping]:
    """Group people.

    Parameters
    ----------
    problem : Problem
    people : People
        B people.
    wanted : sequence of str or tuple of str, optional
        Columns, or pairs of columns. Default: the protected features.

    Returns
    -------
    list of Grouping

    Raises
    ------
    SettingError
        If there is no such column, or a column has too many values.
    """
    columns = _Columns(problem, people)
    return group_people(group_columns(problem, columns.known, wanted), columns.grouping)


def group_columns(
    problem: Problem, known: Sequence[str], wanted: Sequence[GroupName] | None = None
) -> list[tuple[str, ...]]:
    """The one or two columns of each grouping.

    Parameters
    ----------
    problem : Problem
    known : sequence of str
        The columns that there are.
    wanted : sequence of str or tuple of str, optional
        As for `read_groups`.

    Returns
    -------
    list of tuple of str

    Raises
    ------
    SettingError
        If there is no such column.
    """
    if wanted is None:
        wanted = [feature.name for feature in problem.features if feature.protected]
    return [_names(given, known) for given in wanted]


def group_people(columns: Iterable[tuple[str, ...]], grouping_of: Callable[[str], Grouping]) -> list[Grouping]:
    """Group people by columns and pairs of them.

    Parameters
    ----------
    columns : iterable of tuple of str
        From `group_columns`.
    grouping_of : callable
        Groups people by one column.

    Returns
    -------
    list of Grouping
        Each once.
    """
    unique: dict[frozenset[str], tuple[str, ...]] = {}
    for names in columns:
        unique.setdefault(frozenset(names), names)  # "job*sex" is "sex*job"
    return [_joined([grouping_of(name) for name in names]) for names in unique.values()]


class _Columns:
    """The columns of people by name."""

    def __init__(self, problem: Problem, people: People) -> None:
        self.people = people
        self.features = {feature.name: feature for feature in problem.features}
        self.extras = {text_of(name): name for name in people.extras}
        self.outcome = problem.outcome.column if people.outcomes is not None else None

    @property
    def known(self) -> list[str]:
        return [*self.features, *self.extras, *([] if self.outcome is None else [self.outcome])]

    def grouping(self, name: str) -> Grouping:
        if name in self.features:
            return by_feature(self.features[name], self.people.states[:, self.features[name].index])
        return by_column(name, other_column(self.people, name))


def other_column(people: People, name: str) -> pd.Series[Any]:
    """A column of people that is not a feature: one that the table has besides, or that of the outcome."""
    for extra in people.extras:
        if text_of(extra) == name:
            return people.table[extra]
    assert people.outcomes is not None
    return people.outcomes


def _names(given: object, known: Sequence[str]) -> tuple[str, ...]:
    """The one or two columns that a group is given by."""
    if isinstance(given, str):
        names = (given,) if given in known else tuple(part.strip() for part in given.split("*"))
    elif isinstance(given, (tuple, list)) and all(isinstance(name, str) for name in given):
        names = tuple(given)
    else:
        raise SettingError(f"a group is a column or a pair of columns, such as 'sex' or 'sex*age'; not {given!r}")
    if len(names) not in (1, 2) or len(set(names)) < len(names):
        raise SettingError(f"groups are by one column or by two different ones, not by {' * '.join(names)}")
    for name in names:
        if name not in known:
            raise SettingError(
                f"there is no column '{name}' to group people by{did_you_mean(name, known)}; there are "
                f"{', '.join(known)}"
            )
    return names


def by_feature(feature: Feature, column: Floats) -> Grouping:
    """Group people by a feature, whose states are `column` [B]."""
    if not feature.is_number:
        codes = np.where(np.isnan(column), len(feature.values), column).astype(np.intp)
        return _present(feature.name, [*feature.values, MISSING], codes)
    cuts = [cut for cut in feature.bins or () if math.isfinite(cut)]
    return by_number(feature.name, column, feature.integer, cuts or None)


def by_number(name: str, column: Floats, integer: bool, cuts: Sequence[float] | None = None) -> Grouping:
    """Group people by intervals of a number [B] between `cuts`, by default quantiles, or by value if there are few."""
    known = np.unique(column[~np.isnan(column)])
    if cuts is None and len(known) <= FEW_VALUES:
        labels = _number_labels(known)
        codes = np.searchsorted(known, column)
    else:
        inner = np.array(quantile_cuts(column, integer, BINS)[1:] if cuts is None else cuts, float)
        labels, codes = _interval_labels(inner), np.searchsorted(inner, column, side="right")
    return _present(name, [*labels, MISSING], np.where(np.isnan(column), len(labels), codes).astype(np.intp))


def _interval_labels(cuts: Floats) -> list[str]:
    if not len(cuts):
        return ["known"]
    texts = _number_labels(cuts)
    between = [f"{low} to below {high}" for low, high in pairwise(texts)]
    return [f"below {texts[0]}", *between, f"{texts[-1]} or more"]


def _number_labels(numbers: Floats) -> list[str]:
    """Different numbers as texts, with all digits if fewer do not tell them apart."""
    labels = [format_number(float(number)) for number in numbers]
    return labels if len({*labels}) == len(labels) else [text_of(float(number)) for number in numbers]


def by_column(name: str, column: pd.Series[Any]) -> Grouping:
    """Group people by a column that is not a feature: by quantiles of a number with many values, otherwise by value."""
    if is_number(column.dtype):
        return by_number(name, numbers_of(column), bool(pd.api.types.is_integer_dtype(column.dtype)))
    texts = texts_of(column)
    labels = sorted({*texts} - {None})  # type: ignore[type-var]
    dtype, order = column.dtype, None
    if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
        order = [text_of(category) for category in dtype.categories]
    place = {text: code for code, text in enumerate([*labels, None])}
    codes = np.array([place[text] for text in texts], np.intp)
    return by_code(name, labels, codes, order)  # type: ignore[arg-type]


def by_code(name: str, labels: Sequence[str], codes: Ints, order: Sequence[str] | None = None) -> Grouping:
    """Group people by `codes` [B] of texts, one more than the last for a missing value.

    Groups are in the order of the texts in `order`; by default numbers by size, then texts alphabetically. A text that
    reads like the label of missing values belongs to these.
    """
    if MISSING in labels:
        codes = np.where(codes == labels.index(MISSING), len(labels), codes)
    ranks = None if order is None else {text: rank for rank, text in enumerate(order)}
    ordered = sorted(labels, key=_by_size if ranks is None else ranks.__getitem__)
    place = {label: code for code, label in enumerate(ordered)}
    codes = np.array([*(place[label] for label in labels), len(labels)], np.intp)[codes]
    return _present(name, [*ordered, MISSING], codes)


def _by_size(text: str) -> tuple[bool, float, str]:
    """A key that sorts numbers by size, before other texts."""
    is_number = bool(_NUMBER.fullmatch(text))
    return not is_number, float(text) if is_number else 0.0, text


def is_number(dtype: Any) -> bool:
    """Whether a column of this dtype, which is not a feature, is grouped as numbers."""
    return bool(pd.api.types.is_numeric_dtype(dtype)) and not pd.api.types.is_bool_dtype(dtype)


def numbers_of(column: pd.Series[Any]) -> Floats:
    """A column of numbers [B]; NaN where there is none that is finite."""
    numbers = pd.to_numeric(column).to_numpy(float, na_value=np.nan)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def texts_of(column: pd.Series[Any]) -> list[str | None]:
    """The values of a column [B] as texts; None where one is missing."""
    return [None if is_missing(value) else text_of(value) for value in column.tolist()]


def _joined(groupings: Sequence[Grouping]) -> Grouping:
    """The groups of one column, or of all combinations of two."""
    if len(groupings) == 1:
        return groupings[0]
    first, second = groupings
    labels = [f"{one} × {other}" for one in first.labels for other in second.labels]
    codes = first.codes.astype(np.intp) * len(second.labels) + second.codes
    return _present(f"{first.name} × {second.name}", labels, codes)


def _present(name: str, labels: Iterable[str], codes: Ints) -> Grouping:
    """The grouping without empty groups; blank labels are quoted, so that they can be seen."""
    all_labels = [label if label.strip() else f'"{label}"' for label in labels]
    used = np.flatnonzero(np.bincount(codes, minlength=len(all_labels)))
    require_few(name, len(used))
    compact = np.zeros(len(all_labels), np.intp)
    compact[used] = np.arange(len(used))
    return Grouping(name, tuple(all_labels[code] for code in used.tolist()), compact[codes])


def require_few(name: str, groups: int) -> None:
    """Raise a SettingError if the column, or pair, `name` has too many groups."""
    if groups > MOST_GROUPS:
        raise SettingError(
            f"'{name}' has {groups:,} different values, more than {MOST_GROUPS} groups; group people by a column with "
            "fewer"
        )
