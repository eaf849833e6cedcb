"""The agent alone: at each step the action it finds best, until it says STOP. It asks nothing."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

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
        transitions, longest = self.problem.transitions, self.problem.max_actions
        result = PlanColumns.empty(len(people), longest)
        states, memory = people.states, self.agent.start(len(people))
        going = np.ones(len(people), bool)
        last = np.full(len(people), len(transitions.functions))
        for t in range(longest):
            legal = transitions.legal(states) & allowed & transitions.in_order[last]
            log_policy, _, memory = self.agent(states, memory, legal)
            chance = np.exp(log_policy) * legal
            function = (chance @ self.agent.membership).argmax(axis=1)
            action = np.where(transitions.function_of == function[:, None], chance, -1.0).argmax(axis=1)
            going &= action != transitions.stop
            result.actions[going, t] = action[going]
            last = transitions.function_of[action]
            states = np.where(going[:, None], transitions.apply(states, action), states)
        acted = (result.actions != NO_ACTION).any(axis=1)
        result.status = [Status.FOUND if found else Status.NOT_FOUND for found in acted.tolist()]
        progress(len(people))
        return result
