"""Relaxations of problems, and whom they help, against brute force on the relaxed problems."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, ExactPlanner, Problem, SettingError
from counterplan.audit import relaxation_reach
from counterplan.audit.relaxation_kinds import KINDS, propose
from counterplan.audit.relaxation_preconditions import without_one
from counterplan.audit.relaxation_report import RelaxationReport
from counterplan.audit.relaxations import Relaxation, find_relaxations, relaxations_of
from counterplan.problem.conditions import parse
from counterplan.search.orders import rollout
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
    join = {"set": "job", "arguments": ["clerk"], "when": "argument != 'clerk' or sex == 'm'", "cost": 1}
    problem = loan({"EARN": EARN, "WORK": WORK, "JOIN": join})
    (one,) = named(problem, "precondition").values()
    assert one.description == "drop the precondition `age >= 18` of EARN"
    assert one.problem.to_dict()["functions"]["EARN"]["when"] == "income + argument <= 5000"
    assert one.function == "EARN"
    skipped = {one.name for one in propose(problem)[1] if one.kind == "precondition"}
    assert skipped == {
        "EARN without income + argument <= 5000",
        "WORK without argument > job",
        "JOIN without argument != 'clerk' or sex == 'm'",
    }


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
    people = pd.DataFrame([ANN | {"income": 10 * i, "city": "Bonn"} for i in range(101)])
    new = {one.name: one for one in relaxations_of(problem, people)}
    assert new["CHANGE_INCOME"].problem.transitions.functions[-1].natives == tuple(range(100, 1000, 100))
    assert new["CHANGE_CITY"].problem.transitions.functions[-1].natives == ("Bonn",)
    mostly = problem.read(pd.DataFrame([ANN | {"income": max(0, 10 * i - 800)} for i in range(101)]))
    (income,) = (one for one in relaxations_of(problem, mostly) if one.name == "CHANGE_INCOME")
    values = income.problem.transitions.functions[-1].natives
    assert values == (0, 30, 50, 80, 100, 110, 130, 160, 180), "quantiles of the others, too, where most have one value"
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


def assert_agrees(problem: Problem, table: pd.DataFrame, box: BlackBox, report: RelaxationReport) -> None:
    """Compare every outcome with brute force on the relaxed problem."""
    people = problem.read(table)

    def have_recourse(where: Problem, rows: Any) -> list[bool]:
        return [brute_force(where, people, row, box) is not None for row in rows]

    before = np.array(have_recourse(problem, range(len(people))), bool)
    stuck = np.flatnonzero(~before)
    assert report.people.table.index.tolist() == table.index[stuck].tolist()
    for number, relaxation in enumerate(report.relaxations):
        assert all(have_recourse(relaxation.problem, np.flatnonzero(before))), f"{relaxation.name} takes recourse away"
        helped = have_recourse(relaxation.problem, stuck)
        assert (report.outcomes[:, number] == helped).all(), relaxation.name
        assert_plans_hold(problem, box, report, number)


def assert_plans_hold(problem: Problem, box: BlackBox, report: RelaxationReport, number: int) -> None:
    """The plans that a relaxation adds are legal in the relaxed problem, end well, and use what is new."""
    relaxation, rows = report.relaxations[number], np.flatnonzero(report.outcomes[:, number] == 1)
    plans = report.plans(relaxation.name)
    assert [plan.person for plan in plans] == report.people.table.index[rows].tolist()
    assert all(plan.verified and not plan.optimal for plan in plans)
    starts, actions = report.people.states[rows], report.actions[number][rows]
    ends, _, legal = rollout(relaxation.problem.transitions, starts, actions)
    assert legal.all()
    assert box.session(problem, report.people)(ends, rows).all()
    known = {str(action) for action in problem.transitions.actions}
    for plan in plans:
        if relaxation.kind in ("argument", "function"):
            assert not {*plan.actions} <= known
        elif relaxation.kind == "actions":
            assert len(plan.actions) == relaxation.problem.max_actions


@settings(max_examples=12)
@given(st.data())
def test_outcomes_agree_with_brute_force(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem, 3))
    box = BlackBox(data.draw(worlds.black_boxes(problem)))
    assert_agrees(problem, table, box, find_relaxations(problem, box, table))


def test_outcomes_agree_with_exact_search_in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many random worlds, with states expanded and queried in small portions; outcomes of every kind are both ways."""
    monkeypatch.setattr(relaxation_reach, "_BATCH_SIZE", 40)
    monkeypatch.setattr(relaxation_reach, "_WAVES", (1, 2))
    counts = {kind: [0, 0] for kind in KINDS}
    for seed in range(25):
        problem = Problem.from_dict(worlds.random_problem(seed))
        box = BlackBox(worlds.random_black_box(problem, seed))
        table = worlds.random_people(problem, seed, 4)
        report = find_relaxations(problem, box, table, reference=worlds.random_people(problem, seed, 8))
        for number, relaxation in enumerate(report.relaxations):
            exact = ExactPlanner(relaxation.problem, box).plan(report.people, refused=True)
            helped = (exact.statuses == "found").astype(int)
            assert report.outcomes[:, number].tolist() == helped.tolist(), (seed, relaxation.name)
            assert_plans_hold(problem, box, report, number)
            counts[relaxation.kind][0] += len(helped) - int(helped.sum())
            counts[relaxation.kind][1] += int(helped.sum())
    assert all(min(both) > 0 for both in counts.values()), counts


