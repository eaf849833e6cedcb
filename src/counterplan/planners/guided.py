"""The guided planner: states in order of cost, and a surrogate that selects the queries."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplan.blackbox import BlackBox, MeteredOracle
from counterplan.planners.alternatives import add_alternatives
from counterplan.planners.base import PlanColumns, Planner, PlanningTask
from counterplan.plans import RobustnessColumns, Status
from counterplan.problem import Problem
from counterplan.search.change_sets import Hints
from counterplan.surrogate.acquisition import GuideSettings, Logit, guide
from counterplan.surrogate.surrogate import Surrogate

_LABELS_GAIN = 0.01
"""`min_relative_gain` for surrogates of decisions, which are less certain: more queries pay."""


class GuidedPlanner(Planner):
    """Find cheap plans with few queries: a surrogate chooses which state to query next.

    The next query is about the state with the least cost plus expected cost of further queries. Planning ends when no
    query is worth its cost.

    A surrogate models the black box, not the actions: one that was fitted for other costs, actions or limits over the
    same features and outcome serves as well. A wrong surrogate costs queries, never correctness. With a budget of 0,
    the cheapest state that the surrogate is confident of is accepted, and the plan is not `verified`. With a survival
    goal, its objective takes the place of the cost.

    Parameters
    ----------
    problem : Problem
        The problem to plan for.
    box : BlackBox or model
        The model that is queried about the selected states.
    surrogate : Surrogate or callable
        A surrogate fitted on the same features and outcome, or a function that returns the log odds [n] of states
        [n, F].
    settings : GuideSettings, optional
        The default has a `min_relative_gain` of 0.01 if the surrogate was not fitted to scores.

    Raises
    ------
    SettingError
        If the surrogate was fitted on other features or another outcome.

    Examples
    --------
    >>> from counterplan import GuidedPlanner, Scorecard, benchmarks
    >>> from counterplan.scorecard import CardFeature
    >>> german = benchmarks.load("german")
    >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
    >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
    >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
    >>> planner = GuidedPlanner(german.problem, german.model, card.logit)
    >>> plans = planner.plan(german.refused_test.iloc[[0, 2]])
    >>> plans.costs, plans.queries_per_person
    (array([10.,  5.]), array([9, 3]))
    """

    name: ClassVar[str] = "guided"
    requires: ClassVar[tuple[str, ...]] = ("surrogate",)
    uses_survival: ClassVar[bool] = True
    uses_alternatives: ClassVar[bool] = True
    uses_deadline: ClassVar[bool] = True

    def __init__(
        self,
        problem: Problem,
        box: BlackBox | object,
        surrogate: Surrogate | Logit,
        *,
        settings: GuideSettings | None = None,
    ) -> None:
        super().__init__(problem, box)
        self.surrogate = surrogate.with_problem(problem) if isinstance(surrogate, Surrogate) else surrogate
        default = GuideSettings() if self.uses_scores else GuideSettings(min_relative_gain=_LABELS_GAIN)
        self.settings = settings or default

    @property
    def uses_scores(self) -> bool:
        """Whether the surrogate was fitted to scores."""
        return isinstance(self.surrogate, Surrogate) and self.surrogate.link is not None

    @property
    def chunk_size(self) -> int:
        """See `Planner.chunk_size`."""
        return self.settings.people_at_once(self.problem)

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        people, surrogate = task.people, self.surrogate
        session = self.box.session(self.problem, people, scores=self.uses_scores)
        outcome = guide(
            self.problem,
            people.states,
            task.allowed,
            surrogate.logit if isinstance(surrogate, Surrogate) else surrogate,
            MeteredOracle(session, len(people), known_answers={}),
            self.settings,
            budget=task.budget,
            cost_weights=task.weights,
            errors=surrogate.errors if isinstance(surrogate, Surrogate) else None,
            link=surrogate.link if isinstance(surrogate, Surrogate) else None,
            hints=self._hints(),
            objective=None if task.goal is None else task.goal.objective(self.problem, people),
            alternatives=task.alternatives,
            deadline=task.deadline,
            progress=task.progress,
        )
        columns = PlanColumns.empty(len(people), self.problem.max_actions)
        columns.actions, columns.queries, columns.verified = outcome.actions, outcome.queries, outcome.verified
        columns.lower_bound = outcome.lower_bound
        solved = np.isfinite(outcome.cost)
        columns.optimal = outcome.verified & (outcome.lower_bound >= outcome.cost)
        infeasible = ~solved & np.isinf(outcome.lower_bound)
        kinds = np.select([solved, infeasible], [0, 1], 2).tolist()
        columns.status = [(Status.FOUND, Status.INFEASIBLE, Status.NOT_FOUND)[kind] for kind in kinds]
        if outcome.alternatives is not None:
            rows = np.flatnonzero(solved)
            found = [outcome.alternatives[row] for row in rows.tolist()]
            add_alternatives(columns, rows, found, outcome.incomplete[rows], verified=task.budget != 0)
        if task.goal is not None:
            columns.robustness = RobustnessColumns.empty(len(people))
            known = solved & np.isfinite(outcome.least)
            columns.robustness.cheapest_cost[known] = outcome.least[known]
            columns.robustness.cheapest_survival[known] = outcome.least_chance[known]
            columns.robustness.cheapest_verified = columns.verified & (outcome.cost <= outcome.least)
        return columns

    def _hints(self) -> Hints | None:
        """The hints of the surrogate, if it has any."""
        return self.surrogate.hints if isinstance(self.surrogate, Surrogate) else None
