"""Targets: the outcomes that plans have to reach, for everybody or for each person."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.errors import SettingError
from counterplan.problem.parts import Outcome
from counterplan.problem.values import Native, did_you_mean, is_missing, listed, text_of

Target: TypeAlias = frozenset[str]
"""The texts of one or more outcomes, any of which a plan may reach."""
TargetLike: TypeAlias = Native | Set[Native]
"""A target as users write it: one outcome, or a set of outcomes."""
TargetsLike: TypeAlias = TargetLike | Sequence[TargetLike] | npt.NDArray[Any] | pd.Series
"""One target for everybody, or a sequence with one for each person."""

_HOW = "pass one outcome, a set of outcomes, or a sequence with one of these for each person"


def read_target(outcome: Outcome, target: object) -> Target:
    """Read a target.

    Parameters
    ----------
    outcome : Outcome
        The outcome of the problem.
    target : str, number, bool or set of these
        One outcome, or a set of outcomes, any of which is to be reached.

    Returns
    -------
    frozenset of str

    Raises
    ------
    SettingError
        If it is not among the outcomes, or is all of them.
    """
    if outcome.score is not None:
        raise SettingError(f"a target is one of several outcomes; this one is a score, favourable if {outcome.score}")
    several = isinstance(target, Set)
    chosen = frozenset(_outcome(outcome, value) for value in (target if isinstance(target, Set) else [target]))
    if not chosen or len(chosen) == len(outcome.values):
        which = "is empty" if several and not chosen else "has all outcomes"
        raise SettingError(f"the target {which}; choose among {listed(outcome.values)}")
    return chosen


def read_targets(outcome: Outcome, targets: object, people: int | None = None) -> list[Target]:
    """Read one target for each of `people`, or, if their number is None, any number of targets.

    Parameters
    ----------
    outcome : Outcome
        The outcome of the problem.
    targets : object
        One target, see `read_target`, or a list, tuple, array or Series of them, in the order of the people.
    people : int, optional
        Number of people.

    Returns
    -------
    list of frozenset of str
        One for each person; without `people`, one for each entry of `targets`.

    Raises
    ------
    SettingError
        If a target is invalid, or there is not one for each person.
    """
    if isinstance(targets, (str, Set)) or not isinstance(targets, (Collection, np.ndarray, pd.Series)):
        return [read_target(outcome, targets)] * (1 if people is None else people)
    if isinstance(targets, (dict, pd.DataFrame)) or getattr(targets, "ndim", 1) != 1:
        raise SettingError(f"'target' cannot be a {type(targets).__name__} of this form: {_HOW}")
    entries = targets.tolist() if isinstance(targets, (np.ndarray, pd.Series)) else list(targets)
    if people is not None and len(entries) != people:
        raise SettingError(f"'target' has {len(entries):,} entries for {people:,} people: {_HOW}")
    known: dict[Any, Target] = {}
    for row, entry in enumerate(entries):
        if is_missing(entry):
            raise SettingError(f"'target' has no entry for row {row} (counted from 0)")
        key = frozenset(entry) if isinstance(entry, Set) else (type(entry), text_of(entry))
        if key not in known:
            try:
                known[key] = read_target(outcome, entry)
            except SettingError as error:
                raise SettingError(f"row {row} (counted from 0) of 'target': {error}") from None
        entries[row] = known[key]
    return entries


def _outcome(outcome: Outcome, value: object) -> str:
    """The text of one of the outcomes."""
    if not isinstance(value, (str, bool, int, float, np.generic)):
        raise SettingError(f"'target' cannot be {value!r}: {_HOW}")
    text = text_of(value)
    if text not in outcome.values:
        hint = did_you_mean(text, outcome.values) or f"; they are {listed(outcome.values)}"
        raise SettingError(f"the target '{text}' is not one of the problem's outcomes{hint}")
    return text
