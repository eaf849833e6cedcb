"""The agent's policy without search or queries: the most probable action at each step, until STOP."""

from __future__ import annotations

from typing import ClassVar

from counterplan.agent.rollout import greedy, policy_plans
from counterplan.planners.base import NOT_WEIGHTED, PlanColumns, PlanningTask
from counterplan.planners.search import AgentPlanner
from counterplan.plans import Status
from counterplan.search.orders import NO_ACTION


class PolicyPlanner(AgentPlanner):
    """Find plans without queries, by the policy of a trained agent.

    Each step is the most probable function with its most probable argument. Plans are not verified, and do not depend
    on cost weights. If the policy stops immediately, there is no plan; plans end after `max_actions` at the latest.
    `Recourse.fit` with ``method="search"`` trains the agent, and `Recourse.recommend` with the planner "policy" uses
    it; the example has an untrained one.

    Parameters
    ----------
    problem : Problem
        The problem to plan for.
    box : BlackBox or model
        The model, which is queried about people as they are, unless they are known to be refused.
    agent : Agent
        Must have been trained for the same problem.
    settings : SearchSettings or str, optional
        Settings of a search whose rules apply, or the name of a preset. Default: the preset that the agent was trained
        with. With "paper", actions may have any order, and people whose plan reaches `max_actions` without STOP get
        none.

    Raises
    ------
    SettingError
        If there is no such preset, or the agent is for another problem.

    Examples
    --------
    >>> import numpy as np
    >>> from counterplan import PolicyPlanner, benchmarks
    >>> from counterplan.agent import Agent, NetworkConfig
    >>> german = benchmarks.load("german")
    >>> people = german.problem.read(german.refused_test.head(3))
    >>> random = np.random.default_rng(0)
    >>> agent = Agent.new(german.problem, people, NetworkConfig(16, 16), random)
    >>> PolicyPlanner(german.problem, german.model, agent).plan(people).verified
    array([False, False, False])
    """

    name: ClassVar[str] = "policy"
    uses_weights: ClassVar[bool] = False

    @property
    def chunk_size(self) -> int:
        """See `Planner.chunk_size`."""
        return self.problem.transitions.rows_at_once

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        people, size = task.people, self.problem.transitions.rows_at_once
        columns = PlanColumns.empty(len(people), self.problem.max_actions)
        for first in range(0, len(people), size):
            rows = slice(first, first + size)
            columns.actions[rows] = policy_plans(
                self.agent, people.states[rows], task.allowed[rows], greedy(self.agent), self.settings.tree
            )
        found = (columns.actions != NO_ACTION).any(axis=1)
        columns.status = [Status.FOUND if one else Status.NOT_FOUND for one in found.tolist()]
        if task.weights is not None:
            columns.add_caution(NOT_WEIGHTED)
        task.progress(len(people))
        return columns
