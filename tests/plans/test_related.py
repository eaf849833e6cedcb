"""Related plans: any number of other plans for a person, in columns, objects, JSON and tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loans
import worlds
from counterplan import BlackBox, ExactPlanner, Plan, PlanError, Plans, Problem
from counterplan.plans import PlanColumns, RelatedColumns, Status
from counterplan.plans.columns import NO_PLANS
from counterplan.plans.plan import RelatedKind
from counterplan.problem import People

KINDS = ("front", "alternatives")


def random_columns(problem: Problem, people: People, rng: np.random.Generator) -> PlanColumns:
    """Random plans; nobody's are verified."""
    actions = worlds.random_plan_actions(problem, people.states, rng).actions
    columns = PlanColumns.empty(len(people), problem.max_actions)
    columns.actions = np.where(actions == problem.transitions.stop, -1, actions)
    columns.status = [Status.FOUND if row[0] >= 0 else Status.NOT_FOUND for row in columns.actions]
    columns.queries = rng.integers(0, 9, len(people))
    return columns


def random_related(problem: Problem, people: People, rng: np.random.Generator) -> RelatedColumns:
    """Random plans with steps, for some people."""
    count = rng.integers(NO_PLANS, 3, len(people))
    count[0] = max(count[0], 0)
    owner = np.repeat(np.arange(len(people)), np.maximum(count, 0))
    columns = random_columns(problem, people.take(owner), rng)
    found = np.array([status is Status.FOUND for status in columns.status], bool)
    count = np.where(count == NO_PLANS, NO_PLANS, np.bincount(owner[found], minlength=len(people)))
    return RelatedColumns(count, columns.take(np.flatnonzero(found)))


def random_plans(data: st.DataObject) -> tuple[Problem, Plans]:
    problem = data.draw(worlds.problems())
    people = problem.read(data.draw(worlds.people(problem)))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    columns = random_columns(problem, people, rng)
    for kind in data.draw(st.sampled_from([KINDS[:1], KINDS])):
        columns.related[kind] = random_related(problem, people, rng)
    return problem, Plans.from_columns(problem, people, columns)


@settings(max_examples=40)
@given(st.data())
def test_related_plans_stay_with_their_person(data: st.DataObject) -> None:
    """Slices, joins, replacements and files have the related plans of each person."""
    problem, plans = random_plans(data)
    objects = list(plans)
    for plan in objects:
        for others in plan.related.values():
            assert all(other.person == plan.person and other.row == plan.row and other.steps for other in others)
    rows = np.array(data.draw(st.lists(st.integers(0, len(plans) - 1), max_size=6)), np.intp)
    assert list(plans.take(rows)) == [objects[row] for row in rows.tolist()]
    assert list(plans[:2] + plans[1:]) == objects[:2] + objects[1:]
    assert Plans.from_json(plans.to_json()).plans == plans.plans
    assert Plans(objects).to_csv() == plans.to_csv()
    assert plans.people is not None
    replaced = plans.columns.take(slice(None))
    other = random_columns(problem, plans.people, np.random.default_rng(1))
    mask = np.flatnonzero(np.arange(len(plans)) % 2)
    replaced.put(mask, other.take(mask))
    new = list(Plans.from_columns(problem, plans.people, replaced))
    assert [plan.related for plan in new] == [{} if i % 2 else plan.related for i, plan in enumerate(objects)]


