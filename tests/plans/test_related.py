"""Related plans: any number of other plans for a person, in columns, objects, JSON and tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import Plan, PlanError, Plans, Problem
from counterplan.plans import PlanColumns, RelatedColumns, Status
from counterplan.plans.columns import NO_PLANS
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
