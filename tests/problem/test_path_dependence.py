"""Formulas with `argument` and `before(…)`: what they do, which functions they make dependent, and their mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, ExactPlanner, ProblemError
from counterplan.problem import Problem
from counterplan.problem.lint import lint
from waiting import PEOPLE, WAITING, decide, waiting

NUMBER = {"kind": "number", "bins": []}
JOB = {"kind": "ordered", "values": ["none", "clerk", "manager"]}


def problem_of(formulas: dict[str, str], **functions: dict[str, Any]) -> Problem:
    """Numbers `x`, `y`, `z`, `before`, and an ordered `job`; formulas by edge, such as `x y`."""
    causes = [dict(zip(("from", "to"), edge.split(), strict=True), formula=text) for edge, text in formulas.items()]
    features = dict.fromkeys(("x", "y", "z", "before"), NUMBER) | {"job": JOB}
    return Problem.from_dict(WAITING | {"features": features, "functions": functions, "causes": causes})


def adding(name: str, *arguments: float) -> dict[str, Any]:
    return {"add": name, "arguments": list(arguments or (1, 2)), "cost": 1}


def setting(name: str, *arguments: Any) -> dict[str, Any]:
    return {"set": name, "arguments": list(arguments) or "all", "cost": 1}


def after(problem: Problem, person: dict[str, Any], *actions: str) -> dict[str, Any]:
    """The person after some legal actions."""
    index = {str(action): action.index for action in problem.transitions.actions}
    states = problem.state(person)[None]
    for action in actions:
        states, _, legal = problem.transitions.step(states, np.array([index[action]]))
        assert legal.all()
    return problem.describe(states[0])


def test_waiting_advances_every_clock_and_accounts_add_inquiries() -> None:
    ann = dict(PEOPLE.iloc[0])
    waited = {"months_waited": 6, "account_age": 36, "job_tenure": 20, "accounts": 1, "recent_inquiries": 1}
    assert after(waiting(), ann, "WAIT=6") == waited
    assert after(waiting(), ann, "WAIT=6", "OPEN_ACCOUNTS=2") == waited | {"accounts": 3, "recent_inquiries": 3}
    assert after(waiting(), ann, "OPEN_ACCOUNTS=2", "WAIT=6") == waited | {"accounts": 3, "recent_inquiries": 2}
    twice = after(waiting(), ann, "WAIT=6", "WAIT=12")
    assert (twice["account_age"], twice["job_tenure"], twice["recent_inquiries"]) == (48, 32, 0)


def test_results_stay_within_bounds_and_missing_values_stay_missing() -> None:
    problem = waiting()
    states = problem.read(PEOPLE).states
    actions = [str(action) for action in problem.transitions.actions]
    legal = problem.transitions.legal(states)
    assert legal[:, actions.index("OPEN_ACCOUNTS=1")].all()
    assert legal[:, actions.index("OPEN_ACCOUNTS=2")].tolist() == [True, True, False, False], "more than 5 inquiries"
    assert after(problem, dict(PEOPLE.iloc[2]) | {"job_tenure": None}, "WAIT=6")["job_tenure"] is None


def test_exact_search_plans_with_them_and_plans_replay() -> None:
    box = BlackBox(decide)
    plans = ExactPlanner(waiting(), box).plan(PEOPLE)
    steps = [[f"{step.function}={step.argument}" for step in plan.steps] for plan in plans]
    assert steps[0] == ["OPEN_ACCOUNTS=2", "WAIT=12"], "the other order leaves two inquiries"
    assert steps[1] == ["WAIT=6", "OPEN_ACCOUNTS=1"]
    assert steps[3] == ["WAIT=12"]
    assert [plan.status.value for plan in plans] == ["found", "found", "infeasible", "found"]
    assert all(plan.replay(waiting(), box).ok for plan in plans if plan.steps)


def test_the_argument_is_that_of_the_action_through_all_consequences() -> None:
    problem = problem_of({"x y": "2 * x", "y z": "before(z) + 10 * argument + before(x)"}, ADD=adding("x"))
    start = {"x": 3, "y": 0, "z": 100, "before": 0, "job": "none"}
    assert after(problem, start, "ADD=2") == start | {"x": 5, "y": 10, "z": 123}
    assert after(problem, start, "ADD=2", "ADD=1") == start | {"x": 6, "y": 12, "z": 138}


def test_before_is_the_value_before_any_effect_and_no_edge_of_the_graph() -> None:
    problem = problem_of({"x y": "before(z) + before(y)", "y z": "x - before(x) + before(y)"}, SET=setting("x", 1, 7))
    start = {"x": 3, "y": 1, "z": 4, "before": 0, "job": "none"}
    assert after(problem, start, "SET=7") == start | {"x": 7, "y": 5, "z": 5}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("formula", ["1e308 * argument", "account_age + 1e308 * argument", "1 / (argument * -1e308)"])
def test_amounts_that_no_number_can_hold_are_refused(formula: str) -> None:
    causes = [WAITING["causes"][0] | {"formula": formula}, *WAITING["causes"][1:]]
    with pytest.raises(ProblemError, match=r"causes\[0\].formula: .* larger than any number that can be stored"):
        Problem.from_dict(WAITING | {"causes": causes})


def test_ranks_before_the_action() -> None:
    problem = problem_of({"job x": "x + rank(job) - rank(before(job))"}, WORK=setting("job"))
    start = {"x": 3, "y": 1, "z": 4, "before": 0, "job": "none"}
    assert after(problem, start, "WORK=manager") == start | {"job": "manager", "x": 5}


def test_a_feature_may_be_called_before() -> None:
    problem = problem_of(
        {"before x": "before(before) + before + `before`"}, ADD=adding("before") | {"when": "before>0"}
    )
    start = {"x": 3, "y": 1, "z": 4, "before": 10, "job": "none"}
    assert after(problem, start, "ADD=1") == start | {"before": 11, "x": 32}
    (cause,) = problem.transitions.causes
    assert str(cause.formula) == "before(`before`) + `before` + `before`"
    assert str(Problem.from_dict(problem.to_dict()).transitions.causes[0].formula) == str(cause.formula)


@pytest.mark.parametrize("formula", ["x + argument", "argument", "before(x)", "2 * x + before(z)"])
def test_they_are_never_derived(formula: str) -> None:
    assert problem_of({"x y": "2 * x"}, ADD=adding("x")).transitions.derived
    assert not problem_of({"x y": formula}, ADD=adding("x")).transitions.derived


@pytest.mark.parametrize(
    ("formula", "others", "independent"),
    [
        ("before(y) + argument", {"B": adding("z")}, True),
        ("before(y) + before(z)", {"B": adding("z")}, False),
        ("before(y) + argument", {"B": adding("y")}, False),
        ("before(y) + argument", {"B": adding("x")}, False),
        ("before(y) + argument", {"B": setting("job")}, True),
        ("before(y) + rank(before(job))", {"B": setting("job")}, False),
    ],
)
def test_functions_are_dependent_if_one_changes_what_the_other_reads(
    formula: str, others: dict[str, Any], independent: bool
) -> None:
    transitions = problem_of({"x y": formula}, A=adding("x"), **others).transitions
    assert transitions.independent[0, 1] == transitions.independent[1, 0] == independent
    assert transitions.in_order[1, 0] == (not independent)


def test_a_function_comes_after_those_that_change_what_its_formula_reads() -> None:
    problem = problem_of({"x y": "before(z) + argument"}, LATE=adding("x"), EARLY=adding("z"))
    assert problem.transitions.parents_first.tolist() == [1, 0]


@given(st.data())
def test_one_action_that_is_revised_is_the_action_with_another_argument(data: st.DataObject) -> None:
    """Revising the amount of one addition gives the state that the smaller amount leads to."""
    terms = ["x", "y", "before(x)", "before(y)", "before(z)", "argument", "argument * before(y)", "3"]
    first = data.draw(st.lists(st.sampled_from(terms), min_size=1, max_size=3))
    second = [*data.draw(st.lists(st.sampled_from(terms), max_size=2)), data.draw(st.sampled_from(["z", "argument"]))]
    whole, part = data.draw(st.tuples(st.integers(2, 9), st.integers(1, 9)).filter(lambda pair: pair[1] < pair[0]))
    problem = problem_of({"x y": " + ".join(first), "y z": " + ".join(second)}, ADD=adding("x", whole, part))
    start = np.array([[*data.draw(st.tuples(*[st.integers(-5, 5)] * 3)), 0.0, 0.0]], float)
    full, short = (problem.transitions.apply(start, np.array([action])) for action in (0, 1))
    revised = full.copy()
    revised[:, 0] = short[:, 0]
    assert problem.transitions.revise(start, full, revised).tolist() == short.tolist()


def test_what_another_step_changed_stays_when_an_amount_is_revised() -> None:
    problem = waiting()
    start = problem.read(PEOPLE.head(1)).states
    actions = {str(action): action.index for action in problem.transitions.actions}
    end = start
    for action in ("WAIT=12", "OPEN_ACCOUNTS=2", "WAIT=6"):
        end = problem.transitions.apply(end, np.array([actions[action]]))
    revised = end.copy()
    revised[:, 0] = 15
    ends = problem.describe(problem.transitions.revise(start, end, revised)[0])
    assert (ends["account_age"], ends["job_tenure"], ends["accounts"]) == (45, 29, 3)


@pytest.mark.parametrize(
    ("formulas", "functions", "message"),
    [
        (
            {"job x": "argument"},
            {"WORK": setting("job")},
            "causes[0].formula: 'argument' has to be a number, but the arguments of WORK (sets job), which can change "
            "job, are categories; use a table, rank(…) of an ordered feature, or a cause from a feature that only",
        ),
        (
            {"job x": "rank(job)", "x y": "x", "y z": "z + argument"},
            {"ADD": adding("y"), "WORK": setting("job"), "REST": setting("job", "none")},
            "causes[2].formula: 'argument' has to be a number, but the arguments of WORK (sets job), REST (sets job), "
            "which can change y, are categories",
        ),
        (
            {"job x": "argument"},
            {"WORK": setting("job") | {"when": "jobb == 'none'"}},
            "causes[0].formula: 'argument' has to be a number",
        ),
        (
            {"x y": "x"},
            {"ADD": adding("x") | {"when": "before(x) > 1"}},
            "functions.ADD.when: before(…) belongs to formulas of causes: nothing has changed yet here, so write 'x' "
            "(at character 1 of: before(x) > 1)",
        ),
        ({"x y": "before(yy)"}, {"ADD": adding("x")}, "causes[0].formula: unknown name 'yy'"),
        ({"x y": "y + argumnet"}, {"ADD": adding("x")}, "unknown name 'argumnet'; did you mean 'argument'?"),
        ({"x y": "befor(y)"}, {"ADD": adding("x")}, "did not expect '(' here; did you mean 'before'? (at character 6"),
        ({"x y": "before(y + 1)"}, {"ADD": adding("x")}, "before(…) takes the name of a feature"),
        ({"x y": "before(argument)"}, {"ADD": adding("x")}, "before(…) takes the name of a feature"),
        ({"x y": "before(before(y))"}, {"ADD": adding("x")}, "before(…) takes the name of a feature"),
        (
            {"x y": "before(job)"},
            {"ADD": adding("x")},
            "expected a formula that gives a number, but 'before(job)' is a",
        ),
        (
            {"x y": "before(job) + 1"},
            {"ADD": adding("x")},
            "'+' works on numbers, but 'before(job)' is a category; use",
        ),
        ({"x y": "base(before(job))"}, {"ADD": adding("x")}, "base(…) needs a function that sets a category"),
        ({"x y": "before(x)", "y x": "before(y)"}, {"ADD": adding("x")}, "the causes run in a circle: x → y → x"),
        ({"x y": "before(" * 70 + "y" + ")" * 70}, {"ADD": adding("x")}, "nested too deeply"),
        ({"x y": "y / (argument - argument * 1)"}, {}, None),
    ],
)
def test_mistakes(formulas: dict[str, str], functions: dict[str, Any], message: str | None) -> None:
    if message is None:
        problem_of(formulas, **functions)
        return
    with pytest.raises(ProblemError) as caught:
        problem_of(formulas, **functions)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("formulas", "functions", "messages"),
    [
        ({"x y": "before(y) + argument"}, {"ADD": adding("x")}, []),
        ({"x y": "x / argument"}, {"ADD": adding("x", 1, 5)}, []),
        ({"x y": "y + argument"}, {"ADD": adding("z")}, ["no function changes x, so this formula is never evaluated"]),
        (
            {"x y": "y + argument"},
            {"SET": setting("x", 1, 2)},
            ["'argument' is the new value of x in SET, not the change; write x - before(x) for the change"],
        ),
        ({"x y": "argument"}, {"SET": setting("x", 1, 2)}, []),
        ({"x y": "argument"}, {"SET": setting("x", 1, 2), "ADD": adding("x")}, ["'argument' is the new value of x in"]),
        ({"x y": "y + argument", "z y": "y - argument"}, {"A": adding("x"), "B": adding("z")}, []),
        (
            {"x y": "y + argument", "z y": "before(y)", "x z": "x"},
            {"A": adding("x")},
            ["y is set by more than one cause;"],
        ),
        (
            {"x y": "y + argument", "z y": "y + argument", "x z": "x"},
            {"A": adding("x")},
            ["y is set by more than one cause in one step, each with the value of y that the last one gave; write bef"],
        ),
        ({"x y": "before(y) + argument", "z y": "before(y) + argument", "x z": "x"}, {"A": adding("x")}, []),
    ],
)
def test_warnings(formulas: dict[str, str], functions: dict[str, Any], messages: list[str]) -> None:
    found = [message for message, _ in lint(problem_of(formulas, **functions))]
    assert len(found) == len(messages), found
    for message, start in zip(found, messages, strict=True):
        assert message.startswith(start)


def test_divisors_that_may_be_zero_are_those_of_the_arguments_in_question() -> None:
    source = {"x y": "x / argument"}
    assert not problem_of(source, ADD=adding("x", 1, 5)).transitions.causes[0].formula.warnings
    (warning,) = problem_of(source, ADD=adding("x", -1, 5)).transitions.causes[0].formula.warnings
    assert "'argument' may be zero" in warning
    (warning,) = problem_of({"x y": "x / before(z)"}, ADD=adding("x")).transitions.causes[0].formula.warnings
    assert "'before(z)' may be zero" in warning


def test_random_worlds_have_such_formulas() -> None:
    found = [Problem.from_dict(worlds.random_problem(seed)) for seed in range(100)]
    triggered = [
        cause.formula.tree.uses("argument")
        for problem in found
        for cause in problem.transitions.causes
        if cause.path_dependent
        and any(cause.source in problem.transitions.changed_by(f) for f in problem.transitions.functions)
    ]
    assert len(triggered) >= 8
    assert any(triggered)
    assert not all(triggered)
