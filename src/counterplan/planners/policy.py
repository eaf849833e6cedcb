"""The agent alone: at each step the action it finds best, until it says STOP. It asks nothing."""

from __future__ import annotations

from typing import ClassVar

from counterplan.agent.rollout import greedy, rollout
from counterplan.planners.base import PlanColumns, Progress
from counterplan.planners.search import AgentPlanner
from counterplan.plans import Status
from counterplan.problem import People
from counterplan.problem.transitions import Bools
from counterplan.search.orders import NO_ACTION


class PolicyPlanner(AgentPlanner):
    """First the agent's favourite function, then its favourite argument; the plan is not checked with the black box.

    An agent that stops at once has no plan to give; one that never stops is stopped after `max_actions`.
    """

    name: ClassVar[str] = "policy"

    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> PlanColumns:
        """See `Planner.search`."""
        result = PlanColumns.empty(len(people), self.problem.max_actions)
        result.actions = rollout(self.agent, people.states, allowed, greedy(self.agent)).actions
        acted = (result.actions != NO_ACTION).any(axis=1)
        result.status = [Status.FOUND if found else Status.NOT_FOUND for found in acted.tolist()]
        progress(len(people))
        return result
