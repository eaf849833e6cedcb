"""`PlanColumns`: the result of a search for B people as arrays, which planners fill in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from counterplan.plans.coded import NO_CODE, Coded
from counterplan.plans.constraints import ActionLimits, Constraints
from counterplan.plans.plan import PlanOption, RelatedKind, StepReason
from counterplan.plans.robustness import Check, RobustnessColumns
from counterplan.plans.status import Status
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION

_BY_PERSON = ("cautions", "targets", "checks", "options", "deadlines", "constraints")
"""Columns of `PlanColumns` with a coded value for each person, which may be None."""
NO_PLANS = -1
"""Number of related plans of a person if none were searched for."""


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
    robustness : RobustnessColumns, optional
        Chances [B] that the plans hold when the model is trained again; None if nothing is known about them.
    checks : Coded, optional
        The model [B] that each verified plan was checked with, and when; `Planner.plan` fills it in.
    options : Coded, optional
        Other actions [B] that would do, too; `explain` fills it in.
    deadlines : Coded, optional
        Longest durations [B] that plans were searched for with; `Planner.plan` fills it in.
    constraints : Coded, optional
        What was ruled out for each person, and the person's weights [B]; `Planner.plan` fills it in.
    limits : ActionLimits, optional
        The constraints that the plans were made with, which `Planner.plan` fills in; None if they are not known, as in
        plans from files. `put` ignores them.
    related : dict of str to RelatedColumns
        Other plans for the same people, by how they are related to these; see `Plan.related`.
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
    robustness: RobustnessColumns | None = None
    checks: Coded[Check] | None = None
    options: Coded[tuple[PlanOption, ...]] | None = None
    deadlines: Coded[float] | None = None
    constraints: Coded[Constraints] | None = None
    limits: ActionLimits | None = None
    related: dict[RelatedKind, RelatedColumns] = field(default_factory=dict)

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
        for name in _BY_PERSON:
            if getattr(part, name) is not None and getattr(self, name) is None:
                setattr(self, name, Coded.empty((len(self),)))
            if (column := getattr(self, name)) is not None:
                column.put(rows, getattr(part, name))
        if part.robustness is not None and self.robustness is None:
            self.robustness = RobustnessColumns.empty(len(self))
        if self.robustness is not None:
            self.robustness.put(rows, part.robustness)
        for kind in dict.fromkeys((*self.related, *part.related)):
            mine = self.related.get(kind) or RelatedColumns.empty(len(self), self.actions.shape[1])
            mine.put(rows, part.related.get(kind))
            self.related[kind] = mine

    def add_caution(self, caution: str, rows: Ints | None = None) -> None:
        """Append a sentence to the caution of every plan that was found, or of those of `rows` [n]."""
        old = self.cautions or Coded.empty((len(self),))
        found = np.fromiter((status == Status.FOUND for status in self.status), bool, len(self))
        if rows is not None:
            found &= np.isin(np.arange(len(self)), rows)
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

    def search_for_related(self, kind: RelatedKind) -> None:
        """State that related plans of everybody were searched for: people without an entry have none."""
        related = self.related.get(kind) or RelatedColumns.empty(*self.actions.shape)
        self.related[kind] = RelatedColumns(np.maximum(related.count, 0), related.columns)

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
            None if self.robustness is None else self.robustness.take(rows),
            None if self.checks is None else self.checks.take(rows),
            None if self.options is None else self.options.take(rows),
            None if self.deadlines is None else self.deadlines.take(rows),
            None if self.constraints is None else self.constraints.take(rows),
            None if self.limits is None else self.limits.take(rows),
            {kind: related.take(rows) for kind, related in self.related.items()},
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
        for name in _BY_PERSON:
            if any(getattr(part, name) is not None for part in parts):
                setattr(joined, name, Coded.join([getattr(part, name) or Coded.empty((len(part),)) for part in parts]))
        if any(part.robustness is not None for part in parts):
            known = [part.robustness or RobustnessColumns.empty(len(part)) for part in parts]
            joined.robustness = RobustnessColumns.join(known)
        limits = [part.limits for part in parts if part.limits is not None]
        if len(limits) == len(parts):
            joined.limits = ActionLimits.join(limits, [len(part) for part in parts])
        for kind in dict.fromkeys(kind for part in parts for kind in part.related):
            joined.related[kind] = RelatedColumns.join(
                [part.related.get(kind) or RelatedColumns.empty(*part.actions.shape) for part in parts]
            )
        return joined


@dataclass
class RelatedColumns:
    """Any number of other plans for each of B people.

    Parameters
    ----------
    count : int array of shape [B]
        Number of plans of each person; `NO_PLANS` where none were searched for.
    columns : PlanColumns
        The plans, those of the first person first. They have no related plans and no targets: these are those of the
        plan that they are related to. `Planner.plan` fills in `queries`, which are those of that plan.
    """

    count: Ints
    columns: PlanColumns

    @classmethod
    def empty(cls, people: int, longest: int) -> RelatedColumns:
        """Nothing was searched for."""
        return cls(np.full(people, NO_PLANS, np.intp), PlanColumns.empty(0, longest))

    @property
    def owner(self) -> Ints:
        """[n] the person of each plan."""
        return np.repeat(np.arange(len(self.count)), np.maximum(self.count, 0))

    def take(self, rows: Ints | slice) -> RelatedColumns:
        """The plans of the people `rows`."""
        number = np.maximum(self.count, 0)
        first = (np.cumsum(number) - number)[rows]
        count = self.count[rows]
        of_person = np.repeat(np.arange(len(count)), np.maximum(count, 0))
        nth = np.arange(len(of_person)) - np.searchsorted(of_person, of_person)
        return RelatedColumns(count, self.columns.take(np.asarray(first[of_person] + nth, np.intp)))

    def put(self, rows: Ints, part: RelatedColumns | None) -> None:
        """Replace the plans of the people `rows` [n]; None: nothing was searched for."""
        part = part or RelatedColumns.empty(len(rows), self.columns.actions.shape[1])
        kept = np.flatnonzero(~np.isin(self.owner, rows))
        owner = np.concatenate([self.owner[kept], rows[part.owner]])
        joined = PlanColumns.join([self.columns.take(kept), part.columns])
        self.count = self.count.copy()
        self.count[rows] = part.count
        self.columns = joined.take(np.argsort(owner, kind="stable"))

    @staticmethod
    def join(parts: Sequence[RelatedColumns]) -> RelatedColumns:
        """Concatenate the plans of several groups of people."""
        count = np.concatenate([part.count for part in parts])
        return RelatedColumns(count, PlanColumns.join([part.columns for part in parts]))
