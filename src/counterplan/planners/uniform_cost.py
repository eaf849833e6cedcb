"""Uniform-cost search for the cheapest plan that an oracle accepts: a black box, or a scorecard."""

from __future__ import annotations

import math

import numpy as np

from counterplan.blackbox import QueryBudgetExceeded
from counterplan.planners.objective_search import Oracle
from counterplan.planners.task import ProgressCallback
from counterplan.plans import PlanColumns, Status
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.frontier import Frontier, Labels, Longs

MIN_EXPANSIONS = 4_096
"""Lower limit of the actions applied at once for one person: many lead to states that are known."""


class UniformCostSearch:
    """The search for a batch of people, whose plans are written to `columns` at `rows`."""

    def __init__(
        self,
        frontier: Frontier,
        oracle: Oracle,
        rows: Ints,
        max_queries: int,
        columns: PlanColumns,
        progress: ProgressCallback,
    ) -> None:
        self.frontier, self.oracle, self.rows, self.max_queries = frontier, oracle, rows, max_queries
        self.columns, self.progress = columns, progress
        self.unit = frontier.unit
        self.active = frontier.active

    def run(self) -> None:
        """Advance bucket by bucket until everybody has a plan, a proof, or no budget left."""
        self.limit_expansions()
        while (labels := self.frontier.advance()) is not None:
            if not self.query(labels):
                return
            self.limit_expansions()
        self.exhausted(np.flatnonzero(self.active))

    def exhausted(self, people: Ints) -> None:
        """There are no more states for `people`, none of whom has a plan."""
        self.finish(people, Status.INFEASIBLE, math.inf)

    def limit_expansions(self) -> None:
        """Bound the actions of one cost applied at once by the number of states that may still be queried."""
        left = self.max_queries + 1 - self.columns.queries[self.rows]
        self.frontier.limit = np.maximum(left, MIN_EXPANSIONS)

    def query(self, labels: Labels) -> bool:
        """Query new states in order of cost until each person has a favourable one; False if the budget is spent."""
        labels = labels.take(self.frontier.order(labels))
        wave = waves(labels.person, labels.cost)
        for number in range(int(wave.max(initial=-1)) + 1):
            queried = labels.take((wave == number) & self.active[labels.person])
            beyond = self.beyond_budget(queried)
            given_up = np.unique(queried.person[beyond])
            queried = queried.take(~beyond)
            spent = False
            try:
                favourable = self.oracle(self.frontier.full_states(queried), self.rows[queried.person])
            except QueryBudgetExceeded as stop:
                spent = True
                queried, favourable = queried.take(stop.known), stop.answers[stop.known]
                given_up = np.arange(len(self.rows))
            self.answered(queried, favourable)
            given_up = given_up[self.active[given_up]]
            if len(given_up):
                self.finish(given_up, Status.NOT_FOUND, self.cheapest_open(given_up, labels.take(wave >= number)))
            if spent:
                return False
        return True

    def beyond_budget(self, labels: Labels) -> Bools:
        """Which queries [n] exceed the limit of their person."""
        left = self.max_queries - self.columns.queries[self.rows[labels.person]]
        beyond: Bools = _nth_of_person(labels.person) >= left
        return beyond

    def cheapest_open(self, people: Ints, labels: Labels) -> Floats:
        """[n] lowest cost of an unqueried state of each of `people`."""
        least = self.frontier.cheapest_open()
        np.minimum.at(least, labels.person, labels.cost * self.unit)
        return least[people]

    def answered(self, labels: Labels, favourable: Bools) -> None:
        """Count the queries and store the first favourable state of each person; labels are in order of preference."""
        self.columns.queries[self.rows] += np.bincount(labels.person, minlength=len(self.rows))
        solutions = labels.take(favourable)
        people, first = np.unique(solutions.person, return_index=True)
        rows = self.rows[people]
        self.columns.actions[rows] = self.frontier.actions(solutions.take(first))
        self.columns.verified[rows] = self.columns.optimal[rows] = True
        self.finish(people, Status.FOUND, np.asarray(solutions.cost[first] * self.unit, float))

    def finish(self, people: Ints, status: Status, bound: float | Floats) -> None:
        """End the search for `people` with this status and lower bound."""
        rows = self.rows[people]
        self.columns.lower_bound[rows] = bound
        for row in rows.tolist():
            self.columns.status[row] = status
        self.active[people] = False
        self.frontier.finished[people] = True
        if len(people):
            self.progress(len(people))


def waves(person: Ints, cost: Longs) -> Ints:
    """[n] for labels in order of cost: the index of its cost among the distinct costs of its person."""
    order = np.argsort(person, kind="stable")
    p, c = person[order], cost[order]
    step = np.zeros(len(p), np.intp)
    step[1:] = (p[1:] == p[:-1]) & (c[1:] != c[:-1])
    total = np.cumsum(step)
    start = np.ones(len(p), bool)
    start[1:] = p[1:] != p[:-1]
    wave = np.empty(len(p), np.intp)
    wave[order] = total - np.maximum.accumulate(np.where(start, total, 0))
    return wave


def _nth_of_person(person: Ints) -> Ints:
    """[n] number of earlier entries of the same person."""
    return waves(person, np.arange(len(person)))
