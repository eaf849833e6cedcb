"""Several planners in a row, the cheapest means first: each answer is checked before the next one is tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from counterplan.blackbox import BlackBox, BudgetSpent
from counterplan.errors import PlanError
from counterplan.paths.orders import NO_ACTION, walk
from counterplan.plan import Status
from counterplan.planners.base import Planner, Progress, Result
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Ints


class CascadePlanner(Planner):
    """Hands people from planner to planner until a plan holds; a plan that was not checked costs one question.

    With a budget of 0 nothing can be checked: the first plan is given, not `verified`.
    """

    name: ClassVar[str] = "cascade"

    def __init__(self, problem: Problem, box: BlackBox | object, planners: Sequence[Planner]) -> None:
        super().__init__(problem, box)
        if not planners:
            raise PlanError("a cascade needs at least one planner")
        for planner in planners:
            if planner.box is not self.box or planner.problem.fingerprint != problem.fingerprint:
                raise PlanError("the planners of a cascade share its problem and its black box")
        self.planners = tuple(planners)

    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> Result:
        """See `Planner.search`."""
        result = Result.empty(len(people), self.problem.max_actions)
        left = np.arange(len(people))
        for planner in self.planners:
            if not len(left):
                break
            part = self._one(planner, people.take(left), allowed[left], budget, result.questions[left])
            part.questions += result.questions[left]
            part.lower_bound = np.maximum(part.lower_bound, result.lower_bound[left])
            result.put(left, part)
            done = np.array([status is not Status.NOT_FOUND for status in part.status], bool)
            progress(int(done.sum()))
            left = left[~done]
        progress(len(left))
        return result

    def _one(self, planner: Planner, people: People, allowed: Bools, budget: int | None, asked: Ints) -> Result:
        """What `planner` finds within what each person has left of the budget, checked."""
        part = Result.empty(len(people), self.problem.max_actions)
        rooms = np.zeros(len(people), np.intp) if budget is None else budget - asked
        for room in np.unique(rooms):
            rows = np.flatnonzero(rooms == room)
            limit = None if budget is None else int(room)
            part.put(rows, planner.search(people.take(rows), allowed[rows], limit, lambda done: None))
        unchecked = np.flatnonzero([status is Status.FOUND for status in part.status] & ~part.verified)
        if budget == 0:
            return part
        if budget is not None:
            short = unchecked[rooms[unchecked] - part.questions[unchecked] <= 0]
            self._withdraw(part, short)
            unchecked = np.setdiff1d(unchecked, short)
        if len(unchecked):
            good = self._check(people, unchecked, part.actions[unchecked])
            part.verified[unchecked[good]] = True
            part.questions[unchecked] += 1
            self._withdraw(part, unchecked[~good])
        return part

    def _check(self, people: People, rows: Ints, actions: Ints) -> Bools:
        """Whether the plans `actions` [n, T] of the people `rows` [n] lead to a favourable state."""
        states, _, _ = walk(self.problem.transitions, people.states[rows], actions)
        try:
            return self.box.about(self.problem, people)(states, rows)
        except BudgetSpent as stop:
            return stop.answers

    @staticmethod
    def _withdraw(part: Result, rows: Ints) -> None:
        """These plans do not hold."""
        part.actions[rows] = NO_ACTION
        for row in rows.tolist():
            part.status[row] = Status.NOT_FOUND
