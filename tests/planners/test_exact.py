"""The exact planner against brute force, its ties, its budgets and its limits."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, ExactPlanner, Problem, ProblemError, SettingError, Status
from planners.brute_force import brute_force, indices


@settings(max_examples=25)
@given(st.data())
def test_agrees_with_brute_force(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    box = BlackBox(data.draw(worlds.black_boxes(problem)))
    batch_size = data.draw(st.integers(1, 4))
    plans = ExactPlanner(problem, box, batch_size=batch_size).plan(table)
    people = problem.read(table)
    for row, plan in enumerate(plans):
        best = brute_force(problem, people, row, box)
        if best is None:
            assert plan.status is Status.INFEASIBLE
            assert plan.lower_bound is None
            continue
        cost, steps, actions = best
        assert plan.status is (Status.FOUND if steps else Status.ALREADY_FAVOURABLE)
        assert plan.cost == pytest.approx(cost, abs=1e-5)
        assert plan.lower_bound == pytest.approx(cost, abs=1e-5)
        assert len(plan.steps) == steps
        assert indices(problem, plan) == actions, "ties go to fewer steps, then to the order of the file"
        assert plan.optimal
        assert plan.verified
        assert plan.replay(problem, box).ok


def number_line(when: str = "true", cost: object = 1, max_actions: int = 3, **more: object) -> Problem:
    """One number that can be raised by 1 or by 2, and a category that costs nothing to change."""
    functions = {"ADD": {"add": "x", "arguments": [1, 2], "when": when, "cost": cost}}
    return Problem.from_dict(
        {
            "counterplan": 1,
            "name": "line",
            "outcome": {"column": "y", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": max_actions,
            "features": {
                "x": {"kind": "number", "integer": True, "bins": []},
                "c": {"kind": "category", "values": ["a", "b"]},
            },
            "functions": functions | more.get("functions", {}),
        }
    )


def at_least(threshold: int) -> BlackBox:
    return BlackBox(lambda frame: np.where(frame["x"] >= threshold, "yes", "no"))


PEOPLE = pd.DataFrame({"x": [0, 1, 5], "c": ["a", "b", "a"]}, index=["ann", "bob", "eve"])


def test_prefers_fewer_steps_then_the_order_of_the_file() -> None:
    cheap = number_line(cost={"base": [1, 2]})  # 1 + 1 costs as much as 2
    plan = ExactPlanner(cheap, at_least(2)).plan(PEOPLE)[0]
    assert plan.actions == ["ADD=2"]
    free = number_line(functions={"FREE": {"set": "c", "arguments": "all", "cost": 0}})
    plan = ExactPlanner(free, at_least(3)).plan(PEOPLE)[0]
    assert plan.actions == ["ADD=1", "ADD=2"], "not with a useless free step, and the smaller action first"


def test_a_free_way_round_is_found() -> None:
    functions = {"OPEN": {"set": "c", "arguments": ["b"], "cost": 0}}
    problem = number_line(when="c == 'b'", functions=functions)
    plan = ExactPlanner(problem, at_least(2)).plan(PEOPLE)[0]
    assert plan.actions == ["OPEN=b", "ADD=2"]
    assert plan.cost == 1


def test_statuses_and_questions() -> None:
    problem = number_line()
    box = at_least(5)
    plans = ExactPlanner(problem, box).plan(PEOPLE)
    assert [plan.status for plan in plans] == [Status.FOUND, Status.FOUND, Status.ALREADY_FAVOURABLE]
    assert [plan.person for plan in plans] == ["ann", "bob", "eve"]
    assert plans[2].queries == 1
    assert plans.queries == box.queries
    assert plans.queries + plans.cached == sum(plan.queries for plan in plans)
    far = ExactPlanner(problem, at_least(7)).plan(PEOPLE)
    assert [plan.status for plan in far] == [Status.INFEASIBLE, Status.FOUND, Status.FOUND]


def test_asks_in_order_of_cost_and_never_beyond_the_answer() -> None:
    problem = number_line(cost={"base": [1, 1.5]}, max_actions=4)
    asked: list[int] = []

    def model(frame: pd.DataFrame) -> np.ndarray:
        asked.extend(frame["x"].tolist())
        return np.where(frame["x"] >= 3, "yes", "no")

    ExactPlanner(problem, model).plan(PEOPLE.iloc[:1])
    assert asked == [0, 1, 2, 3]


def fine_line() -> Problem:
    """A number that can be raised by 1 to 2,000, in one action, at costs that differ a little."""
    costs = (1 + np.arange(2000) / 10_007).tolist()
    add = {"add": "x", "arguments": [*range(1, 2001)], "cost": {"base": costs}, "duration": 1}
    return number_line(functions={"ADD": add}, max_actions=1)


def test_different_costs_take_few_calls_and_few_spare_queries() -> None:
    problem = fine_line()
    calls: list[int] = []

    def model(frame: pd.DataFrame) -> np.ndarray:
        calls.append(len(frame))
        return np.where(frame["x"] >= 1500, "yes", "no")

    plan = ExactPlanner(problem, model).plan(PEOPLE.iloc[:1])[0]
    assert plan.actions == ["ADD=1500"], "the cheapest, although costlier ones were queried with it"
    assert plan.optimal
    assert plan.lower_bound == plan.cost
    assert 1501 <= plan.queries <= 1501 * 65 / 64
    assert len(calls) < 400


@pytest.mark.parametrize("pareto", [False, True])
def test_a_cached_answer_proves_nothing_while_a_cheaper_state_is_unanswered(pareto: bool) -> None:
    problem, person = fine_line(), PEOPLE.iloc[:1]
    unlimited = at_least(1500)
    ExactPlanner(problem, unlimited).plan(person, forbid=["ADD=1500"])
    box = BlackBox(unlimited.model, budget=unlimited.queries)
    planner = ExactPlanner(problem, box)
    assert planner.plan(person, forbid=["ADD=1500"])[0].actions == ["ADD=1501"], "a costlier state is cached"
    plan = planner.plan(person, pareto=pareto)[0]
    assert plan.status is Status.NOT_FOUND, "the budget is spent before the cheapest plan is queried"
    assert plan.lower_bound < 1.1498


@given(st.data())
@settings(max_examples=12)
def test_a_budget_for_each_person_is_kept_and_leaves_a_true_bound(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    model = data.draw(worlds.black_boxes(problem))
    budget = data.draw(st.integers(0, 8))
    whole = ExactPlanner(problem, model).plan(table)
    limited = ExactPlanner(problem, model).plan(table, budget=budget)
    for full, plan in zip(whole, limited, strict=True):
        assert plan.queries <= budget
        if plan.status is Status.NOT_FOUND:
            assert plan.lower_bound is not None
            assert full.status is Status.INFEASIBLE or plan.lower_bound <= full.cost + 1e-6
        else:
            assert (plan.status, plan.actions) == (full.status, full.actions)


def test_the_budget_of_the_box_ends_the_search_for_everybody() -> None:
    problem = number_line()
    box = BlackBox(at_least(100).model, budget=4)
    plans = ExactPlanner(problem, box, batch_size=2).plan(PEOPLE)
    assert box.queries == 4
    assert {plan.status for plan in plans} == {Status.NOT_FOUND}
    assert [plan.lower_bound for plan in plans] == [1.0, 1.0, 1.0]
    assert ExactPlanner(problem, BlackBox(at_least(1).model, budget=4)).plan(PEOPLE).counts["found"] == 1


def test_the_state_limit_gives_up_with_a_bound() -> None:
    problem = number_line(max_actions=30)
    plans = ExactPlanner(problem, at_least(1000), state_limit=10).plan(PEOPLE.iloc[:1])
    assert plans[0].status is Status.NOT_FOUND
    assert 1 < plans[0].lower_bound <= 1000 / 2
    assert plans[0].queries == 11, "the person as they are, and ten states more"


def test_free_actions_do_not_escape_the_limits() -> None:
    names = [f"x{i}" for i in range(6)]
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "free",
            "outcome": {"column": "y", "values": [0, 1], "favourable": 1},
            "max_actions": 20,
            "features": {name: {"kind": "number", "integer": True, "bins": []} for name in names},
            "functions": {f"ADD_{name}": {"add": name, "arguments": [-1, 1], "cost": 0} for name in names},
        }
    )
    people = pd.DataFrame({name: [0] for name in names})
    never = BlackBox(lambda frame: np.zeros(len(frame), int))
    plan = ExactPlanner(problem, never, state_limit=1000).plan(people)[0]
    assert plan.status is Status.NOT_FOUND
    assert plan.queries == 1001
    near = BlackBox(lambda frame: (frame["x3"] == 1).astype(int))
    assert ExactPlanner(problem, near).plan(people, budget=20)[0].actions == ["ADD_x3=1"]


@pytest.mark.parametrize("dear", [1e6, 1e9, 1e12])
def test_a_dear_action_does_not_blur_the_others(dear: float) -> None:
    functions = {
        "B": {"set": "c", "arguments": ["b"], "cost": 2.1},
        "NEVER": {"set": "c", "arguments": ["b"], "when": "x > 100", "cost": dear},
    }
    problem = number_line(cost=2.4, functions=functions)
    box = BlackBox(lambda frame: np.where((frame["x"] > 0) | (frame["c"] == "b"), "yes", "no"))
    plan = ExactPlanner(problem, box).plan(PEOPLE)[0]
    assert plan.actions == ["B=b"]
    assert plan.lower_bound == plan.cost == 2.1


def test_costs_too_far_apart_are_refused() -> None:
    functions = {"NEVER": {"set": "c", "arguments": ["b"], "cost": 1e300}}
    with pytest.raises(ProblemError, match="too far apart"):
        ExactPlanner(number_line(functions=functions), at_least(2)).plan(PEOPLE)


def test_tiny_costs_are_told_apart() -> None:
    problem = number_line(cost={"base": [2e-12, 3e-12]})
    plan = ExactPlanner(problem, at_least(2)).plan(PEOPLE)[0]
    assert plan.actions == ["ADD=2"]


def test_paths_of_many_steps_over_many_actions_are_kept_whole() -> None:
    """More actions and steps than one machine word can hold."""
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "long",
            "outcome": {"column": "y", "values": [0, 1], "favourable": 1},
            "max_actions": 12,
            "features": {"x": {"kind": "number", "integer": True, "minimum": 0, "bins": []}},
            "functions": {
                "UP": {
                    "add": "x",
                    "arguments": list(range(1, 200)),
                    "when": "x + argument <= 1 or argument == x",
                    "cost": 1,
                }
            },
        }
    )
    box = BlackBox(lambda frame: (frame["x"] >= 2**7).astype(int))
    plan = ExactPlanner(problem, box).plan(pd.DataFrame({"x": [0]}))[0]
    assert [step.argument for step in plan.steps] == [1, 1, 2, 4, 8, 16, 32, 64]
    assert plan.cost == 8


def test_too_many_features_for_one_key() -> None:
    """Thirty categories of seven values do not fit 62 bits; the keys still tell all states apart."""
    names = [f"f{i}" for i in range(30)]
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "wide",
            "outcome": {"column": "y", "values": [0, 1], "favourable": 1},
            "max_actions": 2,
            "features": {name: {"kind": "ordered", "values": list("abcdefg")} for name in names},
            "functions": {f"SET_{name}": {"set": name, "arguments": ["f", "g"], "cost": 1} for name in names},
        }
    )
    box = BlackBox(lambda frame: ((frame["f0"] == "g") & (frame["f29"] == "g")).astype(int))
    plan = ExactPlanner(problem, box).plan(pd.DataFrame({name: ["a"] for name in names}))[0]
    assert plan.actions == ["SET_f0=g", "SET_f29=g"]
    assert plan.queries == 1 + 60 + math.comb(30, 2) * 4


def test_refuses_senseless_settings() -> None:
    problem = number_line()
    with pytest.raises(SettingError, match="1 or more"):
        ExactPlanner(problem, at_least(1), state_limit=0)
    with pytest.raises(SettingError, match="zero or more"):
        ExactPlanner(problem, at_least(1)).plan(PEOPLE, budget=-1)
