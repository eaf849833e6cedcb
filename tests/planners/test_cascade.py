"""The cascade counts what the model was really asked: a planner that asks again what was just checked pays nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from counterplan import BlackBox, CascadePlanner, ExactPlanner, GuidedPlanner, Planner, Status, benchmarks
from counterplan.planners.base import PlanColumns, PlanningTask

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
