"""Plans within a deadline, and fronts of cost and duration, against an enumeration of every sequence."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from brute_force import DECIMALS, every_plan, front_of, indices
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import worlds
from counterplan import (
    BlackBox,
    ExactPlanner,
    GuidedPlanner,
    PlanError,
    Plans,
    Problem,
    Recourse,
    SettingError,
    benchmarks,
)
from counterplan.planners import CascadePlanner
from counterplan.planners.base import PlanColumns, Planner, PlanningTask
from counterplan.plans import Status
from counterplan.plans.time_text import when_text
from counterplan.search.schedule import schedule
from counterplan.surrogate.acquisition import GuideSettings

MOST_ACTIONS = 12
"""Larger problems are left out: an enumeration of every sequence would take too long."""


def draw_world(data: st.DataObject) -> tuple[Problem, BlackBox]:
    problem = data.draw(worlds.timed_problems())
    assume(len(problem.transitions) ** problem.max_actions <= MOST_ACTIONS**3)
    return problem, BlackBox(data.draw(worlds.black_boxes(problem)))


def draw_weights(data: st.DataObject, problem: Problem, people: int) -> np.ndarray | None:
    if data.draw(st.booleans()):
        return None
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    return rng.choice([0.5, 1.0, 2.0], (people, len(problem.transitions)))


@pytest.mark.parametrize("deadline", [1e6, 999_999_999.999_999_9, 1e9])
def test_any_long_deadline_is_none(deadline: float) -> None:
    german = benchmarks.load("german")
    planner = ExactPlanner(german.problem, german.model)
    people = german.refused_test.iloc[[14]]
    assert planner.plan(people, deadline=deadline)[0].actions == planner.plan(people)[0].actions


@settings(max_examples=40)
@given(st.data())
def test_exact_plans_are_the_cheapest_within_the_deadline(data: st.DataObject) -> None:
    problem, box = draw_world(data)
    people = problem.read(data.draw(worlds.people(problem, most=3)))
    weights = draw_weights(data, problem, len(people))
    deadline = data.draw(st.sampled_from([0, 0.5, 1, 2, 2.5, 3, 4.5, 6, 8, 11]))
    plans = ExactPlanner(problem, box).plan(people, deadline=deadline, weights=weights)
    for row, plan in enumerate(plans):
        every = every_plan(problem, people, row, box, None if weights is None else weights[row])
        best = min(((cost, len(actions), time) for cost, time, actions in every if time <= deadline), default=None)
        assert plan.deadline == deadline
        if best is None:
            assert plan.status is Status.INFEASIBLE
            continue
        assert (round(plan.cost, DECIMALS), len(plan.steps)) == best[:2]
        assert plan.duration is not None
        assert plan.duration <= deadline
        assert (plan.optimal, plan.verified) == (True, True)
        assert plan.replay(problem, box).ok


@settings(max_examples=40)
@given(st.data())
def test_the_front_has_every_point_and_no_other(data: st.DataObject) -> None:
    problem, box = draw_world(data)
    people = problem.read(data.draw(worlds.people(problem, most=3)))
    weights = draw_weights(data, problem, len(people))
    deadline = data.draw(st.sampled_from([None, None, 2, 5]))
    plans = ExactPlanner(problem, box).plan(people, pareto=True, deadline=deadline, weights=weights)
    for row, plan in enumerate(plans):
        every = every_plan(problem, people, row, box, None if weights is None else weights[row])
        expected = front_of([one for one in every if deadline is None or one[1] <= deadline])
        if not expected:
            assert (plan.status, plan.front) == (Status.INFEASIBLE, ())
            continue
        if not plan.steps:
            assert (expected, plan.front) == ([(0.0, 0.0)], ())
            continue
        found = [(round(one.cost, DECIMALS), round(one.duration or 0.0, DECIMALS)) for one in plan.front]
        assert found == expected
        assert plan.front[0] is plan
        for one in plan.front:
            assert (one.verified, one.optimal) == (True, True)
            assert one.replay(problem, box).ok
            assert (round(one.cost, DECIMALS), round(one.duration or 0.0, DECIMALS), indices(problem, one)) in every


@settings(max_examples=60)
@given(st.data())
def test_guided_plans_without_limits_are_the_cheapest_within_the_deadline(data: st.DataObject) -> None:
    problem, box = draw_world(data)
    people = problem.read(data.draw(worlds.people(problem, most=3)))
    deadline = data.draw(st.sampled_from([0.5, 2, 3, 6]))
    everything = GuideSettings(min_gain=0, min_chance=0, max_queries=None, max_expansions=None)
    guided = GuidedPlanner(problem, box, lambda states: np.sin(states.sum(axis=1)), settings=everything)
    exact = ExactPlanner(problem, box).plan(people, deadline=deadline)
    plans = guided.plan(people, deadline=deadline)
    np.testing.assert_allclose(plans.costs, exact.costs, atol=1e-7)
    assert [plan.status for plan in plans] == [plan.status for plan in exact]
    assert all(plan.duration is None or not plan.duration > deadline for plan in plans)


class Slow(Planner):
    """Takes the first legal plan of two steps of the same kind, however long it takes."""

    name = "slow"

    def search(self, task: PlanningTask) -> PlanColumns:
        columns = PlanColumns.empty(len(task), self.problem.max_actions)
        columns.actions[:, :2] = 0
        columns.status = [Status.FOUND] * len(task)
        return columns


@pytest.fixture
def savings() -> Problem:
    return Problem.from_dict(
        {
            "counterplan": 1,
            "name": "savings",
            "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": 3,
            "time_unit": "weeks",
            "features": {"saved": {"kind": "number"}, "job": {"kind": "category", "values": ["none", "any"]}},
            "functions": {
                "SAVE": {"add": "saved", "arguments": [10, 20], "cost": 1, "duration": [4, 7]},
                "WORK": {"set": "job", "arguments": ["any"], "cost": 5, "duration": 2},
            },
        }
    )


def enough(table: pd.DataFrame) -> list[str]:
    """Twenty saved, or a job."""
    return [
        "yes" if saved >= 20 or job == "any" else "no" for saved, job in zip(table["saved"], table["job"], strict=True)
    ]


PERSON = {"saved": 0, "job": "none"}


def test_the_front_of_one_person(savings: Problem) -> None:
    plan = ExactPlanner(savings, BlackBox(enough)).plan([PERSON], pareto=True)[0]
    assert [(one.actions, one.cost, one.duration) for one in plan.front] == [
        (["SAVE=20"], 1.0, 7.0),
        (["WORK=any"], 5.0, 2.0),
    ]
    assert plan.front[1].deadline == 2.0, "the cheapest plan that takes at most two weeks"
    assert "Or faster: Change job to any (effort 5.0, 2 weeks)" in str(plan)
    alone = ExactPlanner(savings, BlackBox(enough)).plan([PERSON], pareto=True, forbid=["WORK"])[0]
    assert len(alone.front) == 1
    assert "No faster plan exists (proved)." in str(alone)
    assert "No faster plan" not in str(plan)
    again = ExactPlanner(savings, BlackBox(enough)).plan([PERSON])[0]
    assert (again.front, again.duration, again.time_unit) == ((), 7.0, "weeks")
    assert again.replay(savings, BlackBox(enough)).ok
    other = replace(again, time_unit="years").replay(savings, BlackBox(enough))
    assert other.faults == ("its times are in 'years', and those of the problem in 'weeks'",)


@pytest.mark.parametrize("weight", [1, 1 / 3, 0.6123456784, 3.14159265358979, 0.0123456789])
def test_weights_do_not_separate_plans_of_equal_cost(weight: float) -> None:
    adding = {"add": "x", "arguments": [1, 2], "cost": {"base": [1, 2]}, "duration": [5, 5]}
    features = {"x": {"kind": "number", "minimum": 0, "maximum": 9, "bins": []}}
    outcome = {"column": "y", "values": ["no", "yes"], "favourable": "yes"}
    data = {"counterplan": 1, "name": "sums", "max_actions": 4, "features": features, "outcome": outcome}
    problem = Problem.from_dict(data | {"functions": {"ADD": adding}})
    planner = ExactPlanner(problem, BlackBox(lambda people: np.where(people["x"] >= 4, "yes", "no")))
    people = pd.DataFrame({"x": [0]})
    plan = planner.plan(people, weights={"ADD": weight}, pareto=True)[0]
    assert [step.argument for step in plan.steps] == [2, 2], "of equal cost, the plan with the fewest steps"
    assert plan.cost == pytest.approx(4 * weight, rel=1e-4)
    assert [(one.cost, one.duration) for one in plan.front] == [(plan.cost, 10)]


@pytest.mark.parametrize(
    ("unit", "one"), [("months", "1 month"), ("centuries", "1 century"), ("working days", "1 working day")]
)
def test_one_unit_of_time_is_in_the_singular(savings: Problem, unit: str, one: str) -> None:
    definition = savings.to_dict() | {"time_unit": unit}
    definition["functions"]["SAVE"]["duration"] = 1
    plan = ExactPlanner(Problem.from_dict(definition), BlackBox(enough)).plan([PERSON])[0]
    assert f"Takes about {one} if you start now." in str(plan)
    assert f"now to {one.removeprefix('1 ')} 1" in plan._repr_html_()


@pytest.mark.parametrize(
    ("duration", "takes", "when"),
    [
        (0.000001, "Takes less than 0.01 weeks if you start now.", "now, at once"),
        (0.004, "Takes less than 0.01 weeks if you start now.", "now, at once"),
        (0.006, "Takes about 0.01 weeks if you start now.", "now to week 0.01"),
        (0, "Takes no time.", "now, at once"),
    ],
)
def test_a_short_duration_is_not_none(savings: Problem, duration: float, takes: str, when: str) -> None:
    definition = savings.to_dict()
    definition["functions"]["SAVE"]["duration"] = duration
    plan = ExactPlanner(Problem.from_dict(definition), BlackBox(enough)).plan([PERSON], forbid="WORK")[0]
    assert len(plan.steps) == 1
    assert takes in str(plan)
    assert when_text(plan.steps[0], plan.time_unit) == when


def test_plans_of_planners_without_deadlines_that_take_too_long_are_none(savings: Problem) -> None:
    box = BlackBox(enough)
    plan = Slow(savings, box).plan([PERSON], deadline=6)[0]
    assert plan.status is Status.NOT_FOUND
    assert plan.caution == "A plan was found, but it takes 8 weeks, longer than 6 weeks."
    assert plan.caution in str(plan)
    assert Slow(savings, box).plan([PERSON], deadline=8)[0].duration == 8
    assert Slow(savings, box).plan([PERSON])[0].duration == 8
    cascade = CascadePlanner(savings, box, [Slow(savings, box), ExactPlanner(savings, box)])
    assert cascade.plan([PERSON], deadline=6)[0].actions == ["WORK=any"]
    assert cascade.plan([PERSON])[0].actions == ["SAVE=10", "SAVE=10"], "without a deadline, the first one plans"
    alone = CascadePlanner(savings, box, [Slow(savings, box)])
    assert alone.plan([PERSON], deadline=6)[0].status is Status.NOT_FOUND


def test_infeasible_within_the_deadline_is_proved_and_said(savings: Problem) -> None:
    plan = ExactPlanner(savings, BlackBox(enough)).plan([PERSON], deadline=1)[0]
    assert plan.status is Status.INFEASIBLE
    assert "No plan within the rules that takes at most 1 week changes that (proved" in str(plan)
    for nothing in (-0.0, 0, 1e-9):
        plan = ExactPlanner(savings, BlackBox(enough)).plan([PERSON], deadline=nothing)[0]
        assert "takes at most 0 weeks" in str(plan)


def test_the_duration_of_nobody_is_missing_in_every_format(savings: Problem, tmp_path: Path) -> None:
    """Also of plans from earlier files, which have a duration of 0."""
    people = [PERSON, PERSON | {"saved": 15}, PERSON | {"saved": 30}]
    plans = ExactPlanner(savings, BlackBox(enough)).plan(people, forbid=["WORK"], deadline=5)
    assert [plan.status for plan in plans] == [Status.INFEASIBLE, Status.FOUND, Status.ALREADY_FAVOURABLE]
    written = json.loads(plans.to_json())
    assert [plan["duration"] for plan in written["plans"]] == [None, 4.0, 0.0]
    written["plans"][0]["duration"] = 0.0
    plans.save(tmp_path / "plans.parquet")
    for again in (
        *(plans, Plans.from_json(plans.to_json()), Plans.from_json(json.dumps(written))),
        Plans.load(tmp_path / "plans.parquet"),
    ):
        assert again.plans == plans.plans
        assert (
            [str(plan.duration) for plan in again] == [str(time) for time in again.durations] == ["nan", "4.0", "0.0"]
        )
        assert np.isnan(again.to_frame()["total_duration"].iloc[0])
        table = pd.read_csv(io.StringIO(again.to_csv()), keep_default_na=False)
        assert table["total_duration"].tolist()[:2] == ["", "4.0"]


def test_several_processes_plan_the_same(savings: Problem) -> None:
    people = [PERSON | {"saved": number % 5} for number in range(9)]
    for options in ({"deadline": 6}, {"pareto": True}):
        planner = ExactPlanner(savings, BlackBox(enough), batch_size=2)
        alone = planner.plan(people, **options)
        assert (
            ExactPlanner(savings, BlackBox(enough), batch_size=2).plan(people, jobs=2, **options).plans == alone.plans
        )


def test_an_incomplete_front_is_said_to_be_one(savings: Problem) -> None:
    planner = ExactPlanner(savings, BlackBox(enough))
    plan = planner.plan([PERSON], pareto=True, budget=3)[0]
    assert (plan.actions, plan.front) == (["SAVE=20"], (plan,))
    assert "There may be faster plans" in plan.caution
    assert planner.plan([PERSON], pareto=True, budget=1)[0].status is Status.NOT_FOUND


def test_a_survival_goal_is_met_within_the_deadline(savings: Problem) -> None:
    """Twenty more are saved for a plan that lasts, if there is time for that."""
    recourse = Recourse(
        savings, enough, refits=[lambda table: ["yes" if saved >= 30 else "no" for saved in table["saved"]]]
    )
    planner = recourse.planner("exact")
    lasting = {"survival_at_least": 0.5}
    assert planner.plan([PERSON], **lasting)[0].actions == ["SAVE=10", "SAVE=20"]
    soon = planner.plan([PERSON], deadline=7, **lasting)[0]
    assert (soon.actions, soon.duration) == (["SAVE=20"], 7)
    with pytest.raises(SettingError, match="leave out 'survival', or 'pareto'"):
        planner.plan([PERSON], pareto=True, **lasting)


def test_times_are_written_and_replayed(savings: Problem, tmp_path: Path) -> None:
    box = BlackBox(both)
    plans = ExactPlanner(savings, box).plan([PERSON], pareto=True, deadline=6)
    for name in ("plans.json", "plans.parquet"):
        plans.save(tmp_path / name)
        assert Plans.load(tmp_path / name).plans == plans.plans
    plan = plans[0]
    wrong = {
        "takes 4, not 3": {"duration": 3.0},
        "starts at 0, not at 1": {"start": 1.0},
    }
    for fault, change in wrong.items():
        changed = replace(plan, steps=(replace(plan.steps[0], **change), *plan.steps[1:]))
        assert any(fault in found for found in changed.replay(savings, box).faults)
    late = replace(plan, deadline=3.0)
    assert "it takes 4, longer than its deadline of 3" in late.replay(savings, box).faults
    with pytest.raises(PlanError, match="both a start and a duration"):
        replace(plan.steps[0], start=None)
    with pytest.raises(PlanError, match="the duration of step"):
        replace(plan.steps[0], duration=-1.0)


def test_the_timeline_of_a_plan(savings: Problem) -> None:
    plan = ExactPlanner(savings, BlackBox(both)).plan([PERSON])[0]
    text = str(plan)
    assert "Takes about 4 weeks if you start now; steps 1 and 2 can run side by side." in text
    assert "  1. ████████████  now to week 4" in text
    assert "  2. ██████        now to week 2" in text
    one = ExactPlanner(savings, BlackBox(enough)).plan([PERSON], deadline=2)[0]
    assert "Takes about 2 weeks if you start now." in str(one)
    assert "█" not in str(one), "one step needs no timeline"
    html = plan._repr_html_()
    assert "now to week 4" in html
    assert "width:50%" in html


def test_settings_of_time(savings: Problem) -> None:
    planner = ExactPlanner(savings, BlackBox(enough))
    for wrong in (-1, "6", True, float("nan"), float("inf"), 1.1e9, 1e300, 10**400):
        with pytest.raises(SettingError, match="'deadline' must be a number from 0 to 1,000,000,000") as caught:
            planner.plan([PERSON], deadline=wrong)  # type: ignore[arg-type]
        assert len(str(caught.value)) < 130
    with pytest.raises(SettingError, match="pareto=True needs planner='exact'"):
        Slow(savings, BlackBox(enough)).plan([PERSON], pareto=True)
    data = savings.to_dict()
    for function in data["functions"].values():
        del function["duration"]
    timeless = Problem.from_dict(data)
    for options in ({"deadline": 3}, {"pareto": True}):
        with pytest.raises(SettingError, match="write 'duration' for the functions"):
            ExactPlanner(timeless, BlackBox(enough)).plan([PERSON], **options)
    plan = ExactPlanner(timeless, BlackBox(enough)).plan([PERSON])[0]
    assert (plan.duration, plan.time_unit, plan.steps[0].start, plan.steps[0].duration) == (None, "", None, None)


def test_schedules_of_plans(savings: Problem) -> None:
    plans = ExactPlanner(savings, BlackBox(both)).plan([PERSON])
    plan = plans[0]
    assert [(step.start, step.duration) for step in plan.steps] == [(0.0, 4.0), (0.0, 2.0)]
    assert plan.duration == plans.durations[0] == 4.0
    states = savings.read([PERSON]).states
    assert schedule(savings.transitions, states, plans.actions).makespan[0] == 4.0


def both(table: pd.DataFrame) -> list[str]:
    return [
        "yes" if saved >= 10 and job == "any" else "no" for saved, job in zip(table["saved"], table["job"], strict=True)
    ]
