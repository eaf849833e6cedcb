"""Plans as arrays in the terms of one problem, for plans with and without people of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import PlanError
from counterplan.plans import ActionLimits, Plan, Plans
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION


def unexplained(plans: Plans, *, points: bool = False) -> Bools:
    """[B, T] the steps whose reason is neither a rule nor of a card, nor, on request, `points`."""
    explaining = ("rule", "card", "points") if points else ("rule", "card")
    result = np.arange(plans.actions.shape[1]) < plans.lengths[:, None]
    reasons = plans.columns.reasons
    if reasons is not None:
        known = [because is not None and because.source in explaining for _, because in reasons.values]
        result &= ~np.array([*known, False], bool)[reasons.codes]
    return result


def states_before(problem: Problem, plans: Plans, rows: Ints, steps: Ints) -> Floats:
    """States [n, F] before `steps` [n] of the people `rows` [n]: computed, or else as the plans claim."""
    if plans.people is None:
        return states_of(problem, [plans[row].steps[t].before for row, t in zip(rows, steps, strict=True)])
    people, places = np.unique(rows, return_inverse=True)
    states, result = plans.people.states[people], plans.people.states[rows]
    actions = plans.actions[people]
    for t in range(int(steps.max(initial=0))):
        states = problem.transitions.apply(states, stopped(problem, actions[:, t]))
        later = steps == t + 1
        result[later] = states[places[later]]
    return result


def stopped(problem: Problem, actions: Ints) -> Ints:
    """`actions` with STOP for NO_ACTION."""
    return np.where(actions == NO_ACTION, problem.transitions.stop, actions)


def states_of(problem: Problem, states: Sequence[dict[str, Any]]) -> Floats:
    """States [n, F] from mappings of feature names to values."""
    names = [feature.name for feature in problem.features]
    table = pd.DataFrame([[state.get(name) for name in names] for state in states], columns=names, dtype=object)
    return problem.read(table).states


@dataclass(frozen=True)
class PlanGroup:
    """The plans of n people from one table that have steps to explain."""

    plans: Plans
    rows: Ints
    """[n] their positions among all plans."""
    people: People
    actions: Ints
    """[n, T] actions of the problem, padded with NO_ACTION."""
    weights: Floats | None
    """[n, T] cost weights of the steps."""
    open: Bools
    """[n, T] the steps to explain."""

    @property
    def step_costs(self) -> Floats:
        """[n, T] costs of the steps, padded with 0."""
        return self.plans.step_costs[self.rows]

    @property
    def costs(self) -> Floats:
        """[n] total costs of the plans."""
        return self.plans.costs[self.rows]

    @property
    def lengths(self) -> Ints:
        """[n] numbers of steps."""
        return self.plans.lengths[self.rows]

    @property
    def limits(self) -> ActionLimits | None:
        """The constraints of these people; None if they are not known."""
        limits = self.plans.columns.limits
        return None if limits is None else limits.take(self.rows)

    @property
    def deadlines(self) -> Floats:
        """[n] longest durations of the plans of these people; infinite without a deadline."""
        known = self.plans.columns.deadlines
        if known is None:
            return np.full(len(self.rows), np.inf)
        return np.array([*known.values, np.inf], float)[known.codes[self.rows]]

    def take(self, rows: Ints) -> PlanGroup:
        """The plans at positions `rows` of the group."""
        weights = None if self.weights is None else self.weights[rows]
        taken = self.rows[rows], self.people.take(rows), self.actions[rows], weights, self.open[rows]
        return PlanGroup(self.plans, *taken)

    def with_open(self, open_: Bools) -> PlanGroup:
        """The same plans with other steps to explain [n, T]."""
        return replace(self, open=open_)

    def text(self, row: int, t: int) -> str:
        """A step in words."""
        return self.plans.texts.get(int(self.rows[row]), t) or ""


def groups(problem: Problem, plans: Plans, open_: Bools) -> Iterator[PlanGroup]:
    """Groups of the plans with open steps [B, T], one for each set of table columns.

    Raises PlanError if a plan has an action that the problem does not have.
    """
    rows = np.flatnonzero(open_.any(axis=1))
    if not len(rows):
        return
    numbers = {str(action): action.index for action in problem.transitions.actions}
    known = np.array([*(numbers.get(name, NO_ACTION) for name in plans.action_names), NO_ACTION], np.intp)
    actions, weights = known[plans.actions], plans.columns.weights
    for row in rows[((actions == NO_ACTION) & (plans.actions != NO_ACTION))[rows].any(axis=1)].tolist():
        missing = next(name for name in plans[row].actions if name not in numbers)
        raise PlanError(f"the plan of person {plans[row].person}: the problem has no action {missing}")
    for part, people in _tables(problem, plans, rows):
        longest = int(plans.lengths[part].max())
        shape = part, slice(longest)
        yield PlanGroup(plans, part, people, actions[shape], None if weights is None else weights[shape], open_[shape])


def _tables(problem: Problem, plans: Plans, rows: Ints) -> Iterator[tuple[Ints, People]]:
    """The people `rows`, by table; the people of plans without any are read from the rows that they carry."""
    if plans.people is not None:
        yield rows, plans.people.take(rows)
        return
    tables: dict[tuple[Any, ...], list[int]] = {}
    for row in rows.tolist():
        tables.setdefault(tuple(name for name, _ in plans[row].row), []).append(row)
    for part in tables.values():
        yield np.array(part, np.intp), _people(problem, [plans[row] for row in part])


def _people(problem: Problem, plans: Sequence[Plan]) -> People:
    """The people of plans whose rows have the same columns."""
    rows = [plan.row or tuple(plan.start.items()) for plan in plans]
    table = pd.DataFrame([[value for _, value in row] for row in rows], columns=[name for name, _ in rows[0]])
    return problem.read(table)
