"""The default planner: what it chooses and why, what it proves, and that it keeps to budgets."""

from __future__ import annotations

import logging
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import (
    AutoPlanner,
    AutoSettings,
    BlackBox,
    ExactPlanner,
    GuideSettings,
    NotFittedError,
    Plan,
    Plans,
    Problem,
    Recourse,
    SettingError,
    Status,
    benchmarks,
)

GERMAN = benchmarks.load("german")
REFUSED = GERMAN.refused_test.head(12)


def random_logit(states: np.ndarray) -> np.ndarray:
    """Arbitrary, but the same for the same state."""
    return np.array([zlib.crc32(state.tobytes()) % 1000 / 100 - 5 for state in states + 0.0])


LEARNED = {"surrogate": lambda: random_logit}


class TimedModel:
    """A benchmark's model with a clock of its own, on which each row takes `seconds`."""

    def __init__(self, seconds: float, decide: Any = GERMAN.model.labels) -> None:
        self.now, self.seconds, self.decide = 0.0, seconds, decide

    def box(self, **options: Any) -> BlackBox:
        return BlackBox(self, clock=lambda: self.now, **options)

    def __call__(self, frame: pd.DataFrame) -> Any:
        self.now += self.seconds * len(frame)
        return self.decide(frame)


def unchecked(plans: Plans) -> list[Plan]:
    """The plans without the name of the model: a `TimedModel` is another one than its benchmark's."""
    return [replace(plan, check=None) for plan in plans]


def auto(box: BlackBox, problem: Problem = GERMAN.problem, *, learned: Any = LEARNED, **options: Any) -> AutoPlanner:
    return AutoPlanner(problem, box, learned=learned, settings=AutoSettings(**options))


def test_fast_models_are_planned_for_by_exact_search() -> None:
    planner = auto(TimedModel(1e-6).box())
    plans = planner.plan(REFUSED)
    assert planner.decision_.planner == "exact"
    assert "plan with exact, which proves its answers" in str(planner.decision_)
    assert planner.decision_.exact_seconds < 0.1
    exact = ExactPlanner(GERMAN.problem, BlackBox(GERMAN.model.labels)).plan(REFUSED)
    assert unchecked(plans) == unchecked(exact)


def test_larger_batches_and_no_scores_have_the_same_plans() -> None:
    people = GERMAN.refused_train.head(150)
    boxes = TimedModel(1e-6).box(), TimedModel(1e-6).box()
    plans = auto(boxes[0], learned={}).plan(people)
    planner = auto(boxes[1], learned={}, batch_size=512, scores=False)
    assert unchecked(planner.plan(people)) == unchecked(plans)
    assert not planner.uses_scores
    assert planner.exact().batch_size == 512
    assert boxes[0].queries == boxes[1].queries
    huge = auto(TimedModel(1e-6).box(), learned={}, batch_size=10**9)
    huge.plan(REFUSED)
    assert huge.exact().batch_size == 64, "their states would not fit into memory"
    for wrong in ({"batch_size": 0}, {"scores": 1}):
        with pytest.raises(SettingError, match="'batch_size'"):
            AutoSettings(**wrong)


def test_slow_models_are_planned_for_by_the_surrogate_and_people_without_a_plan_by_some_exact_search() -> None:
    model = TimedModel(0.5, lambda frame: ["bad"] * len(frame))
    box = model.box()
    planner = auto(box, proof_seconds=20, proof_queries=0)
    plans = planner.plan(REFUSED)
    assert planner.decision_.planner == "guided"
    assert planner.decision_.seconds_per_row == pytest.approx(0.5, rel=0.01)
    assert {plan.status for plan in plans} == {Status.NOT_FOUND}, "nothing is proved"
    assert max(plan.queries for plan in plans) <= 1 + 15 + 40
    assert max(plan.queries for plan in plans) > 30
    model.seconds = 1e-6
    hopeful = auto(model.box(), prefer="guided")
    assert {plan.status for plan in hopeful.plan(REFUSED)} == {Status.INFEASIBLE}, "a proof is cheap here"


def test_nothing_is_passed_on_without_limits_for_it() -> None:
    box = TimedModel(0.5, lambda frame: ["bad"] * len(frame)).box()
    plans = auto(box, proof_seconds=0, proof_queries=0).plan(REFUSED)
    assert max(plan.queries for plan in plans) <= 1 + 15


