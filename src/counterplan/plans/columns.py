"""`PlanColumns`: the result of a search for B people as arrays, which planners fill in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from counterplan.plans.plan import StepReason
from counterplan.plans.status import Status
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION

T = TypeVar("T")
NO_CODE = -1
"""Code of an absent value."""


@dataclass
class Coded(Generic[T]):
    """An array of values that repeat: `codes` index the table `values`; `NO_CODE` is an absent value."""

    codes: Ints
    values: list[T]

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Coded[T]:
        """An array of absent values."""
        return cls(np.full(shape, NO_CODE, np.intp), [])

    @classmethod
    def join(cls, parts: Sequence[Coded[T]]) -> Coded[T]:
        """Concatenate along the first axis; a table that several parts share is adopted once."""
        values: list[T] = []
        shifts: dict[int, int] = {}
        codes = []
        for part in parts:
            if id(part.values) not in shifts:
                shifts[id(part.values)] = len(values)
                values += part.values
            codes.append(_shifted(part.codes, shifts[id(part.values)]))
        return cls(np.concatenate(codes), values)

    def take(self, rows: Ints | slice) -> Coded[T]:
        """The values of `rows`, with the same table."""
        return Coded(self.codes[rows], self.values)

    def put(self, rows: Ints, part: Coded[T] | None) -> None:
        """Replace the values of `rows` [n]; None makes them absent."""
        if part is None:
            self.codes[rows] = NO_CODE
        elif part.values is self.values:
            self.codes[rows] = part.codes
        else:
            self.codes[rows] = _shifted(part.codes, len(self.values))
            self.values = [*self.values, *part.values]

    def get(self, *place: int) -> T | None:
        """The value at one place; None if it is absent."""
        code = int(self.codes[place])
        return None if code == NO_CODE else self.values[code]


def _shifted(codes: Ints, shift: int) -> Ints:
    return np.where(codes == NO_CODE, NO_CODE, codes + shift)


@dataclass
class PlanColumns:
    """Plans for B people as arrays: the return value of `Planner.search`.

    Parameters
    ----------
    actions : int array of shape [B, T]
        Actions of each plan by index, padded with `NO_ACTION`.
    status : list of Status, length B
        Outcome of each search.
    verified : bool array of shape [B]
        Whether the black box found the final state favourable.
    optimal : bool array of shape [B]
        Whether it is proved that no legal plan costs less.
    lower_bound : float array of shape [B]
        Proved lower bound on the cost of any plan; infinite if it is proved that no plan exists.
    queries : int array of shape [B]
        States of each person that the black box was queried about.
    weights : float array of shape [B, T], optional
        Cost weight of each step; None if all are 1.
    reasons : Coded, optional
        Reasons [B, T] of the steps, as sentence and data.
    cautions : Coded, optional
        Sentences [B] about the limits of plans that were not verified.
    targets : Coded, optional
        Outcomes [B] that each plan is to reach; absent: the favourable ones of the problem.
    """

    actions: Ints
    status: list[Status]
    verified: Bools
    optimal: Bools
    lower_bound: Floats
    queries: Ints
    weights: Floats | None = None
    reasons: Coded[StepReason] | None = None
    cautions: Coded[str] | None = None
    targets: Coded[tuple[str, ...]] | None = None

    @classmethod
    def empty(cls, people: int, longest: int) -> PlanColumns:
        """Columns for `people` without plans, with room for `longest` actions each."""
        return cls(
            np.full((people, longest), NO_ACTION, np.intp),
            [Status.NOT_FOUND] * people,
            np.zeros(people, bool),
            np.zeros(people, bool),
            np.zeros(people),
            np.zeros(people, np.intp),
        )

    def __len__(self) -> int:
        return len(self.actions)

    def put(self, rows: Ints, part: PlanColumns | None) -> None:
        """Replace the plans of the people `rows` [n] by those of `part`; None changes nothing."""
        if part is None:
            return
        for name in ("actions", "verified", "optimal", "lower_bound", "queries"):
            getattr(self, name)[rows] = getattr(part, name)
        for row, status in zip(rows.tolist(), part.status, strict=True):
            self.status[row] = status
        if part.weights is not None and self.weights is None:
            self.weights = np.ones(self.actions.shape)
        if self.weights is not None:
            self.weights[rows] = 1.0 if part.weights is None else part.weights
        if part.reasons is not None and self.reasons is None:
            self.reasons = Coded.empty(self.actions.shape)
        if self.reasons is not None:
            self.reasons.put(rows, part.reasons)
        if part.cautions is not None and self.cautions is None:
            self.cautions = Coded.empty((len(self),))
        if self.cautions is not None:
            self.cautions.put(rows, part.cautions)
        if part.targets is not None and self.targets is None:
            self.targets = Coded.empty((len(self),))
        if self.targets is not None:
            self.targets.put(rows, part.targets)

    def add_caution(self, caution: str) -> None:
        """Append a sentence to the caution of every plan that was found."""
        old = self.cautions or Coded.empty((len(self),))
        found = np.fromiter((status == Status.FOUND for status in self.status), bool, len(self))
        first = len(old.values)
        codes = np.where(found, np.where(old.codes == NO_CODE, first, old.codes + first + 1), old.codes)
        self.cautions = Coded(codes, [*old.values, caution, *(f"{value} {caution}" for value in old.values)])

    def verify(self, rows: Ints, lasting: str = "") -> None:
        """Mark the plans of `rows` [n] as verified.

        Their cautions, which doubt that the plans lead to a favourable decision, are removed; of those that contain the
        sentence `lasting`, it stays.
        """
        self.verified[rows] = True
        if self.cautions is None:
            return
        old = self.cautions
        codes = old.codes.copy()
        keeps = np.array([bool(lasting) and lasting in value for value in old.values] + [False])[codes[rows]]
        codes[rows] = np.where(keeps, len(old.values), NO_CODE)
        self.cautions = Coded(codes, [*old.values, lasting])

    def take(self, rows: Ints | slice) -> PlanColumns:
        """The plans of `rows`."""
        chosen = range(len(self))[rows] if isinstance(rows, slice) else rows.tolist()
        return PlanColumns(
            self.actions[rows],
            [self.status[row] for row in chosen],
            self.verified[rows],
            self.optimal[rows],
            self.lower_bound[rows],
            self.queries[rows],
            None if self.weights is None else self.weights[rows],
            None if self.reasons is None else self.reasons.take(rows),
            None if self.cautions is None else self.cautions.take(rows),
            None if self.targets is None else self.targets.take(rows),
        )

    @classmethod
    def join(cls, parts: Sequence[PlanColumns]) -> PlanColumns:
        """Concatenate the plans of people in the same problem."""
        joined = cls(
            np.concatenate([part.actions for part in parts]),
            [status for part in parts for status in part.status],
            np.concatenate([part.verified for part in parts]),
            np.concatenate([part.optimal for part in parts]),
            np.concatenate([part.lower_bound for part in parts]),
            np.concatenate([part.queries for part in parts]),
        )
        if any(part.weights is not None for part in parts):
            ones = (np.ones(part.actions.shape) if part.weights is None else part.weights for part in parts)
            joined.weights = np.concatenate(list(ones))
        if any(part.reasons is not None for part in parts):
            joined.reasons = Coded.join([part.reasons or Coded.empty(part.actions.shape) for part in parts])
        if any(part.cautions is not None for part in parts):
            joined.cautions = Coded.join([part.cautions or Coded.empty((len(part),)) for part in parts])
        if any(part.targets is not None for part in parts):
            joined.targets = Coded.join([part.targets or Coded.empty((len(part),)) for part in parts])
        return joined