@settings(max_examples=10)
@given(st.data())
def test_related_plans_in_parquet(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    _, plans = random_plans(data)
    path: Path = tmp_path_factory.mktemp("related") / "plans.parquet"
    for written in (plans, Plans(plans.plans)):
        written.save(path)
        assert Plans.load(path).plans == plans.plans


def test_rows_of_related_plans_follow_those_of_the_plan(plans: Plans, longest: Plan) -> None:
    other = replace(longest, steps=longest.steps[:1])
    table = Plans([replace(longest, related={"front": (other, other), "alternatives": ()}), plans[0]]).to_frame()
    first = len(longest.steps)
    assert table["related"].tolist() == [""] * first + ["front"] * 2 + [""] * max(1, len(plans[0].steps))
    assert table["related_number"].tolist()[first : first + 2] == [1, 2]
    assert "related" not in plans.to_frame(), "tables without related plans do not change"


def test_files_with_related_plans_are_validated(longest: Plan) -> None:
    written = Plans([replace(longest, related={"front": (replace(longest, queries=1),)})]).to_json()
    assert "start" not in json.loads(written)["plans"][0]["related"]["front"][0], "written once"
    for wrong, message in (
        ({"rear": []}, "related.rear"),
        ({"front": 1}, "related.front"),
        ({"front": [{"status": "found"}]}, "contradicts itself"),
    ):
        data = json.loads(written)
        data["plans"][0]["related"] = wrong
        with pytest.raises(PlanError, match=message):
            Plans.from_json(json.dumps(data))
    data = json.loads(written)
    data["plans"][0]["related"]["front"][0]["related"] = {"front": [{"status": "not_found"}]}
    with pytest.raises(PlanError, match="no related plans themselves"):
        Plans.from_json(json.dumps(data))
    with pytest.raises(PlanError, match="start where it does"):
        replace(longest, related={"front": (replace(longest, person="somebody else"),)})


def ways_problem() -> Problem:
    """Two ways to a loan, by income or by debt, which take different times."""
    functions = {name: dict(spec) for name, spec in loans.TWO_WAYS["functions"].items()}
    functions["EARN"]["duration"], functions["SAVE"]["duration"] = 1, 6
    return Problem.from_dict(loans.TWO_WAYS | {"functions": functions})


WAYS = ways_problem()
PEOPLE = pd.DataFrame({"income": [40.0, 30.0], "debt": [20.0, 30.0]}, index=["ann", "bob"])


def decide(table: pd.DataFrame) -> list[str]:
    return ["yes" if income - debt >= 30 else "no" for income, debt in table.to_numpy()]


@pytest.fixture(params=["alternatives", "front"])
def related(request: pytest.FixtureRequest) -> tuple[RelatedKind, Plan]:
    """A plan with other ways for the same person, and how they are related to it."""
    options = {"alternatives": {"alternatives": 3}, "front": {"pareto": True}}[request.param]
    plan = ExactPlanner(WAYS, BlackBox(decide)).plan(PEOPLE, **options)[0]
    assert plan.related[request.param]
    assert plan.replay(WAYS, BlackBox(decide)).ok
    return request.param, plan


ALTERED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "cost": (lambda plan: plan["steps"][0].update(cost=0.5), r"step 1 \(.*\): costs .*, not 0.5"),
    "action": (lambda plan: plan["steps"][0].update(argument=999), "the problem has no such action"),
    "state": (lambda plan: plan["steps"][0]["after"].update(income=1e6), "leads to another state than the plan says"),
    "duration": (lambda plan: plan["steps"][0].update(duration=0.5), r"takes .*, not 0.5"),
    "start": (lambda plan: plan["steps"][0].update(start=3.0), "starts at 0, not at 3"),
    "optimal": (lambda plan: plan.update(optimal=True, lower_bound=0.0), "the lower bound is 0"),
    "nothing": (lambda plan: plan.update(status="infeasible", steps=[]), "a plan without steps"),
}


@pytest.mark.parametrize("what", ALTERED)
def test_replay_finds_altered_related_plans(related: tuple[RelatedKind, Plan], what: str) -> None:
    kind, plan = related
    change, message = ALTERED[what]
    data = json.loads(Plans([plan]).to_json())
    change(data["plans"][0]["related"][kind][0])
    (altered,) = Plans.from_json(json.dumps(data))
    replayed = altered.replay(WAYS, BlackBox(decide))
    assert replayed.outcome == "does not hold"
    place = re.escape("front[1]: " if kind == "front" else "alternatives[0]: ")
    assert all(re.match(place, fault) for fault in replayed.faults)
    assert any(re.search(message, fault) for fault in replayed.faults)


def test_replay_queries_the_model_about_related_plans(related: tuple[RelatedKind, Plan]) -> None:
    """A model that refuses one of the ways is found out by one query for each."""
    kind, plan = related
    other = plan.related[kind][-1].steps[-1].after
    box = BlackBox(
        lambda table: [
            "no" if (income, debt) == (other["income"], other["debt"]) else answer
            for (income, debt), answer in zip(table.to_numpy(), decide(table), strict=True)
        ]
    )
    last = len(plan.related[kind]) - (kind == "alternatives")
    assert plan.replay(WAYS, box).faults == (f"{kind}[{last}]: the black box does not find the final state favourable",)
    assert box.queries == 1 + len(plan.related[kind])
    failing = BlackBox(lambda table: [1 / 0 for _ in table])
    assert plan.replay(WAYS, failing).outcome == "could not be checked"


def test_replay_compares_related_plans_with_the_plan(related: tuple[RelatedKind, Plan]) -> None:
    kind, plan = related
    if kind == "front":
        swapped = replace(plan.front[1], deadline=None, related={"front": (replace(plan, related={}),)})
        assert swapped.replay(WAYS, BlackBox(decide)).faults == (
            "front[1]: it should cost more and be faster than the plan before it",
        )
    faster = min([plan, *plan.related[kind]], key=lambda one: one.duration or 0.0)
    slower = max([plan, *plan.related[kind]], key=lambda one: one.duration or 0.0)
    own = replace(faster, deadline=faster.duration, related={"alternatives": (replace(slower, related={}),)})
    assert own.replay(WAYS, BlackBox(decide)).faults == ("alternatives[0]: it takes 6, longer than the deadline of 1",)


@settings(max_examples=15)
@given(st.data())
def test_related_plans_of_exact_search_replay(data: st.DataObject) -> None:
    """Alternatives and plans on fronts hold, with and without weights, and state the queries about the person."""
    problem = data.draw(worlds.timed_problems())
    people, box = data.draw(worlds.people(problem)), BlackBox(data.draw(worlds.black_boxes(problem)))
    options = data.draw(st.sampled_from([{"alternatives": 3}, {"pareto": True}]))
    weights = data.draw(st.sampled_from([None, {problem.transitions.functions[0].name: 3.0}]))
    for plan in ExactPlanner(problem, box).plan(people, weights=weights, **options):
        assert plan.replay(problem, box).faults == ()
        assert all(other.queries == plan.queries for others in plan.related.values() for other in others)
