"""The interface of planners: validation, queries about people as they are, and conversion to plans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from counterplan.blackbox import BlackBox, QueryBudgetExceeded
from counterplan.errors import SettingError
from counterplan.planners.task import PlanningTask, ProgressCallback, checked_weights, is_whole
from counterplan.plans import Forbid, PlanColumns, Plans, Status, allowed_actions
from counterplan.plans.progress import reporting
from counterplan.problem import People, PeopleTable, Problem
from counterplan.problem.transitions import Bools

__all__ = ["Forbid", "PlanColumns", "Planner", "PlanningTask", "is_whole"]

NOT_WEIGHTED = "It was not planned with your own effort weights."
"""Caution on plans of planners that do not plan with cost weights."""


class Planner(ABC):
    """Base class of planners. A subclass implements `search`.

    Parameters
    ----------
    problem : Problem
    box : BlackBox or model
        A model is wrapped in a `BlackBox`.

    Attributes
    ----------
    name : str
        Name of the planner.
    requires : tuple of str
        Learned objects that the planner needs, of "surrogate", "agent" and "program". Each is passed to the class as a
        keyword argument of that name.
    chooses : bool
        Whether the planner uses what was learned as far as it is available: the class gets the keyword arguments
        `learned`, functions that return the surrogate, agent and program or None, by name, and `guide`, the settings
        of guided planning or None.
    uses_weights : bool
        Whether plans minimize the weighted cost. A cascade with cost weights leaves out planners that do not, if others
        remain.
    """

    name: ClassVar[str]
    requires: ClassVar[tuple[str, ...]] = ()
    chooses: ClassVar[bool] = False
    uses_weights: ClassVar[bool] = True

    def __init__(self, problem: Problem, box: BlackBox | object) -> None:
        self.problem = problem
        self.box = box if isinstance(box, BlackBox) else BlackBox(box)

    def plan(
        self,
        people: PeopleTable | People,
        *,
        forbid: Forbid = (),
        allowed: Bools | None = None,
        cost_weights: npt.ArrayLike | None = None,
        budget: int | None = None,
        refused: bool = False,
        progress: ProgressCallback | bool | None = None,
    ) -> Plans:
        """Plan for each of `people`.

        Parameters
        ----------
        people : DataFrame or People
            B people.
        forbid : str, list of str or mapping
            Functions or actions that nobody may take; or, by index label, that one person may not take.
        allowed : bool array of shape [B, A], optional
            The same as a mask.
        cost_weights : array of shape [B, A] or DataFrame, optional
            Factors from 1e-6 to 1e6 on the cost of each action for each person. The cost of a step is its cost in the
            problem times its weight, rounded to 9 decimals. A DataFrame has the index labels of the people, and
            functions or actions as columns; actions without a column have weight 1.
        budget : int, optional
            Most queries about each person. With 0, people are assumed to be refused and no plan is verified.
        refused : bool, default=False
            Whether all people are known to be refused; otherwise each is queried first as they are.
        progress : bool or callable, optional
            True for a progress bar, also in notebooks; or a function, which is called with the number of people
            finished since the last call.

        Returns
        -------
        Plans

        Raises
        ------
        SettingError
            If a parameter is invalid.
        PeopleError
            If the people do not match the problem.
        """
        if budget is not None and not is_whole(budget):
            raise SettingError(f"'budget' must be an integer, zero or more, or None for no limit; not {budget!r}")
        read = self.problem.read(people)
        queries, cached = self.box.queries, self.box.cached
        with reporting(progress, "Planning", len(read), display=lambda bar: bar.advance) as callback:
            task = PlanningTask(
                read,
                allowed_actions(self.problem, read, forbid, allowed),
                checked_weights(self.problem, read, cost_weights),
                budget=budget,
                refused=refused,
                progress=callback,
            )
            columns = self._plan(task)
        columns.weights = task.step_weights(columns.actions)
        queries, cached = self.box.queries - queries, self.box.cached - cached
        return Plans.from_columns(self.problem, read, columns, queries=queries, cached=cached)

    def _plan(self, task: PlanningTask) -> PlanColumns:
        """Query people as they are, unless they are known to be refused, and search for those who are.

        With a budget of 0, everybody is assumed to be refused, and nothing is proved.
        """
        people, budget = task.people, task.budget
        if len(people) and (task.refused or budget == 0):
            columns = self.search(task)
            if not task.refused:
                columns.lower_bound[:] = 0.0
                unproved = {Status.INFEASIBLE: Status.NOT_FOUND}
                columns.status = [unproved.get(status, status) for status in columns.status]
            return columns
        columns = PlanColumns.empty(len(people), self.problem.max_actions)
        known, favourable = self._query_as_they_are(task)
        for row in np.flatnonzero(favourable).tolist():
            columns.status[row] = Status.ALREADY_FAVOURABLE
        columns.verified[favourable] = columns.optimal[favourable] = True
        rows = np.flatnonzero(known & ~favourable)
        task.progress(len(people) - len(rows))
        if len(rows):
            left = None if budget is None else budget - 1
            columns.put(rows, self.search(replace(task.take(rows), budget=left, refused=True)))
        columns.queries[known] += 1
        return columns

    def _query_as_they_are(self, task: PlanningTask) -> tuple[Bools, Bools]:
        """Which people [B] could be queried, and which of them are favourable."""
        people = task.people
        try:
            session = self.box.session(self.problem, people, scores=self.uses_scores)
            favourable = session(people.states, np.arange(len(people)))
            return np.ones(len(people), bool), favourable
        except QueryBudgetExceeded as stop:
            return stop.known, stop.answers

    def expect(self, people: int) -> None:  # noqa: B027 -- most planners do not depend on it
        """Announce how many people will be planned for, in one or more calls of `plan`."""

    @property
    def uses_scores(self) -> bool:
        """Whether the planner uses the model's scores, so that they are obtained about people as they are, too."""
        return False

    @property
    def repeated_queries(self) -> int:
        """Queries of the last search that the planner answered itself, because it had queried the state before."""
        return 0

    @abstractmethod
    def search(self, task: PlanningTask) -> PlanColumns:
        """Plan for the people of `task`, all refused.

        Parameters
        ----------
        task : PlanningTask

        Returns
        -------
        PlanColumns
        """