TABLE = pd.DataFrame(
    [
        ANN | {"age": 30, "income": 50},  # 550 is out of reach by two actions
        ANN | {"income": 300},  # too young to earn
        ANN | {"income": 150, "age": 30},
        ANN | {"income": 900, "city": "Trento"},  # accepted
        ANN | {"age": 30, "income": 200},  # has recourse
        ANN,  # too young and too poor
    ],
    index=["short", "young", "near", "accepted", "has recourse", "far"],
)


def test_who_is_helped_by_what() -> None:
    report = find_relaxations(loan({"EARN": EARN, "WORK": WORK}), accepts(income=600), TABLE)
    assert report.by_person.index.tolist() == ["short", "young", "near", "far"]
    helped = {name: column.index[column].tolist() for name, column in report.by_person.items() if column.any()}
    assert helped == {
        "EARN without age >= 18": ["young"],
        "EARN=300": ["short", "near"],
        "max_actions=3": ["short", "near"],
    }
    assert report.table.columns.tolist() == [
        *("kind", "relaxation", "description", "people", "helped", "share", "low", "high", "unknown")
    ]
    assert report.table["helped"].tolist()[:4] == [2, 2, 1, 0]
    assert (report.table[["share", "low", "high"]].iloc[0] == 0.5).all(), "everybody was examined"
    assert report.best["relaxation"].tolist() == ["EARN=300", "EARN without age >= 18"]
    assert report.best["helped"].tolist() == [2, 1]
    assert report.best["in_all"].tolist() == [2, 3]
    assert report.helped_by_none.tolist() == ["far"]
    assert report.undecided.empty
    assert {*report.outcome_by_person.to_numpy().ravel()} == {"helped", "not helped"}
    first, second, *_, last = report.to_text().splitlines()
    assert first == "4 people without recourse. What would help (an explanation, not advice):"
    assert second == "  2: let EARN go one step further: 200 → 300", "no shares of 4 people"
    assert report.to_text(min_group=4).splitlines()[1] == "  2 (50%): let EARN go one step further: 200 → 300"
    assert "2 relaxations help nobody." in report.to_text()
    assert last == "1 of 4 people are helped by none of them."
    assert [plan.actions for plan in report.plans("EARN=300")] == [["EARN=300", "EARN=300"], ["EARN=200", "EARN=300"]]
    assert json.loads(json.dumps(report.to_dict()))["best"][0]["in_all"] == 2
    with pytest.raises(SettingError, match="there is no relaxation 'EARN=30'; did you mean 'EARN=300'"):
        report.plans("EARN=30")