def test_without_anything_learned() -> None:
    slow = auto(TimedModel(1.0).box(), learned={})
    with pytest.raises(NotFittedError, match=r"a query takes 1\.0 s and a person has about [\d,]+ or more states.*fit"):
        slow.plan(GERMAN.test)
    assert slow.box.queries <= 64, "it is noticed before everybody is queried"
    assert auto(TimedModel(1.0).box(), learned={}).plan(GERMAN.test.head(40), budget=3).counts["found"] >= 0
    medium = auto(TimedModel(0.001).box(), learned={}, cheap_seconds=0.001)
    assert medium.plan(REFUSED).counts["found"] == len(REFUSED)
    assert "affordable" in str(medium.decision_)
    medium.expect(1_000_000)
    with pytest.raises(NotFittedError, match="for 1,000,000 people"):
        medium.plan(REFUSED)


def test_people_known_to_be_refused_and_cached_answers() -> None:
    model = TimedModel(0.5)
    box = model.box()
    planner = auto(box)
    first = planner.plan(REFUSED, refused=True)
    assert planner.decision_.planner == "guided"
    assert box.queries < 80 * len(REFUSED)
    later = model.box()
    later.add_to_cache(GERMAN.problem, box.cached_answers(GERMAN.problem))
    later.seconds_per_row = box.seconds_per_row
    assert auto(later).plan(REFUSED, refused=True).plans == first.plans
    assert later.queries == 0
    complete = BlackBox(GERMAN.model.labels)
    ExactPlanner(GERMAN.problem, complete).plan(REFUSED)
    unmeasured = model.box()
    unmeasured.add_to_cache(GERMAN.problem, complete.cached_answers(GERMAN.problem))
    planner = auto(unmeasured, learned={})
    assert planner.plan(REFUSED).counts["found"] == len(REFUSED)
    assert unmeasured.queries == 0
    assert "cached" in str(planner.decision_)


def test_the_choice_can_be_fixed_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "counterplan"):
        planner = auto(TimedModel(10.0).box(), prefer="exact")
        plans = planner.plan(REFUSED)
    assert "auto: exact planning is preferred" in caplog.text
    assert unchecked(plans) == unchecked(ExactPlanner(GERMAN.problem, BlackBox(GERMAN.model.labels)).plan(REFUSED))
    fast = auto(TimedModel(0.0).box(), prefer="guided")
    fast.plan(REFUSED)
    assert fast.decision_.planner == "guided"
    priced = AutoPlanner(GERMAN.problem, GERMAN.model, learned=LEARNED, guide=GuideSettings(min_gain=1e9))
    priced.plan(REFUSED)
    assert priced.decision_.planner == "guided"
    assert priced.box.queries < 20 * len(REFUSED), "nobody is passed on"


@pytest.mark.parametrize(
    "wrong",
    [
        {"prefer": "search"},
        {"cheap_seconds": -1},
        {"proof_seconds": float("nan")},
        {"affordable_seconds": "1"},
        {"proof_queries": 2.5},
        {"sample": 0},
    ],
)
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=f"'{next(iter(wrong))}'"):
        AutoSettings(**wrong)


def test_it_is_the_default() -> None:
    recourse = Recourse(GERMAN.problem, GERMAN.model)
    assert recourse.planner().name == "auto"
    assert recourse.recommend(REFUSED).plans == recourse.recommend(REFUSED, "exact").plans


@settings(max_examples=12)
@given(st.data())
def test_in_random_worlds(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    people = data.draw(worlds.people(problem))
    model = data.draw(worlds.black_boxes(problem))
    seconds = data.draw(st.sampled_from([1e-6, 1e-3, 1.0]))
    exact = ExactPlanner(problem, BlackBox(model)).plan(people)
    same = auto(TimedModel(seconds, model).box(), problem, prefer="exact").plan(people)
    assert unchecked(same) == unchecked(exact)
    budget = data.draw(st.none() | st.integers(2, 8))
    limits = data.draw(st.sampled_from([{}, {"proof_seconds": 0, "proof_queries": 2}, {"prefer": "guided"}]))
    learned = data.draw(st.sampled_from([LEARNED, {}])) if budget or limits != {"prefer": "guided"} else LEARNED
    planner = auto(TimedModel(seconds, model).box(), problem, learned=learned, **limits)
    for best, plan in zip(exact, planner.plan(people, budget=budget), strict=True):
        assert budget is None or plan.queries <= budget
        assert plan.replay(problem, BlackBox(model)).ok
        assert plan.status in (best.status, Status.NOT_FOUND), "nobody is called infeasible without a proof"
        if plan.status is Status.FOUND:
            assert plan.verified
            assert plan.cost >= best.cost - 1e-9
            assert not plan.optimal or plan.cost == pytest.approx(best.cost)
        elif plan.status is Status.NOT_FOUND and plan.lower_bound is not None and best.steps:
            assert plan.lower_bound <= best.cost + 1e-9
