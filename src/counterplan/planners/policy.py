"""The agent's policy without search or queries: the most probable action at each step, until STOP."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplan.planners.base import NOT_WEIGHTED, PlanColumns, PlanningTask
from counterplan.planners.search import AgentPlanner
from counterplan.plans.plan import Status
from counterplan.search.orders import NO_ACTION


class PolicyPlanner(AgentPlanner):
    """Greedy policy of an agent: first the most probable function, then its most probable argument.

    Makes no query; plans are not verified, and do not depend on cost weights. If the policy stops immediately, there is
    no plan; plans end after `max_actions` at the latest.

    Parameters
    ----------
    problem : Problem
    box : BlackBox or model
    agent : Agent
    """

    name: ClassVar[str] = "policy"

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        transitions, max_actions = self.problem.transitions, self.problem.max_actions
        people = task.people
        columns = PlanColumns.empty(len(people), max_actions)
        states, memory = people.states, self.agent.start(len(people))
        unfinished = np.ones(len(people), bool)
        last = np.full(len(people), len(transitions.functions))
        for t in range(max_actions):
            legal = transitions.legal(states) & task.allowed & transitions.in_order[last]
            log_policy, _, memory = self.agent(states, memory, legal)
            probability = np.exp(log_policy) * legal
            function = (probability @ self.agent.membership).argmax(axis=1)
            action = np.where(transitions.function_of == function[:, None], probability, -1.0).argmax(axis=1)
            unfinished &= action != transitions.stop
            columns.actions[unfinished, t] = action[unfinished]
            last = transitions.function_of[action]
            states = np.where(unfinished[:, None], transitions.apply(states, action), states)
        found = (columns.actions != NO_ACTION).any(axis=1)
        columns.status = [Status.FOUND if one else Status.NOT_FOUND for one in found.tolist()]
        if task.weights is not None:
            columns.add_caution(NOT_WEIGHTED)
        task.progress(len(people))
        return columns
