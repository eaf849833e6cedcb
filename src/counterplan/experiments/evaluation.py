"""Whether plans hold, found out apart from whoever made them: walked step by step, and the model asked at the end."""

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
    HOLDS: "the plan holds",
    "refused": "the model still says no at its end",
    "illegal": "a step is not possible when its turn comes",
    "too_long": "the plan has more steps than the problem allows",
    "no_plan": "no plan was given",
    "proved_none": "it was proved that there is no plan",
}
"""How planning for a person can end, and what that means."""

_UNKNOWN = -2


@dataclass(frozen=True)
class Verdict:
    """What became of a plan."""

    outcome: str
    cost: float | None
    """The effort of its steps, by the problem's own rules; None if there are none, or one is not possible."""
    length: int

    @property
    def success(self) -> bool:
        """Legal step by step, within the limit, and favourable at the end."""
        return self.outcome == HOLDS


def judge(problem: Problem, model: object, people: People, plans: Sequence[Plan]) -> list[Verdict]:
    """What becomes of the plans of `people`, who are all refused; questions are asked outside any planner's meter."""
    transitions = problem.transitions
    actions = _actions(problem, plans)
    states, cost = people.states, np.zeros(len(plans))
    legal = (actions != _UNKNOWN).all(axis=1)
    rows = np.arange(len(plans))
    for t in range(actions.shape[1]):
        chosen = np.where(actions[:, t] < 0, transitions.stop, actions[:, t])
        legal &= transitions.legal(states)[rows, chosen]
        cost += transitions.cost(states)[rows, chosen]
        states = transitions.apply(states, chosen)
    given = np.array([bool(plan.steps) for plan in plans], bool)
    ends = np.flatnonzero(given & legal)
    favourable = np.zeros(len(plans), bool)
    if len(ends):
        favourable[ends] = BlackBox(model).session(problem, people)(states[ends], ends)
    return [
        Verdict(
            _outcome(problem, plan, bool(legal[row]), bool(favourable[row])),
            round(float(cost[row]), 9) if plan.steps and legal[row] else None,
            len(plan.steps),
        )
        for row, plan in enumerate(plans)
    ]


def _actions(problem: Problem, plans: Sequence[Plan]) -> Ints:
    """The actions [B, T] of plans by number, filled up; one that the problem does not have is unknown."""
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