def test_only_new_states_are_queried() -> None:
    problem, box = loan({"EARN": EARN, "WORK": WORK}), accepts(income=600)
    people = problem.read(TABLE)
    stuck = ExactPlanner(problem, box).plan(people).statuses == "infeasible"
    box.clear_cache()  # so that a second query about a state would count
    before = box.queries
    report = find_relaxations(problem, box, people, stuck=stuck, kinds=["actions"])
    longer = report.relaxations[0].problem
    known, all_states = (len(relaxation_reach.reach(one, people.states[stuck], 1000)[0]) for one in (problem, longer))
    assert 0 < report.queries == box.queries - before <= all_states - known


def test_a_sample_is_seeded_and_has_intervals() -> None:
    problem = loan({"EARN": EARN})
    table = pd.DataFrame([ANN | {"income": 10 * i, "age": 17 + i % 2} for i in range(40)])
    box = accepts(income=600)
    whole = find_relaxations(problem, box, table)
    assert not whole.is_sample
    one, two, other = (find_relaxations(problem, box, table, sample=12, seed=seed) for seed in (1, 1, 2))
    assert one.people.table.index.tolist() == two.people.table.index.tolist() != other.people.table.index.tolist()
    assert one.stuck == whole.stuck
    assert one.is_sample
    assert (one.by_person == whole.by_person.loc[one.people.table.index]).all(axis=None)
    assert (one.table["people"] == 12).all()
    assert (one.table["low"] < one.table["share"]).any()
    assert (one.table["high"] > one.table["share"]).all()
    assert "(a sample of" in one.to_text()


@settings(max_examples=15)
@given(st.integers(0, 200), st.integers(0, 40))
def test_a_budget_is_kept_and_nothing_is_claimed_beyond_it(seed: int, budget: int) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    table = worlds.random_people(problem, seed, 6)
    model = worlds.random_black_box(problem, seed)
    whole = find_relaxations(problem, model, table)
    box = BlackBox(model, budget=10_000)
    stuck = np.isin(table.index, whole.people.table.index)
    part = find_relaxations(problem, box, table, stuck=stuck, budget=budget)
    assert box.queries == part.queries <= budget
    assert box.budget == 10_000, "the black box's own budget is as it was"
    known = part.outcome_by_person
    assert (known.eq(whole.outcome_by_person.loc[known.index]) | known.eq("unknown")).all(axis=None)
    assert part.table["unknown"].sum() == known.eq("unknown").to_numpy().sum()


def test_people_are_not_called_stuck_without_a_proof() -> None:
    problem, box = loan({"EARN": EARN, "WORK": WORK}), accepts(income=600)
    nothing = find_relaxations(problem, box, TABLE, budget=0)
    assert (nothing.stuck, nothing.unproved, nothing.queries) == (0, 6, 0)
    assert nothing.to_text().endswith("Neither a plan nor a proof: 6 refused people.")
    little = find_relaxations(problem, box, TABLE, budget=10)
    assert little.stuck + little.unproved >= 4
    assert little.unproved > 0
    unasked = find_relaxations(problem, accepts(income=600), TABLE.iloc[[0]], stuck=[True], budget=0)
    assert unasked.to_text() == "1 person without recourse, none of them examined: the budget was spent before."


def test_a_state_limit_leaves_outcomes_unknown() -> None:
    functions = {"EARN": EARN | {"when": "true"}, "WORK": WORK}
    features = {"region": {"kind": "category", "values": ["north", "east", "south", "west"]}}
    problem, box = loan(functions, max_actions=4, features=features), accepts(income=9000)
    table, stuck = pd.DataFrame([ANN | {"region": "east"}]), np.ones(1, bool)
    few = find_relaxations(problem, box, table, stuck=stuck, state_limit=3)
    assert (few.outcome_by_person == "unknown").all(axis=None), "not even the states of the problem itself are known"
    assert few.undecided.tolist() == [0]
    assert few.queries == 0
    assert few.to_text().endswith("0 people are helped by at least one of them; undecided: 1.")
    known = len(relaxation_reach.reach(problem, problem.read(table).states, 1000)[0]) - 1
    some = find_relaxations(problem, box, table, stuck=stuck, state_limit=known)
    unknown = some.outcome_by_person.columns[some.outcome_by_person.iloc[0] == "unknown"]
    assert unknown.tolist() == ["CHANGE_REGION"], "three times as many states are new"
    row = some.table[some.table["unknown"] == 1].iloc[0]
    assert (row["share"], row["low"], row["high"]) == (0, 0, 1)


