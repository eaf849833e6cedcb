"""The agent's search as a planner: cheapest plan seen in a tree guided by the agent, for very few questions."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplan.agent.agent import Agent
from counterplan.agent.search import SearchSettings, search
from counterplan.blackbox import BlackBox, MeteredOracle
from counterplan.errors import PlanError
from counterplan.planners.base import PlanColumns, Planner, Progress
from counterplan.plans import Status
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools


class AgentPlanner(Planner):
    """A planner that needs a trained agent."""

    def __init__(self, problem: Problem, box: BlackBox | object, agent: Agent) -> None:
        super().__init__(problem, box)
        if agent.problem.fingerprint != problem.fingerprint:
            raise PlanError(f"the agent was trained for another problem ({agent.problem.name}), not for {problem.name}")
        self.agent = agent


class SearchPlanner(AgentPlanner):
    """Monte Carlo tree search guided by an agent; `settings` is a SearchSettings or a preset's name."""

    name: ClassVar[str] = "search"

    def __init__(
        self, problem: Problem, box: BlackBox | object, agent: Agent, *, settings: SearchSettings | str = "default"
    ) -> None:
        super().__init__(problem, box, agent)
        if isinstance(settings, str):
            try:
                settings = SearchSettings.preset(settings)
            except ValueError as error:
                raise PlanError(str(error)) from None
        self.settings = settings

    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> PlanColumns:
        """See `Planner.search`."""
        ask = MeteredOracle(self.box.session(self.problem, people), len(people), known_answers={})
        found = search(self.agent, people.states, allowed, ask, self.settings, budget, progress)
        result = PlanColumns.empty(len(people), self.problem.max_actions)
        solved = np.isfinite(found.cost)
        result.actions, result.queries, result.verified = found.actions, found.questions, solved
        result.status = [Status.FOUND if ok else Status.NOT_FOUND for ok in solved.tolist()]
        return result
