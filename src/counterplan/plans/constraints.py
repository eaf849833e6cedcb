"""Constraints on a person's actions: `forbid` by name, a mask of allowed actions, and cost weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from counterplan.errors import SettingError
from counterplan.plans.coded import NO_CODE, Coded
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints

T = TypeVar("T", bound=np.generic)
Forbid = str | Sequence[str] | Mapping[Any, Sequence[str]] | None
"""Names of forbidden functions or actions, for everybody or, in a mapping, by the index label of a person."""


def allowed_actions(problem: Problem, people: People, forbid: Forbid, allowed: Bools | None = None) -> Bools:
    """Combine `forbid` and `allowed` into one mask of actions.

    Parameters
    ----------
    problem : Problem
    people : People
        B people; `forbid` may refer to their index labels.
    forbid : str, sequence of str, mapping or None
        Functions (`"CHANGE_JOB"`) or actions (`"CHANGE_JOB=manager"`), for all people or by index label.
    allowed : bool array of shape [B, A], optional
        Mask of allowed actions.

    Returns
    -------
    bool array of shape [B, A]
        The actions that each person may take; STOP is always allowed.

    Raises
    ------
    SettingError
        If a name or a person does not exist, or `allowed` has another shape or type.
    """
    shape = (len(people), len(problem.transitions))
    if allowed is not None and (np.shape(allowed) != shape or np.asarray(allowed).dtype != bool):
        raise SettingError(f"'allowed' should be a Boolean array of shape {shape}, not {np.shape(allowed)}")
    mask = np.ones(shape, bool) if allowed is None else np.array(allowed)
    if forbid is None:
        forbid = ()
    if not isinstance(forbid, Mapping | Sequence):
        raise SettingError(f"'forbid' lists functions or actions, or maps people to such lists; {forbid!r} is neither")
    if isinstance(forbid, Mapping):
        labels = list(people.table.index)
        for person, names in forbid.items():
            rows = [row for row, label in enumerate(labels) if label == person]
            if not rows:
                raise SettingError(f"cannot forbid anything to person {person!r}: there is no such person")
            mask[rows] &= problem.allowed(names)
    else:
        mask &= problem.allowed(forbid)
    mask[:, problem.transitions.stop] = True
    return mask


@dataclass(frozen=True)
class Constraints:
    """What was ruled out for a person, and the person's weights: claims of a plan refer to plans within them.

    Parameters
    ----------
    forbidden : tuple of str
        Functions, or single actions of functions, that were forbidden, in the order of the problem file.
    weights : tuple of (str, float) pairs
        Functions, or single actions of functions, with a factor on their cost other than 1.

    Examples
    --------
    >>> from counterplan import ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> planner = ExactPlanner(german.problem, german.model)
    >>> plans = planner.plan(german.refused_test.head(1), forbid="CHANGE_JOB", weights={"CHANGE_PURPOSE": 3})
    >>> plans[0].constraints
    Constraints(forbidden=('CHANGE_JOB',), weights=(('CHANGE_PURPOSE', 3.0),))
    """

    forbidden: tuple[str, ...] = ()
    weights: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, eq=False)
class ActionLimits:
    """The constraints that B plans were made with.

    Parameters
    ----------
    allowed : bool array of shape [B, A], optional
        The actions that each person may take; None if nothing was forbidden.
    cost_weights : array of shape [B, A], optional
        Factors on the cost of each action; None if all are 1.
    """

    allowed: Bools | None = None
    cost_weights: Floats | None = None

    @classmethod
    def of(cls, allowed: Bools, cost_weights: Floats | None) -> ActionLimits:
        """Constraints from complete arrays."""
        weighted = cost_weights is not None and bool((cost_weights != 1).any())
        return cls(None if allowed.all() else allowed, cost_weights if weighted else None)

    def take(self, rows: Ints | slice) -> ActionLimits:
        """Those of the people `rows`."""
        return ActionLimits(
            None if self.allowed is None else self.allowed[rows],
            None if self.cost_weights is None else self.cost_weights[rows],
        )

    def by_person(self, problem: Problem) -> Coded[Constraints] | None:
        """The constraints [B] of each person by name; None if there are none."""
        arrays = [array.astype(float) for array in (self.allowed, self.cost_weights) if array is not None]
        if not arrays:
            return None
        _, first, codes = np.unique(np.hstack(arrays), axis=0, return_index=True, return_inverse=True)
        found = [self._named(problem, row) for row in first.tolist()]
        values = [one for one in found if one != Constraints()]
        index = np.array([NO_CODE if one == Constraints() else values.index(one) for one in found], np.intp)
        return Coded(index[codes.reshape(-1)], values)

    def _named(self, problem: Problem, row: int) -> Constraints:
        """The constraints of one person: a function by its name if they are the same for all of its actions."""
        transitions = problem.transitions
        forbidden, weights = [], []
        for number, function in enumerate(transitions.functions):
            own = np.flatnonzero(transitions.function_of == number)
            names = [str(transitions.actions[action]) for action in own.tolist()]
            ruled_out = np.zeros(len(own), bool) if self.allowed is None else ~self.allowed[row, own]
            factors = np.ones(len(own)) if self.cost_weights is None else self.cost_weights[row, own]
            forbidden += [function.name] if ruled_out.all() else [names[i] for i in np.flatnonzero(ruled_out)]
            if (factors == factors[0]).all():
                weights += [(function.name, float(factors[0]))] if factors[0] != 1 else []
            else:
                weights += [(names[i], float(factors[i])) for i in np.flatnonzero(factors != 1).tolist()]
        return Constraints(tuple(forbidden), tuple(weights))

    @staticmethod
    def join(parts: Sequence[ActionLimits], sizes: Sequence[int]) -> ActionLimits:
        """Concatenate those of so many people each."""
        return ActionLimits(
            _concatenated([part.allowed for part in parts], sizes),
            _concatenated([part.cost_weights for part in parts], sizes),
        )


def _concatenated(arrays: Sequence[npt.NDArray[T] | None], sizes: Sequence[int]) -> npt.NDArray[T] | None:
    """Arrays [n, A] of so many rows each, with ones for those that are None; None if all are."""
    known = [array for array in arrays if array is not None]
    if not known:
        return None
    width, kind = known[0].shape[1], known[0].dtype
    filled = [
        np.ones((size, width), kind) if array is None else array for array, size in zip(arrays, sizes, strict=True)
    ]
    return np.concatenate(filled)
