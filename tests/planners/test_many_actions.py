"""Guided planning where there are too many states to enumerate: a hundred actions and more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from counterplan import BlackBox, Plans, Status
from counterplan.benchmarks import Benchmark
from counterplan.benchmarks.family import Box, Needle, family
from counterplan.paths.frontier import Frontier, Labels
from counterplan.paths.sets import Candidates
from counterplan.planners.guided import GuidedPlanner
from counterplan.surrogate import asking
from counterplan.surrogate.asking import GuideSettings
from counterplan.surrogate.surrogate import Surrogate
from counterplan.surrogate.training import Learning, LearningSettings

PEOPLE = 25
SMALL = LearningSettings(budget=1_200, people=150, plans=100, validation=12, rounds=2)


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
def learned(box: Box) -> Case:
    member = family(20, box, 4, 8, seed=1)
    people = member.problem.read(member.train)
    learning = Learning(member.problem, people, BlackBox(member.model), SMALL, seed=1)
    return Case(member, learning.run(), learning.queries)


@cache
def planned(box: Box) -> Plans:
    return learned(box).plan()


def solved(plans: Plans) -> np.ndarray:
    return np.array([plan.status is Status.FOUND for plan in plans])


@pytest.mark.parametrize(("box", "success", "asked"), [("needle", 0.95, 2.0), ("network", 0.8, 9.0)])
def test_most_people_are_helped_after_few_questions(box: Box, success: float, asked: float) -> None:
    case = learned(box)
    plans = planned(box)
    assert case.queries <= SMALL.budget
    assert solved(plans).mean() >= success
    assert plans.queries / len(plans) <= asked
    for plan in plans:
        assert plan.questions <= (GuideSettings().questions or 0)
        if plan.status is Status.FOUND:
            assert plan.verified
            assert len(plan.steps) <= case.member.problem.max_actions
            assert plan.replay(case.member.problem, BlackBox(case.member.model)).ok


def test_plans_for_a_needle_are_about_as_cheap_as_can_be() -> None:
    case = learned("needle")
    assert isinstance(case.member.model, Needle)
    states = case.member.problem.read(case.member.refused_test.head(PEOPLE)).states
    plans = planned("needle")
    ratio = np.array([plan.cost for plan in plans])[solved(plans)] / case.member.model.optimum(states)[solved(plans)]
    assert ratio.min() >= 1 - 1e-9
    assert ratio.mean() <= 1.02


def test_no_more_steps_are_looked_at_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = learned("network")
    seen: list[Labels] = []
    largest = []
    advance = Frontier.advance

    def watched(frontier: Frontier) -> Labels | None:
        labels = advance(frontier)
        if labels is not None:
            seen.append(labels)
            largest.append(np.bincount(labels.person).max())
        return labels

    monkeypatch.setattr(Frontier, "advance", watched)
    few = GuideSettings(steps=20_000)
    plans = case.plan(few)
    assert solved(plans).mean() >= 0.7
    limit = 20_000 // len(case.member.problem.transitions)
    counts = np.bincount(np.concatenate([labels.person for labels in seen]))
    assert counts.max() <= limit + max(largest), "a bucket is finished, but no other is begun"


def test_enumeration_alone_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    case = learned("needle")

    def nothing(problem: Any, starts: np.ndarray, *_: Any, **__: Any) -> Candidates:
        none = np.empty(0, np.intp)
        return Candidates(none, np.empty((0, problem.max_actions), np.intp), np.empty(0), starts[:0], np.empty(0))

    assert solved(planned("needle")).mean() >= 0.95
    monkeypatch.setattr(asking, "propose", nothing)
    assert solved(case.plan()).mean() <= 0.5
