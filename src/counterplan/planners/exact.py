"""The exact planner: uniform-cost search for the cheapest plan, or a proof that there is none."""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

import numpy as np

from counterplan.blackbox import BlackBox
from counterplan.errors import SettingError
from counterplan.personal.alternative_search import NoChances, QueryLimits
from counterplan.planners.alternatives import MAX_STATES, OracleRecord, known_answers, search_alternatives
from counterplan.planners.base import PlanColumns, Planner, PlanningTask, is_whole
from counterplan.planners.front_search import FrontSearch
from counterplan.planners.objective_search import ObjectiveSearch, Oracle
from counterplan.planners.task import no_progress
from counterplan.planners.uniform_cost import UniformCostSearch
from counterplan.plans import RobustnessColumns, Status
from counterplan.problem import Problem
from counterplan.problem.transitions import Ints
from counterplan.search.orders import rollout
from counterplan.search.timed_frontier import TimedFrontier, open_frontier

STATE_LIMIT = 1_000_000
BATCH_SIZE = 64
"""People searched for at the same time."""


class ExactPlanner(Planner):
    """Find the cheapest legal plan within `max_actions`, or prove that none exists.

    Ties are broken by fewer steps, then by file order of the actions. Beyond `state_limit`, or when the budget is
    spent, the status is `not_found`, with the lower bound on the cost that was proved. With a survival goal, the plan
    with the best objective is searched for once the cheapest one is known. With a deadline, all of this applies to the
    plans within it; of equal cost and number of steps, the shorter one is preferred.

    Parameters
    ----------
    problem : Problem
        The problem to plan for.
    box : BlackBox or model
        The model that is queried about each state in order of cost.
    state_limit : int, default=1_000_000
        Most states queried, and, with a survival goal, most states enumerated, for one person.
    batch_size : int, default=64
        People searched for at the same time.
    scores : bool, default=False
        Whether to obtain the model's scores, if it gives any. They are not used, but a later `fit` learns from cached
        answers only if these have scores.

    Raises
    ------
    SettingError
        If a parameter is not a positive integer.

    Examples
    --------
    >>> from counterplan import ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> planner = ExactPlanner(german.problem, german.model)
    >>> plans = planner.plan(german.refused_test.head(3))
    >>> plans.costs, plans.optimal
    (array([10., 20.,  5.]), array([ True,  True,  True]))
    """

    name: ClassVar[str] = "exact"
    uses_survival: ClassVar[bool] = True
    uses_alternatives: ClassVar[bool] = True
    uses_deadline: ClassVar[bool] = True
    finds_fronts: ClassVar[bool] = True

    def __init__(
        self,
        problem: Problem,
        box: BlackBox | object,
        *,
        state_limit: int = STATE_LIMIT,
        batch_size: int = BATCH_SIZE,
        scores: bool = False,
    ) -> None:
        super().__init__(problem, box)
        if not is_whole(state_limit, 1) or not is_whole(batch_size, 1):
            raise SettingError(
                f"'state_limit' and 'batch_size' must be integers, 1 or more; not {state_limit!r} and {batch_size!r}"
            )
        self.state_limit = state_limit
        self.batch_size = batch_size
        self.scores = scores

    @property
    def uses_scores(self) -> bool:
        """Whether scores are obtained: if required, or if survival is estimated by them."""
        return self.scores or (self.survival is not None and self.survival.source == "margin")

    @property
    def chunk_size(self) -> int:
        """See `Planner.chunk_size`."""
        return self.batch_size

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        columns = PlanColumns.empty(len(task), self.problem.max_actions)
        oracle = self.box.session(self.problem, task.people, scores=self.uses_scores)
        max_queries = self.state_limit if task.budget is None else min(task.budget, self.state_limit)
        has_stages = task.goal is not None or task.alternatives is not None
        for first in range(0, len(task), self.batch_size):
            rows = np.arange(first, min(first + self.batch_size, len(task)))
            weights = None if task.weights is None else task.weights[rows]
            starts, allowed = task.people.states[rows], task.allowed[rows]
            if task.pareto:
                deadline = math.inf if task.deadline is None else task.deadline
                timed = TimedFrontier(self.problem, starts, allowed, weights, deadline=deadline, every_duration=True)
                FrontSearch(timed, oracle, rows, max_queries, columns, task.progress).run()
                continue
            frontier = open_frontier(self.problem, starts, allowed, weights, task.deadline)
            progress = no_progress if has_stages else task.progress
            recording = OracleRecord(oracle)
            recording.record(starts, rows, np.zeros(len(rows), bool))
            first_oracle = oracle if task.alternatives is None else recording
            UniformCostSearch(frontier, first_oracle, rows, max_queries, columns, progress).run()
            if task.goal is not None:
                self._improve(task, rows, oracle, max_queries, columns)
            if task.alternatives is not None:
                search_alternatives(
                    *(self.problem, task, rows, columns, partial(known_answers, oracle)),
                    lambda people: NoChances(),
                    QueryLimits(),
                    max_states=min(self.state_limit, MAX_STATES),
                    max_queries=max_queries,
                    known=recording.known,
                )
            if has_stages:
                task.progress(len(rows))
        return columns

    def _improve(self, task: PlanningTask, rows: Ints, oracle: Oracle, max_queries: int, columns: PlanColumns) -> None:
        """Replace the cheapest plans of `rows` by those with the best value of the survival goal."""
        assert task.goal is not None
        rows = rows[[columns.status[row] is Status.FOUND for row in rows.tolist()]]
        if not len(rows):
            return
        objective = task.goal.objective(self.problem, task.people)
        weights = None if task.weights is None else task.weights[rows]
        starts, least = task.people.states[rows], columns.lower_bound[rows]
        search = ObjectiveSearch(
            open_frontier(self.problem, starts, task.allowed[rows], weights, task.deadline),
            objective,
            oracle,
            rows,
            least,
            max_states=self.state_limit,
            max_queries=np.maximum(max_queries - columns.queries[rows], 0),
            estimates_are_queries=task.goal.estimator.sends_queries,
        )
        ends = rollout(self.problem.transitions, starts, columns.actions[rows])[0]
        chance = objective.chance(ends, rows)
        search.run(chance)
        columns.queries[rows] += search.queries
        robustness = columns.robustness or RobustnessColumns.empty(len(columns))
        robustness.cheapest_cost[rows], robustness.cheapest_survival[rows] = least, chance
        robustness.cheapest_verified[rows] = True
        robustness.proved[rows] = search.proved
        columns.robustness = robustness
        for place in np.flatnonzero(search.improved).tolist():
            label = search.best[place]
            assert label is not None
            columns.actions[rows[place]] = search.frontier.actions(label)[0]
            columns.optimal[rows[place]] = label.cost[0] * search.frontier.unit <= least[place]
