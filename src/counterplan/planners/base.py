"""What every planner has in common: people in, plans out, one way to forbid, to limit and to report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from counterplan.blackbox import BlackBox, QueryBudgetExceeded
from counterplan.errors import PlanError
from counterplan.plans import Forbid, PlanColumns, Plans, Status, allowed_actions
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools

__all__ = ["Forbid", "PlanColumns", "Planner", "Progress"]

Progress = Callable[[int], None]
"""Called with the number of people done since the last call."""


def is_whole(number: Any, least: int = 0) -> bool:
    """Whether this is a whole number, at least so large; a truth value is none."""
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool) and bool(number >= least)


class Planner(ABC):
    """Finds plans for people. A subclass says how, in `search`."""

    name: ClassVar[str]

    def __init__(self, problem: Problem, box: BlackBox | object) -> None:
        self.problem = problem
        self.box = box if isinstance(box, BlackBox) else BlackBox(box)

    def plan(
        self,
        people: pd.DataFrame | People,
        *,
        forbid: Forbid = (),
        allowed: Bools | None = None,
        budget: int | None = None,
        refused: bool = False,
        progress: Progress | None = None,
    ) -> Plans:
        """A plan for each of `people`.

        `forbid` names what cannot be done, `allowed` [B, A] says the same as a mask; `budget` limits the questions
        to the black box for each person. Each person is asked about first as they are, unless it is known that all
        are `refused`; with a budget of 0 that is taken for granted, and no plan is verified. `progress` is told how
        many people are done.
        """
        if budget is not None and not is_whole(budget):
            raise PlanError(f"the budget of questions is a whole number, zero or more, not {budget!r}")
        read = self.problem.read(people)
        mask = allowed_actions(self.problem, read, forbid, allowed)
        queries, cached = self.box.queries, self.box.cached
        result = self._plan(read, mask, budget, refused, progress or (lambda done: None))
        queries, cached = self.box.queries - queries, self.box.cached - cached
        return Plans.from_columns(self.problem, read, result, queries=queries, cached=cached)

    def _plan(
        self, people: People, allowed: Bools, budget: int | None, refused: bool, progress: Progress
    ) -> PlanColumns:
        """Ask about people as they are, unless they are known to be refused, and search for those who are.

        If nothing may be asked, everybody is taken to be refused, and nothing is claimed to be proved.
        """
        if len(people) and (refused or budget == 0):
            result = self.search(people, allowed, budget, progress)
            if not refused:
                result.lower_bound[:] = 0.0
                unproved = {Status.INFEASIBLE: Status.NOT_FOUND}
                result.status = [unproved.get(status, status) for status in result.status]
            return result
        result = PlanColumns.empty(len(people), self.problem.max_actions)
        known, favourable = self._as_they_are(people)
        for row in np.flatnonzero(favourable).tolist():
            result.status[row] = Status.ALREADY_FAVOURABLE
        result.verified[favourable] = result.optimal[favourable] = True
        rows = np.flatnonzero(known & ~favourable)
        progress(len(people) - len(rows))
        left = None if budget is None else budget - 1
        result.put(rows, self.search(people.take(rows), allowed[rows], left, progress) if len(rows) else None)
        result.queries[known] += 1
        return result

    def _as_they_are(self, people: People) -> tuple[Bools, Bools]:
        """Which people [B] could be asked about, and which of them are favourable."""
        try:
            favourable = self.box.session(self.problem, people)(people.states, np.arange(len(people)))
            return np.ones(len(people), bool), favourable
        except QueryBudgetExceeded as stop:
            return stop.known, stop.answers

    @property
    def asked_again(self) -> int:
        """How often the last search came back to a state and knew the answer by itself, without the black box."""
        return 0

    @abstractmethod
    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> PlanColumns:
        """Plans for `people`, all refused, who may take the actions `allowed` [B, A], at `budget` questions each."""
