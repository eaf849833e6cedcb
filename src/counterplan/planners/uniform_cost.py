"""Uniform-cost search for the cheapest plan that an oracle accepts: a black box, or a scorecard."""

from __future__ import annotations

import math

import numpy as np

from counterplan.blackbox import QueryBudgetExceeded
from counterplan.planners.objective_search import Oracle
from counterplan.planners.task import ProgressCallback
from counterplan.plans import PlanColumns, Status
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.frontier import Frontier, Labels

MIN_EXPANSIONS = 4_096
"""Lower limit of the actions applied at once for one person: many lead to states that are known."""
_QUERIES_PER_SPARE = 64
"""Queries sent for each one that may not be needed. Costs that differ a little, as personal weights make them, would
otherwise take one call of the model for each state."""


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
        """There are no more states for `people`, and none of them has a plan."""
        self.finish(people, Status.INFEASIBLE, math.inf)

    def limit_expansions(self) -> None:
        """Bound the actions of one cost applied at once by the number of states that may still be queried."""
        left = self.max_queries + 1 - self.columns.queries[self.rows]
        self.frontier.limit = np.maximum(left, MIN_EXPANSIONS)

    def query(self, labels: Labels) -> bool:
        """Query new states in order of cost until each person has a favourable one; False if the budget is spent."""
        batches = CostBatches(labels.take(self.frontier.order(labels)), len(self.rows))
        while len(queried := self.next_batch(batches)):
            beyond = self.beyond_budget(queried)
            given_up, skipped = np.unique(queried.person[beyond]), queried.take(beyond)
            queried = queried.take(~beyond)
            spent = False
            try:
                favourable = self.oracle(self.frontier.full_states(queried), self.rows[queried.person])
            except QueryBudgetExceeded as stop:
                spent = True
                usable = stop.known & self.up_to_open(queried, ~stop.known)
                skipped = Labels.join([skipped, queried.take(~usable)])
                queried, favourable = queried.take(usable), stop.answers[usable]
                given_up = np.arange(len(self.rows))
            self.answered(queried, favourable)
            given_up = given_up[self.active[given_up]]
            if len(given_up):
                unqueried = Labels.join([skipped, batches.rest()])
                self.finish(given_up, Status.NOT_FOUND, self.cheapest_open(given_up, unqueried))
            if spent:
                return False
        return True

    def next_batch(self, batches: CostBatches) -> Labels:
        """Labels to query next: of each active person those of equal cost, or more if many queries were sent before."""
        return batches.take(self.active, self.columns.queries[self.rows] // _QUERIES_PER_SPARE)

    def beyond_budget(self, labels: Labels) -> Bools:
        """Which queries [n] exceed the limit of their person, for labels sorted by person."""
        left = self.max_queries - self.columns.queries[self.rows[labels.person]]
        first = np.searchsorted(labels.person, labels.person)
        beyond: Bools = np.arange(len(labels)) - first >= left
        return beyond

    def up_to_open(self, labels: Labels, unanswered: Bools) -> Bools:
        """Which labels [n] cost no more than any of the `unanswered` [n] of the same person: others prove nothing."""
        limit = np.full(len(self.rows), np.iinfo(np.int64).max)
        np.minimum.at(limit, labels.person[unanswered], labels.cost[unanswered])
        allowed: Bools = labels.cost <= limit[labels.person]
        return allowed

    def cheapest_open(self, people: Ints, labels: Labels) -> Floats:
        """[n] lowest cost of an unqueried state of each of `people`, given the unqueried `labels` of this bucket."""
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


class CostBatches:
    """Labels of B people, in order of preference, returned in batches of equal or increasing cost.

    Parameters
    ----------
    labels : Labels
        In order of cost, then of preference.
    people : int
        Number of people, B.
    """

    def __init__(self, labels: Labels, people: int) -> None:
        self._labels = labels.take(np.argsort(labels.person, kind="stable"))
        person, cost = self._labels.person, self._labels.cost
        self._place, self._end = (np.searchsorted(person, np.arange(people), side) for side in ("left", "right"))
        """[B] first label of each person that was not returned yet, and the end of the person's labels."""
        changes = np.flatnonzero((person[1:] != person[:-1]) | (cost[1:] != cost[:-1])) + 1
        ends = np.append(changes, len(person))
        self._cost_end = np.repeat(ends, np.diff(ends, prepend=0))
        """[n] end of the labels of the same person and cost."""

    def take(self, active: Bools, least: Ints) -> Labels:
        """The next labels of `active` [B] people: all of the lowest cost, and at least so many [B], if there are."""
        people = np.flatnonzero(active & (self._place < self._end))
        first = self._place[people]
        last = np.minimum(np.maximum(self._cost_end[first], first + least[people]), self._end[people])
        self._place[people] = last
        count = last - first
        offset = np.repeat(first - (np.cumsum(count) - count), count)
        return self._labels.take(np.arange(len(offset)) + offset)

    def rest(self) -> Labels:
        """Labels that were not returned yet."""
        return self._labels.take(np.arange(len(self._labels)) >= self._place[self._labels.person])
