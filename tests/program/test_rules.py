"""Rules: true exactly where the way to the leaf is, and said in plain English."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan.problem import Problem
from counterplan.problem.binding import Scope, bind
from counterplan.program import INTERVENE, Choice, Leaf, Program, Split, Test, Tree, leaves
from counterplan.program.rule_lengths import longest_rule, mean_rule_length
from counterplan.program.rules import Rule
from counterplan.program.wording import choice_words, verb
from program.random_programs import random_program, states_at

WORLD = Problem.from_dict(
    {
        "counterplan": 1,
        "name": "words",
        "outcome": {"column": "y", "values": [0, 1], "favourable": 1},
        "max_actions": 3,
        "features": {
            "age": {"kind": "number", "label": "your age", "unit": "years", "integer": True, "minimum": 18, "bins": []},
            "income": {"kind": "number", "label": "your income", "unit": "€", "missing": True, "bins": []},
            "job": {"kind": "ordered", "label": "your job", "values": ["none", "worker", "skilled", "boss", "chief"]},
            "purpose": {
                "kind": "category",
                "label": "the purpose of the loan",
                "values": ["car", "repairs", "tv", "trip", "house"],
                "labels": {"tv": "a new TV"},
            },
            "savings": {"kind": "ordered", "label": "your savings", "values": [0, 1, 2], "missing": True},
        },
        "functions": {
            "JOB": {"set": "job", "arguments": "all", "when": "argument > job", "cost": 1},
            "EARN": {"add": "income", "arguments": [5000, 20000], "when": "income + argument < 90000", "cost": 1},
            "AGE": {"add": "age", "arguments": [1, -2], "when": "age + argument <= 60", "cost": 1},
            "PURPOSE": {"set": "purpose", "arguments": ["car", "tv"], "cost": 1},
        },
    }
)
AGE, INCOME, JOB, PURPOSE, SAVINGS = range(5)
ACTIONS = {str(action): action.index for action in WORLD.transitions.actions}
STOP = Choice(WORLD.transitions.stop)


def rule(*path: tuple[Test, bool], do: str = "STOP", node: str = INTERVENE, others: tuple[Choice, ...] = ()) -> Rule:
    """The rule of a leaf at the end of `path`."""
    tree: Tree = Leaf((*others, Choice(ACTIONS[do])))
    leaf = 0
    for test, passed in reversed(path):
        tree = Split(test, tree, Leaf(())) if passed else Split(test, Leaf(()), tree)
        leaf = leaf if passed else leaf + 1
    return Program(WORLD, {node: tree}).rule(node, leaf, len(others))


def test_numbers_in_words() -> None:
    young, old, never = Test(AGE, at_least=24.5), Test(AGE, at_least=40), Test(AGE, at_least=19)
    assert rule((young, True)).text == "your age is at least 25 years"
    assert rule((young, False)).text == "your age is below 25 years"
    assert rule((young, True), (old, False)).text == "your age is between 25 and 39 years"
    assert rule((young, True), (old, False)).formal == "age >= 25 and age < 40"
    assert rule((never, False)).text == "your age is 18 years"
    assert rule((never, False)).formal == "age == 18"
    assert rule((young, True), (old, False)).length == 1
    assert rule((Test(AGE, at_least=18), True)).formal == "true", "everybody is 18 or older"
    assert rule((young, True), (never, False)).text == "this case never occurs"


def test_what_may_be_missing_is_said() -> None:
    high, low = Test(INCOME, at_least=50000.5), Test(INCOME, at_least=30000)
    assert rule((high, False)).text == "your income is below 50,000.5 € or unknown"
    assert rule((high, False)).formal == "income < 50000.5 or missing(income)"
    assert rule((high, False)).to_data() == [{"feature": "income", "below": 50000.5, "missing": True}]
    assert rule((low, True), (high, False)).text == "your income is at least 30,000 and below 50,000.5 €"
    assert rule((high, False), (Test(INCOME), False)).text == "your income is below 50,000.5 €"
    assert rule((Test(INCOME), True)).text == "your income is unknown"
    assert rule((Test(INCOME), False)).text == "your income is known"
    assert rule((Test(INCOME), True)).to_data() == [{"feature": "income", "in": [], "missing": True}]
    assert rule((Test(AGE), False)).length == 0, "an age is never missing"
    assert rule((Test(SAVINGS, at_least=1), False)).text == "your savings are 0 or unknown"


def test_categories_in_words() -> None:
    def text(feature: int, *places: int, passed: bool = True) -> str:
        return rule((Test(feature, among=places), passed)).text

    assert text(JOB, 0, 1) == 'your job is "none" or "worker"'
    assert text(JOB, 0, 1, 2) == 'your job is at most "skilled"'
    assert text(JOB, 0, 1, passed=False) == 'your job is at least "skilled"'
    assert text(JOB, 1, 2, 3) == 'your job is between "worker" and "boss"'
    assert text(JOB, 2) == 'your job is "skilled"'
    assert text(PURPOSE, 0, 2) == 'the purpose of the loan is "car" or "a new TV"'
    assert text(PURPOSE, 0, passed=False) == 'the purpose of the loan is not "car"'
    assert text(PURPOSE, 0, 1, passed=False) == 'the purpose of the loan is neither "car" nor "repairs"'
    merged = rule((Test(PURPOSE, among=(0,)), False), (Test(PURPOSE, among=(1, 2)), False))
    assert merged.text == 'the purpose of the loan is "trip" or "house"'
    assert merged.formal == "purpose in ['trip', 'house']"
    assert merged.to_data() == [{"feature": "purpose", "in": ["trip", "house"]}]
    assert rule((Test(PURPOSE, among=(0,)), False)).formal == "purpose != 'car'"


def test_what_the_action_or_the_node_implies_is_left_out() -> None:
    below_boss = Test(JOB, at_least=3), False
    assert rule(below_boss).text == 'your job is at most "skilled"'
    assert rule(below_boss, do="JOB=boss").formal == "true", "nobody else could become boss"
    assert rule(below_boss, do="JOB=chief").text == 'your job is at most "skilled"'
    assert rule((Test(INCOME), False), do="EARN=5000").length == 0, "one cannot add to what is unknown"
    assert rule((Test(INCOME, at_least=85001), False), do="EARN=5000").length == 0
    assert rule((Test(INCOME, at_least=84000), False), do="EARN=5000").length == 1
    assert rule((Test(AGE, at_least=60), False), do="AGE=1").formal == "true"
    assert rule((Test(AGE, at_least=20), True), do="AGE=-2").formal == "true", "18 is the least"
    assert rule((Test(AGE, at_least=20), True), do="AGE=1").formal == "age >= 20"
    assert rule((Test(PURPOSE, among=(0, 2)), True), do="PURPOSE=car", node="PURPOSE").never, "it is the car already"
    there = rule(
        (Test(PURPOSE, among=(0, 2)), True), do="STOP", others=(Choice(ACTIONS["PURPOSE=tv"]),), node="PURPOSE"
    )
    assert there.conditions == ()


def test_no_condition_is_a_true_sentence_too() -> None:
    assert rule(do="JOB=boss").text == "it comes first for everyone who can take it"
    assert rule(do="JOB=boss", node="EARN").text == "it comes next for everyone who can take it"
    assert "nothing more is needed" in rule(node="JOB").text


def test_a_late_choice_does_not_name_all_that_was_impossible() -> None:
    others = tuple(Choice(ACTIONS[name]) for name in ("JOB=chief", "EARN=5000", "AGE=1", "AGE=-2"))
    found = rule(do="PURPOSE=tv", others=others)
    assert found.text == (
        'changing your job to "chief", raising your income by 5,000 € and 2 other steps '
        "are not possible for you at this point"
    )
    assert [one["cannot"] for one in found.to_data()] == ["JOB=chief", "EARN=5000", "AGE=1", "AGE=-2"]


def test_a_second_choice_says_what_was_impossible() -> None:
    others = (Choice(ACTIONS["JOB=chief"]), Choice(ACTIONS["EARN=5000"]), Choice(ACTIONS["EARN=5000"], reach=60000))
    found = rule((Test(AGE, at_least=30), True), do="PURPOSE=tv", others=others)
    assert found.text == (
        'your age is at least 30 years, while changing your job to "chief" and raising your income '
        "are not possible for you at this point"
    )
    assert found.length == 4
    assert found.to_data()[1:] == [
        {"cannot": "JOB=chief"},
        {"cannot": "EARN=5000"},
        {"cannot": "EARN to 60000"},
    ]


def test_choices_in_words() -> None:
    choices = [Choice(ACTIONS[name]) for name in ("JOB=boss", "EARN=5000", "AGE=-2")]
    choices += [Choice(ACTIONS["EARN=5000"], 60000), Choice(ACTIONS["AGE=1"], 30)]
    assert [" ".join(choice_words(WORLD, choice)) for choice in choices] == [
        'change your job to "boss"', "raise your income by 5,000 €", "lower your age by 2 years",
        "raise your income to 60,000 €", "move your age to 30 years",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "word"),
    [
        ("your savings", "are"),
        ("your hours per week", "are"),
        ("the purpose of your loans", "is"),
        ("your marital status", "is"),
        ("your class", "is"),
        ("the country you come from", "is"),
    ],
)
def test_singular_and_plural(label: str, word: str) -> None:
    assert verb(label) == word


def follows(path: tuple[tuple[Test, bool], ...], states: np.ndarray) -> np.ndarray:
    """Where the way to a leaf is taken."""
    return np.all([np.ones(len(states), bool), *(test(states) == passed for test, passed in path)], axis=0)


def fulfils(problem: Problem, data: list[dict[str, Any]], state: np.ndarray) -> bool:
    """Whether a rule as data holds, read as its documentation says."""
    told = problem.describe(state)
    for condition in data:
        if "cannot" in condition:
            continue
        value = told[condition["feature"]]
        if value is None:
            fine = condition.get("missing", False)
        else:
            fine = value >= condition.get("at_least", -np.inf) if "at_least" in condition else True
            fine &= value < condition["below"] if "below" in condition else True
            fine &= value in condition["in"] if "in" in condition else True
        if not fine:
            return False
    return True


def check_rules(program: Program, states: np.ndarray, rng: np.random.Generator) -> int:
    """Every rule agrees with its way, as arrays, as a formal text and as data, wherever its choice is possible."""
    problem = program.problem
    scope, checked = Scope({feature.name: feature.column() for feature in problem.features}), 0
    for node, tree in program.trees.items():
        here = states_at(program, node, states, rng)
        legal = problem.transitions.legal(here)
        for leaf, (path, end) in enumerate(leaves(tree)):
            for rank, choice in enumerate(end.choices):
                found = program.rule(node, leaf, rank)
                there = here[choice.pick(problem.transitions, here, legal) >= 0]
                wanted = follows(path, there)
                assert np.array_equal(found(there), wanted), (node, found.formal)
                formal = np.broadcast_to(bind(found.formal, scope)(there), wanted.shape)
                assert np.array_equal(formal, wanted), (node, found.formal)
                if not found.never:
                    assert [fulfils(problem, found.to_data(), state) for state in there[:40]] == wanted[:40].tolist()
                assert found.length <= len({test.feature for test, _ in path}) + rank
                assert found.length == len(found.because.conditions), "which the experiment counts"
                assert found.text
                checked += len(there)
    return checked


@settings(max_examples=25)
@given(worlds.problems(), st.integers(0, 10**6))
def test_a_rule_is_true_where_its_way_is_taken(problem: Problem, seed: int) -> None:
    states = problem.read(worlds.random_people(problem, seed, 60)).states
    check_rules(random_program(problem, seed), states, np.random.default_rng(seed))


def test_rules_of_benchmarks(benchmark_problem: Problem) -> None:
    states = benchmark_problem.read(worlds.random_people(benchmark_problem, 1, 200)).states
    assert check_rules(random_program(benchmark_problem, 5, depth=4), states, np.random.default_rng(0)) > 1000


def test_lengths_count_the_features_of_steps_taken() -> None:
    program = Program(
        WORLD,
        {
            INTERVENE: Split(
                Test(JOB, at_least=2),
                Leaf((Choice(ACTIONS["JOB=chief"]),)),
                Split(Test(AGE, at_least=40), Leaf((Choice(ACTIONS["JOB=boss"]),)), Leaf((STOP,))),
            ),
            "JOB": Leaf((STOP,)),
        },
    )
    state = {"age": 50, "income": None, "purpose": "tv", "savings": 1}
    people = [WORLD.state(state | {"job": job, "age": age}) for job, age in (("boss", 50), ("none", 50), ("none", 20))]
    run = program.run(np.stack(people))
    assert run.stopped.tolist() == [True, True, False]
    assert mean_rule_length(program, run) == 1.5
    assert longest_rule(program, run) == 2
    nobody = program.run(np.stack(people[2:]))
    assert (mean_rule_length(program, nobody), longest_rule(program, nobody)) == (0.0, 0)
