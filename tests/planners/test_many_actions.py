"""Guided planning where there are too many states to enumerate: a hundred actions and more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterplan import BlackBox, ExactPlanner, Plans, Problem, Status
from counterplan.benchmarks import Benchmark
from counterplan.benchmarks.family import ModelKind, NeedleModel, family
from counterplan.planners.guided import GuidedPlanner
from counterplan.planners.uniform_cost import MIN_EXPANSIONS
from counterplan.search.change_sets import ChangeSets
from counterplan.search.frontier import Frontier, Labels
from counterplan.surrogate import acquisition
from counterplan.surrogate.acquisition import GuideSettings
from counterplan.surrogate.active_learning import ActiveLearner, LearningSettings
from counterplan.surrogate.surrogate import Surrogate
from quick import FIT, SCORE_FIT

PEOPLE = 15
SMALL = LearningSettings(budget=900, people=110, plans=80, validation=8, rounds=2, fit=FIT, score_fit=SCORE_FIT)


@dataclass(frozen=True)
class Case:
    """A member of the family, and a surrogate learned for it."""

    member: Benchmark
    surrogate: Surrogate
    queries: int

    def plan(self, settings: GuideSettings | None = None) -> Plans:
        box = BlackBox(self.member.model)
        planner = GuidedPlanner(self.member.problem, box, self.surrogate, settings=settings)
        return planner.plan(self.member.refused_test.head(PEOPLE), refused=True)


@cache
def learned(box: ModelKind) -> Case:
    member = family(20, box, 4, 8, seed=1)
    people = member.problem.read(member.train)
    learning = ActiveLearner(member.problem, people, BlackBox(member.model), SMALL, seed=1)
    return Case(member, learning.run(), learning.queries)


@cache
def planned(box: ModelKind) -> Plans:
    return learned(box).plan()


def solved(plans: Plans) -> np.ndarray:
    return np.array([plan.status is Status.FOUND for plan in plans])


@pytest.mark.parametrize(("box", "success", "asked"), [("needle", 0.95, 2.0), ("network", 0.8, 9.0)])
def test_most_people_are_helped_after_few_questions(box: ModelKind, success: float, asked: float) -> None:
    case = learned(box)
    plans = planned(box)
    assert case.queries <= SMALL.budget
    assert solved(plans).mean() >= success
    assert plans.queries / len(plans) <= asked
    for plan in plans:
        assert plan.queries <= (GuideSettings().max_queries or 0)
        if plan.status is Status.FOUND:
            assert plan.verified
            assert len(plan.steps) <= case.member.problem.max_actions
            assert plan.replay(case.member.problem, BlackBox(case.member.model)).ok


def test_plans_for_a_needle_are_about_as_cheap_as_can_be() -> None:
    case = learned("needle")
    assert isinstance(case.member.model, NeedleModel)
    states = case.member.problem.read(case.member.refused_test.head(PEOPLE)).states
    plans = planned("needle")
    ratio = np.array([plan.cost for plan in plans])[solved(plans)] / case.member.model.optimum(states)[solved(plans)]
    assert ratio.min() >= 1 - 1e-9
    assert ratio.mean() <= 1.02


def test_no_more_steps_are_looked_at_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = learned("network")
    seen: list[Labels] = []
    advance = Frontier.advance

    def watched(frontier: Frontier) -> Labels | None:
        labels = advance(frontier)
        if labels is not None:
            seen.append(labels)
        return labels

    monkeypatch.setattr(Frontier, "advance", watched)
    few = GuideSettings(max_expansions=20_000)
    plans = case.plan(few)
    assert solved(plans).mean() >= 0.7
    limit = 20_000 // len(case.member.problem.transitions)
    counts = np.bincount(np.concatenate([labels.person for labels in seen]))
    assert limit / 2 < counts.max() <= limit


EQUAL = 40
"""Actions of one cost."""


def equal_costs() -> Problem:
    """As many features as actions; every plan of k steps costs k."""
    names = [f"f{i}" for i in range(EQUAL)]
    return Problem.from_dict(
        {
            "counterplan": 1,
            "name": "equal",
            "outcome": {"column": "y", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": 6,
            "features": {name: {"kind": "category", "values": ["a", "b"]} for name in names},
            "functions": {f"SET_{name}": {"set": name, "arguments": ["b"], "cost": 1} for name in names},
        }
    )


def first_four(frame: pd.DataFrame) -> np.ndarray:
    return np.where((frame[["f0", "f1", "f2", "f3"]] == "b").all(axis=1), "yes", "no")


def test_states_of_equal_cost_are_cut_off_where_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = equal_costs()
    people = pd.DataFrame({f"f{i}": ["a"] * 3 for i in range(EQUAL)})
    made = []
    settle = Frontier.settle

    def watched(frontier: Frontier, labels: Labels) -> tuple[Labels, np.ndarray]:
        made.append(len(labels))
        return settle(frontier, labels)

    monkeypatch.setattr(Frontier, "settle", watched)
    few = GuideSettings(max_expansions=100 * len(problem.transitions))
    planner = GuidedPlanner(problem, BlackBox(first_four), lambda s: 3 * s[:, :4].sum(axis=1) - 10.5, settings=few)
    plans = planner.plan(people, refused=True)
    assert sum(made) <= len(people) * 101, "themselves and a hundred states each, not all 780 pairs"
    for plan in plans:
        assert plan.cost == 4
        assert plan.verified
        assert not plan.optimal
        assert plan.lower_bound is not None
        assert plan.lower_bound <= 2, "some states of that cost were not looked at"
    made.clear()
    plans = ExactPlanner(problem, BlackBox(first_four), state_limit=1000).plan(people, refused=True)
    assert max(made) <= len(people) * MIN_EXPANSIONS, "not all 9,880 plans of three steps"
    for plan in plans:
        assert plan.status is Status.NOT_FOUND
        assert plan.queries == 1000
        assert plan.lower_bound == 3


def test_enumeration_alone_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    case = learned("needle")

    def nothing(problem: Any, starts: np.ndarray, *_: Any, **__: Any) -> ChangeSets:
        none = np.empty(0, np.intp)
        return ChangeSets(none, np.empty((0, problem.max_actions), np.intp), np.empty(0), starts[:0], np.empty(0))

    assert solved(planned("needle")).mean() >= 0.95
    monkeypatch.setattr(acquisition, "propose", nothing)
    assert solved(case.plan()).mean() <= 0.5
