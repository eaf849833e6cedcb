"""Several planners in a row, the cheapest means first: each answer is checked before the next one is tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from counterplan.blackbox import BlackBox, QueryBudgetExceeded
from counterplan.errors import PlanError
from counterplan.planners.base import PlanColumns, Planner, Progress
from counterplan.plans import Status
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Ints
from counterplan.search.orders import NO_ACTION, rollout


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

    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> PlanColumns:
        """See `Planner.search`."""
        result = PlanColumns.empty(len(people), self.problem.max_actions)
        left = np.arange(len(people))
        asked: list[set[bytes]] = [set() for _ in left]
        """By person: what the box was asked; a planner that asks it again has it from memory."""
        for planner in self.planners:
            if not len(left):
                break
            known = [asked[row] for row in left.tolist()]
            part = self._one(planner, people.take(left), allowed[left], budget, result.queries[left], known)
            part.queries += result.queries[left]
            part.lower_bound = np.maximum(part.lower_bound, result.lower_bound[left])
            result.put(left, part)
            done = np.array([status is not Status.NOT_FOUND for status in part.status], bool)
            progress(int(done.sum()))
            left = left[~done]
        progress(len(left))
        return result

    def _one(
        self, planner: Planner, people: People, allowed: Bools, budget: int | None, asked: Ints,
        known: Sequence[set[bytes]],
    ) -> PlanColumns:  # fmt: skip
        """What `planner` finds within what each person has left of the budget, checked.

        Questions whose answers are `known`, by person, do not count; new ones are added.
        """
        part = PlanColumns.empty(len(people), self.problem.max_actions)
        rooms = np.zeros(len(people), np.intp) if budget is None else budget - asked
        for room in np.unique(rooms):
            rows = np.flatnonzero(rooms == room)
            limit = None if budget is None else int(room)
            some, mine = people.take(rows), [known[row] for row in rows.tolist()]
            with self._counting(some, mine) as again:
                found = planner.search(some, allowed[rows], limit, lambda done: None)
            found.queries = np.maximum(found.queries - again, 0)
            part.put(rows, found)
        unchecked = np.flatnonzero([status is Status.FOUND for status in part.status] & ~part.verified)
        if budget == 0:
            return part
        if budget is not None:
            short = unchecked[rooms[unchecked] - part.queries[unchecked] <= 0]
            self._withdraw(part, short)
            unchecked = np.setdiff1d(unchecked, short)
        if len(unchecked):
            with self._counting(people, known) as again:
                good = self._check(people, unchecked, part.actions[unchecked])
            part.verified[unchecked[good]] = True
            part.queries[unchecked] += 1
            part.queries -= again
            self._withdraw(part, unchecked[~good])
        return part

    @contextmanager
    def _counting(self, people: People, known: Sequence[set[bytes]]) -> Iterator[Ints]:
        """Within this, counts for each of `people` [B] the questions that were `known`, and adds the new ones to it."""
        again = np.zeros(len(people), np.intp)

        def watch(whom: People, rows: npt.NDArray[np.integer], keys: list[bytes]) -> None:
            if whom is not people or not self.box.cache_size:
                return
            for row, key in zip(rows.tolist(), keys, strict=True):
                again[row] += key in known[row]
                known[row].add(key)

        with self.box.observing(watch):
            yield again

    def _check(self, people: People, rows: Ints, actions: Ints) -> Bools:
        """Whether the plans `actions` [n, T] of the people `rows` [n] lead to a favourable state."""
        states, _, _ = rollout(self.problem.transitions, people.states[rows], actions)
        try:
            return self.box.session(self.problem, people)(states, rows)
        except QueryBudgetExceeded as stop:
            return stop.answers

    @staticmethod
    def _withdraw(part: PlanColumns, rows: Ints) -> None:
        """These plans do not hold."""
        part.actions[rows] = NO_ACTION
        for row in rows.tolist():
            part.status[row] = Status.NOT_FOUND
