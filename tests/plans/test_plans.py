"""Plans: columns, objects on demand, joining and counting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, ExactPlanner, Plan, PlanError, Plans, SettingError, Status
from counterplan.benchmarks import Benchmark
from counterplan.plans import Coded, PlanColumns
from counterplan.search.orders import NO_ACTION


def test_is_a_sequence_with_counts(plans: Plans) -> None:
    assert sum(plans.counts.values()) == len(plans) == len(list(plans)) == 60
    assert plans.counts["already_favourable"] > 0
    assert len(plans[5:10]) == 5
    assert plans[5:10][0] == plans[5]
    assert plans[-1] == plans[59]
    both = plans[:2] + plans[2:]
    assert both.plans == plans.plans
    for index in (60, -61):
        with pytest.raises(IndexError):
            plans[index]


def check_columns(plans: Plans) -> None:
    """The columns say the same as the objects."""
    objects = list(plans)
    assert plans.persons == [plan.person for plan in objects]
    assert plans.statuses.tolist() == [plan.status for plan in objects]
    assert all(isinstance(status, Status) for status in plans.statuses)
    assert plans.lengths.tolist() == [len(plan.steps) for plan in objects]
    assert np.array_equal(plans.costs, [plan.cost for plan in objects], equal_nan=True)
    assert plans.verified.tolist() == [plan.verified for plan in objects]
    assert plans.optimal.tolist() == [plan.optimal for plan in objects]
    assert plans.queries_per_person.tolist() == [plan.queries for plan in objects]
    bounds = [np.inf if plan.lower_bound is None else plan.lower_bound for plan in objects]
    assert plans.lower_bounds.tolist() == bounds
    assert plans.cautions == [plan.caution for plan in objects]
    assert plans.counts == {status: sum(plan.status is status for plan in objects) for status in Status}
    for row, plan in enumerate(objects):
        length = len(plan.steps)
        assert [plans.action_names[i] for i in plans.actions[row, :length]] == plan.actions
        assert (plans.actions[row, length:] == NO_ACTION).all()
        assert plans.step_costs[row].tolist()[:length] == [step.cost for step in plan.steps]
        assert not plans.step_costs[row, length:].any()
        assert [plans.texts.get(row, t) for t in range(length)] == [step.text for step in plan.steps]


@settings(max_examples=20)
@given(st.data())
def test_columns_and_objects_agree_in_random_worlds(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    plans = ExactPlanner(problem, data.draw(worlds.black_boxes(problem))).plan(data.draw(worlds.people(problem)))
    for one in (plans, Plans(plans.plans), plans[1:], Plans.join([plans, plans[:1]])):
        check_columns(one)
    for plan, state in zip(plans, plans.final_states, strict=True):
        end = plan.steps[-1].after if plan.steps else plan.start
        assert np.array_equal(problem.state(end), state, equal_nan=True)


def test_statuses_are_a_mask(plans: Plans) -> None:
    assert (plans.statuses == "found").sum() == plans.counts["found"]
    assert np.isnan(plans.costs[plans.statuses == "infeasible"]).all()
    assert (plans.costs[plans.statuses == "already_favourable"] == 0).all()


def test_objects_are_made_when_they_are_needed(german: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    check = Plan.__post_init__
    monkeypatch.setattr(Plan, "__post_init__", lambda plan: (made.append(plan.person), check(plan)))
    plans = ExactPlanner(german.problem, BlackBox(german.model)).plan(german.test.head(60))
    assert len(plans) == 60
    plans.to_frame()
    plans.to_csv()
    plans.to_arrow()
    assert plans.counts["found"]
    assert not made
    plans[7]
    assert made == [plans.persons[7]]


def test_changing_the_table_afterwards_changes_no_plan(german: Benchmark) -> None:
    table = german.refused_test.head(5).copy()
    plans = ExactPlanner(german.problem, BlackBox(german.model)).plan(table)
    before = plans.to_json()
    table["age"] = 99
    table.index = pd.Index(list("abcde"))
    assert plans.to_json() == before


def test_plans_without_a_problem_have_no_states(plans: Plans) -> None:
    read = Plans.from_json(plans.to_json())
    check_columns(read)
    assert read.people is None
    assert plans.people is not None
    with pytest.raises(PlanError, match="no states as arrays"):
        read.final_states  # noqa: B018


def test_join(german: Benchmark, plans: Plans) -> None:
    parts = [plans[first : first + 7].with_queries(1, 2) for first in range(0, 60, 7)]
    joined = Plans.join(parts)
    assert joined.plans == plans.plans
    assert (joined.queries, joined.cached) == (len(parts), 2 * len(parts))
    assert joined.people is not None
    check_columns(joined)
    read = Plans.from_json(plans[:3].to_json())
    assert Plans.join([read, plans[3:]]).plans == plans.plans, "objects and columns"
    table = german.test.head(60)
    floats = ExactPlanner(german.problem, BlackBox(german.model)).plan(table.astype({"age": float}).tail(3))
    mixed = Plans.join([plans[:3], floats])
    assert mixed.plans == plans[:3].plans + floats.plans, "tables with other types"
    assert len(Plans.join([])) == 0
    assert Plans.join([Plans((), "german 1", 3), plans[:1]]).queries == 3
    assert Plans.join(iter([plans])) == plans
    with pytest.raises(SettingError, match="expects Plans, got list"):
        Plans.join([[plans[0]]])  # type: ignore[list-item]


def test_join_of_very_many(longest: Plan) -> None:
    """Concatenating them two by two would copy 800 million references."""
    one = Plans((longest,))
    assert len(Plans.join([one] * 40_000)) == 40_000


def test_count_never_silently_answers_0(plans: Plans) -> None:
    assert plans.count("found") == plans.count(Status.FOUND) == plans.counts["found"] > 0
    assert plans.count(plans[3]) == 1
    for wrong in ("FOUND", 3, None):
        with pytest.raises(SettingError, match=r"plans\.counts has"):
            plans.count(wrong)


def test_columns_that_contradict_themselves_are_refused(german: Benchmark) -> None:
    people = german.problem.read(german.test.head(2))
    columns = PlanColumns.empty(2, 4)
    columns.status[1] = Status.FOUND
    with pytest.raises(PlanError, match="status found and 0 steps contradicts itself"):
        Plans.from_columns(german.problem, people, columns)
    columns.actions[:, 0] = 0
    with pytest.raises(PlanError, match="status not_found and 1 steps contradicts itself"):
        Plans.from_columns(german.problem, people, columns)


def test_weights_of_steps(german: Benchmark, plans: Plans) -> None:
    """Weights multiply the costs, are written only where there are any, and survive files, slices and joining."""
    assert plans.people is not None
    columns = replace(plans.columns, weights=np.full(plans.actions.shape, 1.5))
    weighted = Plans.from_columns(german.problem, plans.people, columns)
    assert np.allclose(weighted.costs, 1.5 * plans.costs, equal_nan=True)
    check_columns(weighted)
    back = Plans.from_json(weighted.to_json())
    assert back.plans == weighted.plans
    check_columns(back)
    assert '"weight": 1.5' in weighted.to_json()
    assert '"weight"' not in plans.to_json()
    box = BlackBox(german.model)
    for plan in weighted:
        if plan.steps:
            assert {step.weight for step in plan.steps} == {1.5}
            assert replace(plan, optimal=False).replay(german.problem, box).ok
    both = Plans.join([plans[:30], weighted[30:]])
    assert np.array_equal(both.costs, [*plans.costs[:30], *weighted.costs[30:]], equal_nan=True)


def test_a_caution_is_added_to_the_plans_that_were_found() -> None:
    columns = PlanColumns.empty(4, 2)
    columns.status[:2] = Status.FOUND, Status.FOUND
    columns.cautions = Coded(np.array([-1, 0, -1, 0]), ["First."])
    columns.add_caution("Second.")
    assert [columns.cautions.get(row) for row in range(4)] == ["Second.", "First. Second.", None, "First."]
    alone = PlanColumns.empty(1, 2)
    alone.add_caution("Nobody.")
    assert alone.cautions is not None
    assert alone.cautions.get(0) is None


def test_put_replaces_everything_of_a_person() -> None:
    columns, part = PlanColumns.empty(3, 2), PlanColumns.empty(2, 2)
    columns.cautions = Coded(np.array([0, 0, -1]), ["old"])
    part.actions[0, 0], part.status[0], part.queries[0] = 5, Status.FOUND, 9
    part.weights = np.full((2, 2), 2.0)
    part.reasons = Coded(np.array([[0, -1], [-1, -1]]), [("so", None)])
    columns.put(np.array([2, 0]), part)
    assert columns.actions[:, 0].tolist() == [-1, -1, 5]
    assert columns.status == [Status.NOT_FOUND, Status.NOT_FOUND, Status.FOUND]
    assert columns.queries.tolist() == [0, 0, 9]
    assert columns.weights is not None
    assert columns.weights[:, 0].tolist() == [2, 1, 2]
    assert columns.reasons is not None
    assert columns.reasons.get(2, 0) == ("so", None)
    assert columns.reasons.get(0, 0) is None
    assert [columns.cautions.get(row) for row in range(3)] == [None, "old", None]
    columns.put(np.array([2]), PlanColumns.empty(1, 2))
    assert columns.reasons.get(2, 0) is None
    assert columns.weights[2, 0] == 1
    columns.put(np.array([1]), None)
    assert columns.cautions.get(1) == "old"
