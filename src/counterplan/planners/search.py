"""Tree search with an agent as a planner."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplan.agent.agent import Agent
from counterplan.agent.search import SearchSettings, search
from counterplan.blackbox import BlackBox, MeteredOracle
from counterplan.errors import SettingError
from counterplan.planners.base import PlanColumns, Planner, PlanningTask
from counterplan.plans import Status
from counterplan.problem import Problem


class AgentPlanner(Planner):
    """Base class of planners with a trained agent, and with `settings` of a search: by default, those of its preset."""

    requires: ClassVar[tuple[str, ...]] = ("agent",)

    def __init__(
        self, problem: Problem, box: BlackBox | object, agent: Agent, *, settings: SearchSettings | str | None = None
    ) -> None:
        super().__init__(problem, box)
        if agent.problem.fingerprint != problem.fingerprint:
            raise SettingError(
                f"the agent was trained for another problem ({agent.problem.name}), not for {problem.name}; train it "
                "again"
            )
        self.agent = agent
        settings = agent.preset if settings is None else settings
        self.settings = SearchSettings.preset(settings) if isinstance(settings, str) else settings


class SearchPlanner(AgentPlanner):
    """Find verified plans by Monte Carlo tree search with a trained agent.

    The plan is the cheapest verified one in the tree. `Recourse.fit` with ``method="search"`` trains the agent, and
    `Recourse.recommend` with the planner "search" uses it; the example has an untrained one.

    Parameters
    ----------
    problem : Problem
        The problem to plan for.
    box : BlackBox or model
        The model that is queried about the ends of promising plans.
    agent : Agent
        Must have been trained for the same problem.
    settings : SearchSettings or str, optional
        Settings, or the name of a preset: "default" or "paper". Default: the preset that the agent was trained with.

    Raises
    ------
    SettingError
        If there is no such preset, or the agent is for another problem.

    Examples
    --------
    >>> import numpy as np
    >>> from counterplan import SearchPlanner, benchmarks
    >>> from counterplan.agent import Agent, NetworkConfig
    >>> german = benchmarks.load("german")
    >>> people = german.problem.read(german.refused_test.head(3))
    >>> random = np.random.default_rng(0)
    >>> agent = Agent.new(german.problem, people, NetworkConfig(16, 16), random)
    >>> SearchPlanner(german.problem, german.model, agent).plan(people).verified
    array([False, False,  True])
    """

    name: ClassVar[str] = "search"

    @property
    def chunk_size(self) -> int:
        """See `Planner.chunk_size`."""
        return self.settings.batch_size

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        columns = PlanColumns.empty(len(task), self.problem.max_actions)
        for first in range(0, len(task), self.chunk_size):
            rows = np.arange(first, min(first + self.chunk_size, len(task)))
            columns.put(rows, self._search_batch(task.take(rows)))
        return columns

    def _search_batch(self, task: PlanningTask) -> PlanColumns:
        """Plans of people whose trees grow at the same time; a state that two of them query counts once."""
        people = task.people
        oracle = MeteredOracle(self.box.session(self.problem, people), len(people), known_answers={})
        outcome = search(
            self.agent,
            people.states,
            task.allowed,
            oracle,
            self.settings,
            task.budget,
            cost_weights=task.weights,
            progress=task.progress,
        )
        columns = PlanColumns.empty(len(people), self.problem.max_actions)
        columns.actions, columns.queries, columns.verified = outcome.actions, outcome.queries, outcome.verified
        solved = np.isfinite(outcome.cost)
        columns.status = [Status.FOUND if found else Status.NOT_FOUND for found in solved.tolist()]
        return columns