@pytest.mark.parametrize(
    ("table", "least"), [(TABLE.iloc[:0], 600), (TABLE.iloc[[3]], 600), (TABLE, 0)], ids=["empty", "accepted", "all"]
)
def test_nobody_is_stuck(table: pd.DataFrame, least: int) -> None:
    report = find_relaxations(loan({"EARN": EARN}), accepts(income=least), table)
    assert report.stuck == 0
    assert (report.table["people"] == 0).all()
    assert report.best.empty
    assert report.helped_by_none.empty
    assert report.to_text() == "Nobody is proved to have no recourse."
    assert json.loads(json.dumps(report.to_dict()))["relaxations"][0]["share"] is None


def test_values_of_few_people_are_no_reference() -> None:
    problem, box = loan({"EARN": EARN}), accepts(city="Trento")
    few, many = TABLE[TABLE["city"] == "Bonn"], pd.concat([TABLE[TABLE["city"] == "Bonn"]] * 4, ignore_index=True)
    assert find_relaxations(problem, box, few).by_person["CHANGE_CITY"].all(), "the values of the problem file"
    assert not find_relaxations(problem, box, many).by_person["CHANGE_CITY"].any(), "nobody lives in Trento"
    assert find_relaxations(problem, box, many, reference=TABLE).by_person["CHANGE_CITY"].all()


def test_problems_without_functions() -> None:
    report = find_relaxations(loan({}), accepts(city="Trento"), TABLE)
    assert report.table.iloc[0]["relaxation"] == "CHANGE_CITY"
    assert report.table.iloc[0]["share"] == 1


def test_kinds_and_names_are_chosen() -> None:
    problem, box = loan({"EARN": EARN, "WORK": WORK}), accepts(income=600)
    report = find_relaxations(problem, box, TABLE, kinds=["argument", "actions"], exclude=["WORK"])
    assert [one.name for one in report.relaxations] == ["EARN=300", "max_actions=3"]
    report = find_relaxations(problem, box, TABLE, exclude=["EARN=300", "max_actions=3", "CHANGE_AGE"])
    assert not {"EARN=300", "max_actions=3"} & {*report.by_person}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kinds": ["actions", "steps"]}, "'kinds' must be some of precondition, argument, actions, function"),
        ({"exclude": ["EARNS"]}, "'exclude' must be a list of names of relaxations or functions; not EARNS"),
        ({"sample": 0}, "'sample' must be an integer, 1 or more; not 0"),
        ({"budget": -1}, "'budget' must be an integer, 0 or more"),
        ({"state_limit": None}, "'state_limit' must be an integer, 1 or more"),
        ({"seed": -1}, "'seed' must be an integer, 0 or more; not -1"),
        ({"stuck": [True]}, "'stuck' must be a bool array of shape"),
    ],
)
def test_settings_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=re.escape(message)):
        find_relaxations(loan({"EARN": EARN}), accepts(income=600), TABLE, **parameters)


def test_extra_columns_and_dtypes_reach_the_model() -> None:
    def decide(frame: pd.DataFrame) -> np.ndarray:
        assert isinstance(frame["city"].dtype, pd.CategoricalDtype)
        return np.where(frame["income"] >= frame["needed"], "yes", "no")

    table = TABLE.assign(needed=[600, 5000, 5000, 0, 600, 5000]).astype({"city": "category"})
    report = find_relaxations(loan({"EARN": EARN, "WORK": WORK}), decide, table, kinds=["actions"])
    assert report.by_person["max_actions=3"].to_dict() == {"short": True, "young": False, "near": False, "far": False}


def test_progress_counts_people() -> None:
    done: list[int] = []
    find_relaxations(loan({"EARN": EARN}), accepts(income=600), TABLE, progress=done.append)
    assert sum(done) == 4
