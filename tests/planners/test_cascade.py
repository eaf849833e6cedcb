"""The cascade counts what the model was really asked: a planner that asks again what was just checked pays nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from counterplan import BlackBox, CascadePlanner, ExactPlanner, GuidedPlanner, Planner, Status, benchmarks
from counterplan.planners.base import NOT_WEIGHTED, PlanColumns, PlanningTask

GERMAN = benchmarks.load("german")
PEOPLE = GERMAN.refused_test.assign(number=range(len(GERMAN.refused_test)))
"""Each with a number that the model sees, so that no two people share a question."""


def decide(people: pd.DataFrame) -> np.ndarray:
    return GERMAN.model.labels(people.drop(columns="number"))


class Hopeful(Planner):
    """Takes everybody's cheapest action for a plan."""

    name = "hopeful"

    def search(self, task: PlanningTask) -> PlanColumns:
        transitions, people = self.problem.transitions, task.people
        possible = transitions.legal(people.states) & task.allowed
        possible[:, transitions.stop] = False
        cost = np.where(possible, transitions.cost(people.states), np.inf)
        result = PlanColumns.empty(len(people), self.problem.max_actions)
        result.actions[:, 0] = cost.argmin(axis=1)
        result.status = [Status.FOUND] * len(people)
        return result


@pytest.mark.parametrize("refused", [True, False])
@pytest.mark.parametrize("last", ["guided", "exact", "both"])
def test_what_was_checked_is_not_counted_again(last: str, refused: bool) -> None:
    box = BlackBox(decide)
    guided = GuidedPlanner(GERMAN.problem, box, lambda states: np.zeros(len(states)))
    exact = ExactPlanner(GERMAN.problem, box)
    parts = {"guided": [guided], "exact": [exact], "both": [guided, exact]}[last]
    plans = CascadePlanner(GERMAN.problem, box, [Hopeful(GERMAN.problem, box), *parts]).plan(PEOPLE, refused=refused)
    assert box.cached > 0, "something was asked again"
    assert sum(plan.queries for plan in plans) == plans.queries == box.queries


class Cautious(Hopeful):
    """Doubts its plans, and ignores cost weights."""

    def search(self, task: PlanningTask) -> PlanColumns:
        result = super().search(task)
        result.add_caution("It may fail.")
        if task.weights is not None:
            result.add_caution(NOT_WEIGHTED)
        return result


def test_a_verified_plan_says_that_it_ignores_cost_weights_and_no_longer_that_it_may_fail() -> None:
    box = BlackBox(decide)
    exact = ExactPlanner(GERMAN.problem, box)
    cascade = CascadePlanner(GERMAN.problem, box, [Cautious(GERMAN.problem, box), exact])
    weights = np.full((len(PEOPLE), len(GERMAN.problem.transitions)), 2.0)
    plans = cascade.plan(PEOPLE, weights=weights)
    assert {plan.caution for plan in plans if plan.verified} == {"", NOT_WEIGHTED}
    for row, plan in enumerate(plans):
        assert plans.cautions[row] == plan.caution == ("" if plan.optimal else NOT_WEIGHTED) or not plan.steps
        text = " ".join(plans[row : row + 1].to_text().split())
        assert (NOT_WEIGHTED in text) == bool(plan.caution)
        assert "might" not in text
    assert NOT_WEIGHTED in plans.to_csv()
    assert {plan.caution for plan in cascade.plan(PEOPLE)} == {""}
    Cautious.uses_weights = False
    assert all(plan.optimal for plan in cascade.plan(PEOPLE, weights=weights)), "others plan with the weights"
    Cautious.uses_weights = True
    unverified = cascade.plan(PEOPLE, weights=weights, budget=0)
    assert {plan.caution for plan in unverified} == {f"It may fail. {NOT_WEIGHTED}"}
