"""Exact search for the front of cost and duration: every plan such that none is both cheaper and shorter."""

from __future__ import annotations

import numpy as np

from counterplan.blackbox import QueryBudgetExceeded
from counterplan.planners.objective_search import Oracle
from counterplan.planners.task import ProgressCallback
from counterplan.planners.uniform_cost import CostBatches, UniformCostSearch
from counterplan.plans import Coded, PlanColumns, RelatedColumns, Status
from counterplan.problem.transitions import Ints
from counterplan.search.frontier import Labels
from counterplan.search.schedule import from_units
from counterplan.search.timed_frontier import TimedFrontier, TimedLabels

INCOMPLETE = "There may be faster plans; the search for them was not completed."
"""Caution on plans whose front is not complete."""


class FrontSearch(UniformCostSearch):
    """The search for a batch of people.

    Plans come in order of cost. A favourable one is a point of the front if it is shorter than those before it; then
    only shorter ones are searched for.
    """

    def __init__(
        self,
        frontier: TimedFrontier,
        oracle: Oracle,
        rows: Ints,
        max_queries: int,
        columns: PlanColumns,
        progress: ProgressCallback,
    ) -> None:
        super().__init__(frontier, oracle, rows, max_queries, columns, progress)
        self.timed = frontier
        self.points: list[list[TimedLabels]] = [[] for _ in rows]
        """[B] the plans on the front of each person, in order of cost."""
        self.incomplete = np.zeros(len(rows), bool)
        self._favourable: dict[int, bool] = {}
        """Answers by key of a state, which belongs to one person."""

    def run(self) -> None:
        """See `UniformCostSearch.run`."""
        super().run()
        fronts = self.columns.related.setdefault("front", RelatedColumns.empty(*self.columns.actions.shape))
        fronts.put(self.rows, self._related())
        if self.incomplete.any():
            texts = self.columns.cautions or Coded.empty((len(self.columns),))
            texts.put(self.rows[self.incomplete], Coded.of([INCOMPLETE] * int(self.incomplete.sum())))
            self.columns.cautions = texts

    def query(self, labels: Labels) -> bool:
        """Query new states in order of cost; False if the budget is spent."""
        assert isinstance(labels, TimedLabels)
        batches = CostBatches(labels.take(self.frontier.order(labels)), len(self.rows))
        while len(current := self.next_batch(batches)):
            assert isinstance(current, TimedLabels)
            current = current.where(self.timed.within(current))
            spent = not self._ask(current, batches)
            self._add_points(current)
            if spent:
                return False
        return True

    def _ask(self, labels: TimedLabels, batches: CostBatches) -> bool:
        """Query the states of `labels` that were not queried before; False if the budget is spent.

        People who have no queries left are given up; the labels that `batches` still has are open.
        """
        unknown = labels.take(np.array([key not in self._favourable for key in labels.key.tolist()], bool))
        beyond = self.beyond_budget(unknown)
        given_up, unqueried = np.unique(unknown.person[beyond]), [unknown.take(beyond)]
        unknown = unknown.take(~beyond)
        spent = False
        try:
            favourable = self.oracle(self.frontier.full_states(unknown), self.rows[unknown.person])
        except QueryBudgetExceeded as stop:
            spent = True
            unqueried.append(unknown.take(~stop.known))
            unknown, favourable = unknown.take(stop.known), stop.answers[stop.known]
            given_up = np.flatnonzero(self.active)
        self._favourable |= dict(zip(unknown.key.tolist(), favourable.tolist(), strict=True))
        self.columns.queries[self.rows] += np.bincount(unknown.person, minlength=len(self.rows))
        if len(given_up):
            unanswered = np.array([key not in self._favourable for key in labels.key.tolist()], bool)
            self._add_points(labels.where(self.up_to_open(labels, unanswered)))
            self.incomplete[given_up] = [bool(self.points[person]) for person in given_up.tolist()]
            without = given_up[~self.incomplete[given_up]]
            self.finish(
                without, Status.NOT_FOUND, self.cheapest_open(without, Labels.join([batches.rest(), *unqueried]))
            )
            self._finish_found(given_up[self.incomplete[given_up]])
        return not spent

    def _add_points(self, labels: TimedLabels) -> None:
        """Add those of the `labels`, in order of preference, that are favourable and shorter than all before them."""
        favourable = np.array([self._favourable.get(key, False) for key in labels.key.tolist()], bool)
        for place in np.flatnonzero(favourable & self.timed.within(labels)).tolist():
            person, makespan = int(labels.person[place]), int(labels.makespan[place])
            if makespan > self.timed.deadline[person] or not self.active[person]:
                continue
            points = self.points[person]
            if points and points[-1].cost[0] == labels.cost[place]:
                points.pop()
            points.append(labels.take(slice(place, place + 1)))
            self.timed.deadline[person] = makespan - 1

    def exhausted(self, people: Ints) -> None:
        """There are no more states for `people`: their fronts are complete, or there is no plan."""
        found = np.array([bool(self.points[person]) for person in people.tolist()], bool)
        self._finish_found(people[found])
        super().exhausted(people[~found])

    def _finish_found(self, people: Ints) -> None:
        """End the search for `people` with the cheapest plan on their fronts."""
        for person in people.tolist():
            label = self.points[person][0]
            row = self.rows[person]
            self.columns.actions[row] = self.frontier.actions(label)[0]
            self.columns.verified[row] = self.columns.optimal[row] = True
        costs = np.array([self.points[person][0].cost[0] for person in people.tolist()], float) * self.unit
        self.finish(people, Status.FOUND, costs)

    def _related(self) -> RelatedColumns:
        """The plans on the fronts of all people but the first: each is the cheapest one of its duration."""
        faster = [label for points in self.points for label in points[1:]]
        count = np.array([max(0, len(points) - 1) for points in self.points], np.intp)
        columns = PlanColumns.empty(len(faster), self.columns.actions.shape[1])
        if faster:
            joined = Labels.join([*faster])
            assert isinstance(joined, TimedLabels)
            columns.actions = self.frontier.actions(joined)
            columns.status = [Status.FOUND] * len(faster)
            columns.verified[:] = columns.optimal[:] = True
            columns.lower_bound = np.asarray(joined.cost * self.unit, float)
            columns.deadlines = Coded.of([from_units(makespan) for makespan in joined.makespan.tolist()])
        return RelatedColumns(count, columns)
