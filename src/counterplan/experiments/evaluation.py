"""Evaluate plans independently of the planner: execute each step by step, and query the model at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterplan.blackbox import BlackBox
from counterplan.plans import Plan, Status
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Ints
from counterplan.search.orders import NO_ACTION

HOLDS = "holds"
OUTCOMES = {
    HOLDS: "the plan is legal and its final state is favourable",
    "refused": "the final state of the plan is still unfavourable",
    "illegal": "the preconditions of a step are not met",
    "too_long": "the plan has more steps than max_actions",
    "no_plan": "no plan was returned",
    "proved_none": "infeasibility was proved",
}
"""The outcomes of planning for a person, with a description of each."""

_UNKNOWN = -2


@dataclass(frozen=True)
class Evaluation:
    """The outcome of a plan."""

    outcome: str
    cost: float | None
    """Sum of the costs of the steps by the problem file; None without steps, or if a step is illegal."""
    length: int

    @property
    def success(self) -> bool:
        """Whether the plan is legal step by step, within the limit, and favourable at the end."""
        return self.outcome == HOLDS


def evaluate(problem: Problem, model: object, people: People, plans: Sequence[Plan]) -> list[Evaluation]:
    """Evaluate plans.

    Parameters
    ----------
    problem : Problem
    model : object
        The model, queried through a black box of its own, so that no planner's meter counts these queries.
    people : People
        One person for each plan, all of them refused.
    plans : sequence of Plan

    Returns
    -------
    list of Evaluation
        One for each plan.
    """
    transitions = problem.transitions
    actions = _actions(problem, plans)
    states, cost = people.states, np.zeros(len(plans))
    legal = (actions != _UNKNOWN).all(axis=1)
    for t in range(actions.shape[1]):
        chosen = np.where(actions[:, t] < 0, transitions.stop, actions[:, t])
        states, step_cost, step_legal = transitions.step(states, chosen)
        legal &= step_legal
        cost += step_cost
    nonempty = np.array([bool(plan.steps) for plan in plans], bool)
    ends = np.flatnonzero(nonempty & legal)
    favourable = np.zeros(len(plans), bool)
    if len(ends):
        favourable[ends] = BlackBox(model).session(problem, people)(states[ends], ends)
    return [
        Evaluation(
            _outcome(problem, plan, bool(legal[row]), bool(favourable[row])),
            round(float(cost[row]), 9) if plan.steps and legal[row] else None,
            len(plan.steps),
        )
        for row, plan in enumerate(plans)
    ]


def _actions(problem: Problem, plans: Sequence[Plan]) -> Ints:
    """Action indices [B, T] of plans, padded; an action that the problem does not have is `_UNKNOWN`."""
    by_name = {str(action): action.index for action in problem.transitions.actions}
    longest = max((len(plan.steps) for plan in plans), default=0)
    actions = np.full((len(plans), longest), NO_ACTION, np.intp)
    for row, plan in enumerate(plans):
        actions[row, : len(plan.steps)] = [by_name.get(step.action, _UNKNOWN) for step in plan.steps]
    return actions


def _outcome(problem: Problem, plan: Plan, legal: bool, favourable: bool) -> str:
    if not plan.steps:
        return "proved_none" if plan.status is Status.INFEASIBLE else "no_plan"
    if not legal:
        return "illegal"
    if len(plan.steps) > problem.max_actions:
        return "too_long"
    return HOLDS if favourable else "refused"
