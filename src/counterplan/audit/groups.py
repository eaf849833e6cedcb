"""Groups of people: by features, by other columns of the table, and by pairs of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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
MISSING = "missing"
BINS = 4
"""Groups by quantiles of a number whose feature has no bins."""
FEW_VALUES = 8
"""Numbers with at most so many different values are not binned."""
MOST_GROUPS = 100


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
    if wanted is None:
        wanted = [feature.name for feature in problem.features if feature.protected]
    columns = _Columns(problem, people)
    groupings = [_joined([columns.grouping(name) for name in columns.names(given)]) for given in wanted]
    return list({grouping.name: grouping for grouping in groupings}.values())


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

    def names(self, given: object) -> list[str]:
        """The one or two columns that a group is given by."""
        if isinstance(given, str):
            names = [given] if given in self.known else [part.strip() for part in given.split("*")]
        elif isinstance(given, (tuple, list)) and all(isinstance(name, str) for name in given):
            names = [*given]
        else:
            raise SettingError(f"a group is a column or a pair of columns, such as 'sex' or 'sex*age'; not {given!r}")
        if len(names) not in (1, 2) or len(set(names)) < len(names):
            raise SettingError(f"groups are by one column or by two different ones, not by {' * '.join(names)}")
        for name in names:
            if name not in self.known:
                raise SettingError(
                    f"there is no column '{name}' to group people by{did_you_mean(name, self.known)}; there are "
                    f"{', '.join(self.known)}"
                )
        return names

    def grouping(self, name: str) -> Grouping:
        if name in self.features:
            return _by_feature(self.features[name], self.people.states[:, self.features[name].index])
        if name in self.extras:
            return _by_column(name, self.people.table[self.extras[name]])
        assert self.people.outcomes is not None
        return _by_column(name, self.people.outcomes)


def _by_feature(feature: Feature, column: Floats) -> Grouping:
    if not feature.is_number:
        codes = np.where(np.isnan(column), len(feature.values), column).astype(np.intp)
        return _present(feature.name, [*feature.values, MISSING], codes)
    cuts = [cut for cut in feature.bins or () if math.isfinite(cut)]
    return _by_number(feature.name, column, feature.integer, cuts or None)


def _by_number(name: str, column: Floats, integer: bool, cuts: Sequence[float] | None = None) -> Grouping:
    """Groups by intervals between `cuts`, by default quantiles, or by value if there are few."""
    known = np.unique(column[~np.isnan(column)])
    if cuts is None and len(known) <= FEW_VALUES:
        labels = [format_number(float(value)) for value in known]
        codes = np.searchsorted(known, column)
    else:
        inner = np.array(quantile_cuts(column, integer, BINS)[1:] if cuts is None else cuts, float)
        labels, codes = _interval_labels(inner), np.searchsorted(inner, column, side="right")
    return _present(name, [*labels, MISSING], np.where(np.isnan(column), len(labels), codes).astype(np.intp))


def _interval_labels(cuts: Floats) -> list[str]:
    if not len(cuts):
        return ["known"]
    texts = [format_number(float(cut)) for cut in cuts]
    between = [f"{low} to below {high}" for low, high in pairwise(texts)]
    return [f"below {texts[0]}", *between, f"{texts[-1]} or more"]


def _by_column(name: str, column: pd.Series[Any]) -> Grouping:
    """Groups of a column that is not a feature: by quantiles of a number with many values, otherwise by value."""
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        numbers = pd.to_numeric(column).to_numpy(float, na_value=np.nan)
        numbers = np.where(np.isfinite(numbers), numbers, np.nan)
        return _by_number(name, numbers, bool(pd.api.types.is_integer_dtype(column.dtype)))
    texts = [MISSING if is_missing(value) else text_of(value) for value in column.tolist()]
    labels = sorted({*texts} - {MISSING})
    place = {text: code for code, text in enumerate([*labels, MISSING])}
    codes = np.array([place[text] for text in texts], np.intp)
    return _present(name, [*labels, MISSING], codes)


def _joined(groupings: Sequence[Grouping]) -> Grouping:
    """The groups of one column, or of all combinations of two."""
    if len(groupings) == 1:
        return groupings[0]
    first, second = groupings
    labels = [f"{one} × {other}" for one in first.labels for other in second.labels]
    codes = first.codes * len(second.labels) + second.codes
    return _present(f"{first.name} × {second.name}", labels, codes)


def _present(name: str, labels: Iterable[str], codes: Ints) -> Grouping:
    """The grouping without empty groups."""
    all_labels = list(labels)
    used, compact = np.unique(codes, return_inverse=True)
    if len(used) > MOST_GROUPS:
        raise SettingError(
            f"'{name}' has {len(used):,} different values, more than {MOST_GROUPS} groups; group people by a column "
            "with fewer"
        )
    return Grouping(name, tuple(all_labels[code] for code in used.tolist()), compact.astype(np.intp).reshape(-1))
