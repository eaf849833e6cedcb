"""Relaxations of problems, and whom they help, against brute force on the relaxed problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, ExactPlanner, Problem, SettingError
from counterplan.audit import relaxation_reach
from counterplan.audit.relaxation_preconditions import without_one
from counterplan.audit.relaxation_report import RelaxationReport, Wilson
from counterplan.audit.relaxation_search import find_relaxations
from counterplan.audit.relaxations import KINDS, Relaxation, propose, relaxations_of
from counterplan.problem.conditions import parse
from planners.brute_force import brute_force

FEATURES: dict[str, Any] = {
    "age": {"kind": "number", "integer": True},
    "income": {"kind": "number", "integer": True, "minimum": 0, "bins": [0, 100, 1000]},
    "job": {"kind": "ordered", "values": ["none", "worker", "clerk", "manager"]},
    "city": {"kind": "category", "values": ["Bonn", "Trento"]},
    "sex": {"kind": "category", "values": ["f", "m"], "protected": True},
}


def loan(functions: dict[str, Any], max_actions: int = 2, **more: Any) -> Problem:
    return Problem.from_dict(
        {
            "counterplan": 1,
            "name": "loan",
            "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": max_actions,
            "features": FEATURES | more.pop("features", {}),
            "functions": functions,
        }
        | more
    )


EARN = {"add": "income", "arguments": [100, 200], "when": "age >= 18 and income + argument <= 5000", "cost": 1}
WORK = {"set": "job", "arguments": ["worker", "clerk"], "when": "argument > job", "cost": {"base": [1, 3]}}
ANN = {"age": 17, "income": 100, "job": "none", "city": "Bonn", "sex": "f"}


def accepts(**least: Any) -> BlackBox:
    """Accepts people with at least these numbers, or these values."""

    def decide(frame: pd.DataFrame) -> np.ndarray:
        good = np.ones(len(frame), bool)
        for name, value in least.items():
            column = frame[name]
            good &= (column >= value if isinstance(value, int) else column == value).to_numpy(bool)
        return np.where(good, "yes", "no")

    return BlackBox(decide)


def named(problem: Problem, kind: str) -> dict[str, Relaxation]:
    return {one.name: one for one in relaxations_of(problem) if one.kind == kind}


# The relaxations of a problem


def test_one_action_more() -> None:
    (one,) = named(loan({"EARN": EARN}), "actions").values()
    assert one.description == "allow 3 actions instead of 2"
    assert one.problem.max_actions == 3
    assert not named(loan({"EARN": EARN}, max_actions=64), "actions")


def test_one_precondition_less() -> None:
    problem = loan({"EARN": EARN, "WORK": WORK})
    (one,) = named(problem, "precondition").values()
    assert one.description == "drop the precondition `age >= 18` of EARN"
    assert one.problem.to_dict()["functions"]["EARN"]["when"] == "income + argument <= 5000"
    assert one.function == "EARN"
    skipped = {one.name for one in propose(problem)[1] if one.kind == "precondition"}
    assert skipped == {"EARN without income + argument <= 5000", "WORK without argument > job"}


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        ("true", []),
        ("age >= 18", [("age >= 18", "true")]),
        ("age >= 18 and (city == 'Bonn' and age < 60)", [
            ("age >= 18", "city == 'Bonn' and age < 60"),
            ("city == 'Bonn'", "age >= 18 and age < 60"),
            ("age < 60", "age >= 18 and city == 'Bonn'"),
        ]),
        ("18 <= age < 60", [("18 <= age", "age < 60"), ("age < 60", "18 <= age")]),
        ("age >= 18 or income > 0", [("age >= 18 or income > 0", "true")]),
        ("argument == 'clerk' and age >= 18 or argument in ['worker', 'none']", [
            ("age >= 18 for argument == 'clerk'", "argument == 'clerk' or argument in ['worker', 'none']"),
        ]),
        ("income > 0 and (argument == 'a' and age >= 18 or age >= 21)", [
            ("income > 0", "argument == 'a' and age >= 18 or age >= 21"),
            ("age >= 18 for argument == 'a'", "income > 0 and (argument == 'a' or age >= 21)"),
        ]),
    ],
)  # fmt: skip
def test_parts_of_preconditions(condition: str, parts: list[tuple[str, str]]) -> None:
    assert [(str(one), str(one.rest)) for one in without_one(parse(condition))] == parts


@given(worlds.problems())
@settings(max_examples=25)
def test_a_precondition_with_a_part_less_is_never_stricter(problem: Problem) -> None:
    states = problem.read(worlds.random_people(problem, 0, 30)).states
    for relaxation in relaxations_of(problem):
        if relaxation.kind == "precondition":
            relaxed = relaxation.problem.transitions
            assert len(relaxed) == len(problem.transitions)
            assert (relaxed.legal(states) >= problem.transitions.legal(states)).all()


def test_one_argument_further() -> None:
    fewer = {"add": "income", "arguments": [-50, 30, -10], "cost": {"base": [1, 2, 3]}}
    problem = loan({"EARN": EARN, "WORK": WORK, "SPEND": fewer, "ONCE": EARN | {"arguments": [500]}})
    further = named(problem, "argument")
    assert list(further) == ["EARN=300", "WORK=manager", "SPEND=60", "SPEND=-90", "ONCE=1000"]
    assert further["EARN=300"].description == "let EARN go one step further: 200 → 300"
    assert further["SPEND=-90"].description == "let SPEND go one step further: -50 → -90"
    function = further["SPEND=-90"].problem.transitions.functions[2]
    assert function.natives == (-50, 30, -10, -90)
    assert function.base.tolist() == [1, 2, 3, 1], "it costs as much as the argument that it follows"
    assert further["WORK=manager"].problem.transitions.functions[1].base.tolist() == [1, 3, 3]


def test_no_argument_beyond_the_last_value_or_the_bounds() -> None:
    every = {"set": "job", "arguments": "all", "cost": 1}
    narrow = {"add": "share", "arguments": [60, 80], "cost": 1}
    number = {"set": "share", "arguments": [20, 60], "cost": 1}
    move = {"set": "city", "arguments": ["Bonn"], "cost": 1}
    features = {"share": {"kind": "number", "minimum": 0, "maximum": 90}}
    problem = loan({"WORK": every, "GROW": narrow, "SHARE": number, "MOVE": move}, features=features)
    made, skipped = propose(problem)
    assert [one for one in made if one.kind == "argument"] == []
    reasons = {one.reason for one in skipped if one.kind == "argument"}
    assert reasons == {
        "there is no value beyond manager",
        "there is no value beyond none",
        "no value of share has room for a change of 100",
        "there is no value beyond 60",
        "there is no value beyond 20",
        "the values of city have no order",
    }


def test_durations_and_scaled_costs_are_kept() -> None:
    slow = WORK | {"duration": {"base": 2, "surcharge": [1, 4]}}
    problem = loan({"WORK": slow, "EARN": EARN | {"duration": 6}})
    further = named(problem, "argument")["WORK=manager"].problem.transitions.functions[0]
    assert further.duration_base.tolist() == [2, 2, 2]
    assert further.duration_surcharge.tolist() == [1, 4, 4]
    new = named(problem, "function")["CHANGE_CITY"].problem.transitions.functions[-1]
    assert new.duration_surcharge.tolist() == [6, 6], "the median of 3, 6, 6 and 6"
    assert new.base.tolist() == [1, 1], "the median of 1, 1, 1 and 3"


def test_one_function_more() -> None:
    problem = loan({"WORK": WORK})
    new = named(problem, "function")
    assert list(new) == ["CHANGE_INCOME", "CHANGE_CITY"], "age and sex are protected"
    assert new["CHANGE_CITY"].description == "allow CHANGE_CITY: set city to Bonn or Trento"
    assert new["CHANGE_INCOME"].problem.transitions.functions[-1].natives == (0, 100, 1000), "without people, the bins"
    people = problem.read(pd.DataFrame([ANN | {"income": 10 * i, "city": "Bonn"} for i in range(101)]))
    new = {one.name: one for one in relaxations_of(problem, people)}
    assert new["CHANGE_INCOME"].problem.transitions.functions[-1].natives == tuple(range(100, 1000, 100))
    assert new["CHANGE_CITY"].problem.transitions.functions[-1].natives == ("Bonn",)
    reasons = {one.name: one.reason for one in propose(problem)[1] if one.kind == "function"}
    assert reasons["CHANGE_AGE"] == "age: its name says that it is a protected attribute"
    assert reasons["CHANGE_SEX"] == "sex: it is protected"


def test_formulas_hold_after_a_new_function() -> None:
    features = {"debt": {"kind": "number", "bins": [0, 50]}, "share": {"kind": "number", "bins": [0, 1]}}
    causes = [{"from": "income", "to": "share", "formula": "debt / income"}]
    problem = loan({"EARN": EARN}, features=features, causes=causes)
    new = named(problem, "function")
    assert "CHANGE_SHARE" not in new
    relaxed = new["CHANGE_DEBT"].problem
    person = relaxed.state(ANN | {"debt": 10, "share": 0.1})
    action = [str(one) for one in relaxed.transitions.actions].index("CHANGE_DEBT=50")
    after = relaxed.transitions.apply(person[None], np.array([action]))[0]
    assert relaxed.describe(after)["share"] == 0.5


def test_a_feature_is_left_alone_that_follows_or_that_formulas_of_actions_read() -> None:
    features = {
        "months": {"kind": "number", "bins": [0]},
        "history": {"kind": "number", "bins": [0, 10]},
        "bmi": {"kind": "number", "bins": [0]},
        "weight": {"kind": "number", "bins": [60]},
    }
    causes = [
        {"from": "months", "to": "history", "formula": "before(history) + argument"},
        {"from": "weight", "to": "bmi", "formula": "weight / 3"},
    ]
    _, skipped = propose(loan({"EARN": EARN}, features=features, causes=causes))
    reasons = {one.name: one.reason for one in skipped}
    assert "depends on the action" in reasons["CHANGE_MONTHS"]
    assert reasons["CHANGE_HISTORY"] == "history: it follows from months"
    assert reasons["CHANGE_BMI"] == "bmi: it follows from weight"
    assert "CHANGE_WEIGHT" not in reasons


@given(worlds.problems())
@settings(max_examples=40)
def test_relaxed_problems_read_back_and_share_the_cache(problem: Problem) -> None:
    made, skipped = propose(problem, problem.read(worlds.random_people(problem, 1, 20)))
    assert [one for one in skipped if "not a valid problem" in one.reason] == []
    assert len({one.name for one in made}) == len(made)
    assert [one.kind for one in made] == sorted((one.kind for one in made), key=KINDS.index)
    for relaxation in made:
        assert relaxation.problem.query_fingerprint == problem.query_fingerprint
        assert relaxation.problem.features == problem.features
        assert relaxation.problem.fingerprint != problem.fingerprint
        assert Problem.from_dict(relaxation.problem.to_dict()).fingerprint == relaxation.problem.fingerprint


# Whom they help


def assert_agrees(problem: Problem, table: pd.DataFrame, model: object, report: RelaxationReport) -> int:
    """Compare every outcome with brute force; returns the number of people helped, counted by relaxation."""
    people, box = problem.read(table), BlackBox(model)
    for number, relaxation in enumerate(report.relaxations):
        before = [brute_force(problem, people, row, box) is not None for row in range(len(people))]
        now = [brute_force(relaxation.problem, people, row, box) is not None for row in range(len(people))]
        assert np.greater_equal(now, before).all(), f"{relaxation.name} takes recourse away"
        stuck = np.flatnonzero(~np.array(before))
        assert report.people.table.index.tolist() == table.index[stuck].tolist()
        assert report.outcomes[:, number].tolist() == [int(now[row]) for row in stuck], relaxation.name
        plans = report.plans(relaxation.name)
        assert [plan.person for plan in plans] == [table.index[row] for row in stuck if now[row]]
        assert all(plan.replay(relaxation.problem, box).ok and plan.verified for plan in plans)
        shortest = [len(plan.steps) for plan in plans]
        assert all(0 < steps <= relaxation.problem.max_actions for steps in shortest)
    return int((report.outcomes == 1).sum())


@settings(max_examples=40)
@given(st.data())
def test_outcomes_agree_with_brute_force(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem, 4))
    model = data.draw(worlds.black_boxes(problem))
    report = find_relaxations(problem, model, table)
    assert_agrees(problem, table, model, report)


def test_outcomes_agree_with_brute_force_in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many random worlds, with states expanded and queried in small portions; enough of the outcomes are both ways."""
    monkeypatch.setattr(relaxation_reach, "_BATCH_SIZE", 40)
    monkeypatch.setattr(relaxation_reach, "_WAVES", (1, 2))
    helped = examined = 0
    for seed in range(40):
        problem = Problem.from_dict(worlds.random_problem(seed))
        table = worlds.random_people(problem, seed, 3)
        model = worlds.random_black_box(problem, seed)
        report = find_relaxations(problem, model, table, reference=worlds.random_people(problem, seed, 8))
        helped += assert_agrees(problem, table, model, report)
        examined += report.outcomes.size
    assert examined > 200
    assert 0.05 < helped / examined < 0.8
