"""Several planners in sequence, those with the fewest queries first; each plan is verified before it is accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from counterplan.blackbox import BlackBox, QueryBudgetExceeded
from counterplan.errors import SettingError
from counterplan.planners.base import NOT_WEIGHTED, PlanColumns, Planner, PlanningTask
from counterplan.planners.task import no_progress
from counterplan.plans import Status
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Ints
from counterplan.search.orders import NO_ACTION, rollout
from counterplan.survival.goal import SurvivalGoal


class CascadePlanner(Planner):
    """Find a verified plan with the first of several planners that has one.

    People without a verified plan are passed on to the next planner. Verifying a plan costs one query. With a budget of
    0 nothing can be verified: the first plan is returned, not `verified`.

    Parameters
    ----------
    problem : Problem
        The problem to plan for.
    box : BlackBox or model
        The model that plans are verified with.
    planners : sequence of Planner
        At least one; all with the same problem and the same black box.

    Raises
    ------
    SettingError
        If there is no planner, or one has another problem or black box.

    Examples
    --------
    >>> from counterplan import BlackBox, CascadePlanner, ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> box = BlackBox(german.model)
    >>> quick = ExactPlanner(german.problem, box, state_limit=10)
    >>> people = german.refused_test.head(3)
    >>> quick.plan(people).costs
    array([nan, nan,  5.])
    >>> planners = [quick, ExactPlanner(german.problem, box)]
    >>> CascadePlanner(german.problem, box, planners).plan(people).costs
    array([10., 20.,  5.])
    """

    name: ClassVar[str] = "cascade"
    uses_survival: ClassVar[bool] = True
    uses_alternatives: ClassVar[bool] = True
    uses_deadline: ClassVar[bool] = True

    def __init__(self, problem: Problem, box: BlackBox | object, planners: Sequence[Planner]) -> None:
        super().__init__(problem, box)
        if not planners:
            raise SettingError("a cascade needs at least one planner")
        for planner in planners:
            if planner.box is not self.box or planner.problem.fingerprint != problem.fingerprint:
                raise SettingError("all planners of a cascade must share its problem and its black box")
        self.planners = tuple(planners)

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        columns = PlanColumns.empty(len(task), self.problem.max_actions)
        left = np.arange(len(task))
        queried: list[set[bytes]] = [set() for _ in left]
        """Keys of the states queried for each person; repeated queries are answered from the cache."""
        for planner in self._suited(task):
            if not len(left):
                break
            known = [queried[row] for row in left.tolist()]
            part = self._run(planner, task.take(left), columns.queries[left], known)
            part.queries += columns.queries[left]
            part.lower_bound = np.maximum(part.lower_bound, columns.lower_bound[left])
            columns.put(left, part)
            done = np.array([status is not Status.NOT_FOUND for status in part.status], bool)
            task.progress(int(done.sum()))
            left = left[~done]
        task.progress(len(left))
        return columns

    def ignores(self, goal: SurvivalGoal) -> bool:
        """See `Planner.ignores`; a cascade does if each of its planners does."""
        return all(planner.ignores(goal) for planner in self.planners)

    def _suited(self, task: PlanningTask) -> Sequence[Planner]:
        """The planners that plan with all that `task` demands; all if there are none."""
        suited = [
            planner
            for planner in self.planners
            if (task.weights is None or planner.uses_weights)
            and (task.goal is None or planner.uses_survival)
            and (task.alternatives is None or planner.uses_alternatives)
            and (task.deadline is None or planner.uses_deadline)
        ]
        return suited or self.planners

    def _run(self, planner: Planner, task: PlanningTask, queries: Ints, known: Sequence[set[bytes]]) -> PlanColumns:
        """Verified plans of `planner`, within the budget of each person that `queries` [B] leave.

        Queries whose keys are `known`, by person, do not count; new keys are added.
        """
        people, budget = task.people, task.budget
        part = PlanColumns.empty(len(people), self.problem.max_actions)
        remaining = np.zeros(len(people), np.intp) if budget is None else budget - queries
        for number in np.unique(remaining):
            rows = np.flatnonzero(remaining == number)
            limit = None if budget is None else int(number)
            subtask = replace(task.take(rows), budget=limit, progress=no_progress)
            with counting_repeats(self.box, subtask.people, [known[row] for row in rows.tolist()]) as repeated:
                found = planner.search_in_time(subtask)
            found.queries = np.maximum(found.queries - repeated, 0)
            part.put(rows, found)
        unverified = np.flatnonzero([status is Status.FOUND for status in part.status] & ~part.verified)
        if budget == 0:
            return part
        if budget is not None:
            out_of_budget = unverified[remaining[unverified] - part.queries[unverified] <= 0]
            self._reject(part, out_of_budget)
            unverified = np.setdiff1d(unverified, out_of_budget)
        if len(unverified):
            with counting_repeats(self.box, people, known) as repeated:
                favourable = self._verify(people, unverified, part.actions[unverified])
            part.verify(unverified[favourable], lasting=NOT_WEIGHTED)
            part.queries[unverified] += 1
            part.queries -= repeated
            self._reject(part, unverified[~favourable])
        return part

    def _verify(self, people: People, rows: Ints, actions: Ints) -> Bools:
        """Whether the plans `actions` [n, T] of the people `rows` [n] lead to a favourable state."""
        states, _, _ = rollout(self.problem.transitions, people.states[rows], actions)
        try:
            return self.box.session(self.problem, people)(states, rows)
        except QueryBudgetExceeded as stop:
            return stop.answers

    @staticmethod
    def _reject(part: PlanColumns, rows: Ints) -> None:
        """Remove the plans of the people `rows`."""
        part.actions[rows] = NO_ACTION
        for row in rows.tolist():
            part.status[row] = Status.NOT_FOUND


@contextmanager
def counting_repeats(box: BlackBox, people: People, known: Sequence[set[bytes]]) -> Iterator[Ints]:
    """Count the queries about each of `people` [B] within this context whose keys are `known`, and add the new ones.

    Without a cache, a repeated query is sent again, and is not counted here.
    """
    repeated = np.zeros(len(people), np.intp)

    def watch(queried: People, rows: npt.NDArray[np.integer], keys: list[bytes]) -> None:
        if queried is not people or not box.cache_size:
            return
        for row, key in zip(rows.tolist(), keys, strict=True):
            repeated[row] += key in known[row]
            known[row].add(key)

    with box.observing(watch):
        yield repeated
