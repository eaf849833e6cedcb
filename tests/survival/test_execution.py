"""Steps that fall short: which states they lead to, and survival that includes them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grades
import waiting
import worlds
from counterplan import People, Problem, SettingError, benchmarks
from counterplan.survival.estimator import SurvivalEstimator
from counterplan.survival.execution import ExecutionEstimator, ExecutionNoise, read_execution_options

LOAN = Problem.from_dict(
    {
        "counterplan": 1,
        "name": "loan",
        "outcome": {"column": "y", "values": ["no", "yes"], "favourable": "yes"},
        "max_actions": 3,
        "features": {
            "income": {"kind": "number", "bins": []},
            "children": {"kind": "number", "integer": True, "bins": []},
            "debt": {"kind": "number", "missing": True, "minimum": 0, "bins": []},
            "burden": {"kind": "number", "missing": True, "maximum": 0.8, "bins": []},
            "job": {"kind": "category", "values": ["a", "b"]},
        },
        "functions": {
            "EARN": {"add": "income", "arguments": [500, 1000], "cost": 1},
            "INHERIT": {"add": "income", "arguments": [9000], "cost": 1},
            "REPAY": {"add": "debt", "arguments": [-500], "cost": 1},
            "BORROW": {"add": "debt", "arguments": [500], "cost": 1},
            "RAISE": {"add": "children", "arguments": [1, 7], "cost": 1},
            "CHANGE": {"set": "job", "arguments": "all", "cost": 1},
        },
        "causes": [
            {"from": "debt", "to": "burden", "formula": "debt / income"},
            {"from": "income", "to": "burden", "formula": "debt / income"},
        ],
    }
)
START = np.array([[1000.0, 1, 600, 0.6, 0]])
END = np.array([[2000.0, 8, 100, 0.05, 1]])


def test_changes_fall_short_by_nothing_half_and_all_of_the_tolerance() -> None:
    variants = ExecutionNoise.read(LOAN, {"EARN": 0.1}).shortfalls(LOAN, START, END)
    assert variants.shape == (3, 1, 5)
    assert np.array_equal(variants[0], END)
    assert variants[:, 0, 0].tolist() == [2000, 1950, 1900]
    assert variants[:, 0, 3] == pytest.approx([0.05, 100 / 1950, 100 / 1900]), "a formula follows"
    assert (variants[:, 0, [1, 2, 4]] == END[0, [1, 2, 4]]).all()


def test_integers_are_rounded_toward_the_start() -> None:
    variants = ExecutionNoise.read(LOAN, {"RAISE": 0.1}).shortfalls(LOAN, START, END)
    assert variants[:, 0, 1].tolist() == [8, 7, 7]
    down = np.array([[1000.0, -6, 600, 0.6, 0]])
    assert ExecutionNoise.read(LOAN, 0.1).shortfalls(LOAN, START, down)[:, 0, 1].tolist() == [-6, -6, -6], (
        "no argument of RAISE goes there"
    )


def test_only_functions_in_the_direction_of_the_change_count_and_the_largest_tolerance_does() -> None:
    noise = ExecutionNoise.read(LOAN, {"EARN": 0.1, "INHERIT": 0.3, "REPAY": 0.2, "BORROW": 0.9})
    variants = noise.shortfalls(LOAN, START, END)
    assert variants[2, 0, 0] == 1700
    assert variants[2, 0, 2] == 200
    more = np.array([[1000.0, 1, 1600, 0.8, 0]])
    assert noise.shortfalls(LOAN, START, more)[2, 0, 2] == pytest.approx(700)


def test_missing_values_stay_and_formulas_keep_within_bounds() -> None:
    noise = ExecutionNoise.read(LOAN, 0.5)
    unknown = np.array([[1000.0, 1, np.nan, np.nan, 0]]), np.array([[2000.0, 1, np.nan, np.nan, 0]])
    assert np.array_equal(noise.shortfalls(LOAN, *unknown)[2], [[1500, 1, np.nan, np.nan, 0]], equal_nan=True)
    rich = np.array([[2500.0, 1, 2000, 0.8, 0]])
    start = np.array([[1000.0, 1, 2000, 0.8, 0]])
    variant = noise.shortfalls(LOAN, start, rich)[2, 0]
    assert (variant[0], variant[3]) == (1750, 0.8), "2000 / 1750 is more than the maximum"


def test_what_follows_from_an_amount_falls_short_with_it() -> None:
    problem = waiting.waiting()
    start = problem.read(waiting.PEOPLE.head(1)).states
    actions = [str(action) for action in problem.transitions.actions]
    end = start
    for action in ("WAIT=12", "OPEN_ACCOUNTS=2", "WAIT=12"):
        end = problem.transitions.apply(end, np.array([actions.index(action)]))
    variants = ExecutionNoise.read(problem, {"WAIT": 0.5}).shortfalls(problem, start, end)
    ends = [problem.describe(variant[0]) for variant in variants]
    assert [one["months_waited"] for one in ends] == [24, 18, 12]
    assert [one["account_age"] for one in ends] == [54, 48, 42]
    assert [one["job_tenure"] for one in ends] == [38, 32, 26]
    assert [one["accounts"] for one in ends] == [3, 3, 3]


def test_formulas_that_read_their_own_target_are_not_applied_again() -> None:
    causes = [{"from": "income", "to": "debt", "formula": "debt - income / 10"}]
    problem = Problem.from_dict(LOAN.to_dict() | {"causes": causes})
    start = np.array([[1000.0, 1, 600, 0.6, 0]])
    end = problem.transitions.apply(start, np.array([1]))
    assert end[0, 2] == 400
    variants = ExecutionNoise.read(problem, {"EARN": 0.1}).shortfalls(problem, start, end)
    assert variants[:, 0, [0, 2]].tolist() == [[2000, 400], [1950, 405], [1900, 410]]


@given(st.data())
def test_variants_lie_between_start_and_end(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    if not any(function.adds for function in problem.transitions.functions):
        return
    starts = problem.read(data.draw(worlds.people(problem))).states
    ends = worlds.random_plan_actions(problem, starts, np.random.default_rng(0)).states[:, -1]
    tolerance = data.draw(st.floats(0, 1))
    variants = ExecutionNoise.read(problem, tolerance).shortfalls(problem, starts, ends)
    assert np.array_equal(variants[0], ends, equal_nan=True)
    formulas = {cause.target for cause in problem.transitions.causes if cause.formula is not None}
    for feature in problem.features:
        column = variants[:, :, feature.index]
        assert np.array_equal(np.isnan(column[0]), np.isnan(ends[:, feature.index]))
        if feature.index in formulas:
            continue
        low, high = np.fmin(starts, ends)[:, feature.index], np.fmax(starts, ends)[:, feature.index]
        known = ~np.isnan(ends[:, feature.index])
        assert (column[:, known] >= low[known] - 1e-6).all()
        assert (column[:, known] <= high[known] + 1e-6).all()
        if feature.integer or not feature.is_number:
            assert np.array_equal(column[:, known], np.round(column[:, known]))


@pytest.mark.parametrize(
    ("execution", "message"),
    [
        ({"EARM": 0.1}, "no function 'EARM'; did you mean 'EARN'"),
        ({"X": 0.1}, "no function 'X'; those that add are EARN, REPAY, BORROW"),
        ({"CHANGE_JOB": 0.1}, "CHANGE_JOB sets a value"),
        ({"EARN": 1.5}, "'execution' of EARN must be a share from 0 to 1, such as 0.06 for 6 %, not 1.5"),
        (-0.1, "'execution' must be a share"),
        ("much", "'execution' must be a share"),
        (True, "'execution' must be a share"),
        (float("nan"), "'execution' must be a share"),
    ],
)
def test_mistakes(execution: object, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ExecutionNoise.read(grades.grades(), execution)


def test_a_problem_without_functions_that_add() -> None:
    functions = {"CHANGE_JOB": grades.GRADES["functions"]["CHANGE_JOB"]}
    with pytest.raises(SettingError, match="'grades' has none"):
        ExecutionNoise.read(Problem.from_dict(grades.GRADES | {"functions": functions}), 0.1)


def test_a_number_is_for_every_function_that_adds() -> None:
    noise = ExecutionNoise.read(grades.grades(), 0.06)
    assert noise.tolerances == {"EARN": 0.06, "REPAY": 0.06, "BORROW": 0.06}
    assert ExecutionNoise.read(grades.grades(), noise) == noise


class IncomeEstimate(SurvivalEstimator):
    """1 from an income of 20,000 on, otherwise 0."""

    source: ClassVar = "margin"
    sends_queries = True

    def chance(self, problem: Problem, people: People, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return (states[:, problem.transitions.functions[2].target] >= 20_000).astype(float)


def test_survival_is_the_mean_over_the_variants() -> None:
    problem = benchmarks.load_problem("syn")
    target = problem.transitions.functions[2].target
    people = problem.read(worlds.random_people(problem, 0, 4))
    people.states[:, target] = 10_000
    ends = np.repeat(people.states, [1, 1, 2, 0], axis=0)
    rows = np.repeat(np.arange(4), [1, 1, 2, 0])
    ends[:, target] = [30_000, 20_400, 20_000, 10_000]
    estimator = ExecutionEstimator(IncomeEstimate(), ExecutionNoise.read(problem, {"CHANGE_INCOME": 0.06}))
    assert estimator.chance(problem, people, ends, rows) == pytest.approx([1, 2 / 3, 1 / 3, 0])
    assert estimator.predicted(problem, people, ends, rows) == pytest.approx([1, 2 / 3, 1 / 3, 0])
    assert estimator.of_states(ends) is None
    assert (estimator.source, estimator.sends_queries) == ("margin", True)


def test_options_of_the_command_line() -> None:
    assert read_execution_options(["0.06"]) == 0.06
    assert read_execution_options(["EARN=0.06", "REPAY=.1"]) == {"EARN": 0.06, "REPAY": 0.1}
    for texts, message in (
        (["6%"], "--execution 6%: expected a number"),
        (["EARN="], "expected a number"),
        (["0.1", "EARN=0.2"], "use it alone"),
        (["EARN=0.1", "EARN=0.2"], "has a tolerance already, 0.1"),
    ):
        with pytest.raises(SettingError, match=message):
            read_execution_options(texts)
