"""Running a program: like its step-by-step reading, legal, finite, and obedient to what is forbidden."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, Plans, Problem, SettingError, Status, benchmarks
from counterplan.problem import Transitions, transitions
from counterplan.program import INTERVENE, Choice, Leaf, ModelCard, Program, Split, Test
from counterplan.search.orders import NO_ACTION, rollout
from program.random_programs import programs, random_program, reference

LOAN = Problem.from_dict(
    {
        "counterplan": 1,
        "name": "loan",
        "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
        "max_actions": 3,
        "features": {
            "income": {"kind": "number", "label": "your income", "unit": "€", "minimum": 0, "bins": []},
            "sex": {"kind": "category", "values": ["f", "m"], "protected": True},
            "house": {"kind": "ordered", "label": "your housing", "values": ["none", "rent", "own"]},
        },
        "functions": {
            "EARN": {"add": "income", "arguments": [0.1, 10, 20, 50], "cost": 1},
            "MOVE": {"set": "house", "arguments": "all", "when": "argument > house", "cost": 2},
        },
    }
)
EARN, MOVE, STOP = 0, 4, LOAN.transitions.stop
PROGRAM = Program(
    LOAN,
    {
        INTERVENE: Split(Test(2, at_least=2.0), Leaf((Choice(EARN, reach=80.0),)), Leaf((Choice(MOVE + 2),))),
        "EARN": Leaf((Choice(STOP),)),
        "MOVE": Split(Test(0, at_least=30.0), Leaf((Choice(STOP),)), Leaf((Choice(EARN, reach=30.0),))),
    },
)


def people(*rows: tuple[float, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["income", "sex", "house"])


def actions_of(program: Program, *rows: tuple[float, str, str], **wishes) -> list[list[str]]:
    return [plan.actions for plan in program.recommend(people(*rows), **wishes)]


def test_a_function_that_lowers_reaches_from_above() -> None:
    problem = benchmarks.load("german").problem
    first = [str(action) for action in problem.transitions.actions].index("CHANGE_CREDIT=-100")
    stop = Leaf((Choice(problem.transitions.stop),))
    program = Program(problem, {INTERVENE: Leaf((Choice(first, reach=3000.0),)), "CHANGE_CREDIT": stop})
    person = benchmarks.load("german").refused_test.head(1)
    for amount, step in ((3050, -100), (3900, -1000), (4900, -2000), (9000, -5000), (12000, -5000), (2000, -100)):
        (plan,) = program.recommend(person.assign(credit_amount=amount))
        assert plan.actions == [f"CHANGE_CREDIT={step}"], amount


def test_takes_the_smallest_step_that_reaches_or_else_the_largest() -> None:
    rows = [
        (75, "f", "own"),
        (79.9, "f", "own"),
        (55, "f", "own"),
        (0, "f", "own"),
        (10, "m", "rent"),
        (40, "m", "none"),
    ]
    assert actions_of(PROGRAM, *rows) == [
        ["EARN=10"],
        ["EARN=0.1"],
        ["EARN=50"],
        ["EARN=50"],
        ["MOVE=own", "EARN=20"],
        ["MOVE=own"],
    ]
    steps = [(0.7, 0.8), (0.2, 0.3)]  # in floats 0.7 + 0.1 is a little less, and 0.2 + 0.1 a little more
    for now, reach in steps:
        program = Program(LOAN, {INTERVENE: Leaf((Choice(EARN, reach=reach),)), "EARN": Leaf((Choice(STOP),))})
        assert actions_of(program, (now, "f", "own")) == [["EARN=0.1"]]


def test_a_plan_has_reasons_and_says_that_nobody_was_asked() -> None:
    plans = PROGRAM.recommend(people((10, "m", "rent"), (10, "m", "own")).set_axis(["Ann", "Bob"]))
    plan = plans[0]
    assert (plan.person, plan.status, plan.verified, plan.queries, plans.queries) == ("Ann", "found", False, 0, 0)
    assert [step.reason for step in plan.steps] == [
        "it comes first for everyone who can take it",
        "your income is below 30 €",
    ]
    assert [step.because.source for step in plan.steps] == ["rule", "rule"]
    assert plan.steps[1].because.rule == "income < 30"
    assert plan.steps[1].because.conditions == ({"feature": "income", "below": 30},)
    assert "because your income is below 30 €" in str(plan)
    assert Plans.from_json(plans.to_json()) == plans
    assert plans.to_frame()["source"].eq("rule").all()


def test_what_is_forbidden_is_not_done() -> None:
    row = (10, "m", "rent")
    assert actions_of(PROGRAM, row, forbid=["MOVE"]) == [[]]
    assert actions_of(PROGRAM, row, forbid=["EARN=20"]) == [["MOVE=own", "EARN=50"]]
    assert actions_of(PROGRAM, row, row, forbid={1: ["MOVE"]}) == [["MOVE=own", "EARN=20"], []]
    none = np.zeros((1, len(LOAN.transitions)), bool)
    assert actions_of(PROGRAM, row, allowed=none) == [[]]
    assert PROGRAM.recommend(people(row), allowed=none)[0].status is Status.NOT_FOUND
    with pytest.raises(SettingError, match="did you mean 'MOVE'"):
        PROGRAM.recommend(people(row), forbid=["MOVES"])


def test_circles_end_at_the_longest_plan() -> None:
    endless = Program(LOAN, {INTERVENE: Leaf((Choice(EARN),)), "EARN": Leaf((Choice(EARN),))})
    assert endless.recommend(people((1, "f", "own")))[0].status is Status.NOT_FOUND
    patient = Program(LOAN, {INTERVENE: Leaf((Choice(EARN),)), "EARN": Leaf((Choice(EARN), Choice(STOP)))})
    assert actions_of(patient, (1, "f", "own")) == [["EARN=0.1"] * 3]


def test_verification_decides_as_the_program_was_made_for(tmp_path: Path) -> None:
    """A classifier gets the threshold and the outcomes of the card; another black box is reported."""
    table = people((10, "m", "rent"), (75, "f", "own"), (40, "m", "none"))

    def score(frame: pd.DataFrame) -> np.ndarray:
        return frame["income"].to_numpy() / 100

    card = ModelCard(favourable=("yes",), threshold=0.5)
    replace(PROGRAM, model_card=card).save(tmp_path / "program.json")
    program = Program.load(tmp_path / "program.json")
    assert program.model_card == card
    found = program.verify(table, score)
    assert (found.plans, found.hold, found.difference) == (
        3,
        program.verify(table, BlackBox(score, threshold=0.5)).hold,
        "",
    )
    low = program.verify(table, BlackBox(score, threshold=0.25))
    assert low.hold > found.hold
    assert str(low).endswith("was made for a threshold of 0.5, but this black box has a threshold of 0.25.")
    labels = program.verify(table, BlackBox(lambda frame: ["yes"] * len(frame)))
    assert "but this black box has labels without a threshold" in str(labels)
    other = program.verify(table, BlackBox(score, "no", threshold=0.5))
    assert str(other).endswith("was made for the favourable outcomes yes, but this black box has no.")
    old = replace(PROGRAM, model_card=ModelCard()).verify(table, BlackBox(score, threshold=0.25))
    assert old.difference == "", "cards of earlier versions do not have them"


def test_verification_asks_once_for_each_plan() -> None:
    box = BlackBox(lambda frame: np.where((frame["income"] >= 30) & (frame["house"] == "own"), "yes", "no"))
    table = people((10, "m", "rent"), (75, "f", "own"), (40, "m", "none")).set_axis(["a", "b", "c"])
    found = PROGRAM.verify(table, box)
    assert (found.people, found.plans, found.hold, found.failing, found.share) == (3, 3, 3, (), 1.0)
    assert box.queries == 3
    assert str(found) == "3 of 3 people got a plan; 3 hold, 0 do not (100.0% of all)."
    strict = PROGRAM.verify(table, lambda frame: np.where(frame["income"] > 80, "yes", "no"), forbid={"c": ["MOVE"]})
    assert (strict.plans, strict.hold, strict.failing) == (2, 1, ("a",))
    assert str(PROGRAM.verify(table.iloc[:0], box)) == "There is nobody to plan for."


def test_knows_which_protected_features_it_asks_about() -> None:
    assert PROGRAM.tests_protected() == ()
    assert Program(LOAN, {INTERVENE: Split(Test(1, among=(0,)), Leaf(()), Leaf(()))}).tests_protected() == ("sex",)
    assert repr(PROGRAM) == "Program('loan': 3 nodes, 5 leaves)"


@settings(max_examples=25)
@given(st.data())
def test_runs_as_it_reads(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    program = data.draw(programs(problem))
    table = data.draw(worlds.people(problem))
    states = problem.read(table).states
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    allowed = rng.random((len(states), len(problem.transitions))) < 0.8
    allowed[:, problem.transitions.stop] = True
    run = program.run(states, allowed)
    for row in range(len(states)):
        actions, stopped = reference(program, states[row], allowed[row])
        assert [int(action) for action in run.actions[row] if action != NO_ACTION] == actions
        assert bool(run.stopped[row]) == stopped
    final, _, legal = rollout(problem.transitions, states, run.actions)
    assert legal.all()
    assert np.array_equal(final[run.stopped], run.states[run.stopped], equal_nan=True)
    taken = run.actions != NO_ACTION
    assert allowed[np.nonzero(taken)[0], run.actions[taken]].all()
    assert (run.ranks[:, :-1][taken] >= 0).all()


@settings(max_examples=12)
@given(st.data())
def test_every_step_has_a_reason(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    plans = data.draw(programs(problem)).recommend(data.draw(worlds.people(problem)))
    for plan in plans:
        assert plan.status in (Status.FOUND, Status.NOT_FOUND)
        assert all(step.reason and step.because and step.because.source == "rule" for step in plan.steps)
    assert Plans.from_json(plans.to_json()) == plans


def test_runs_on_benchmarks(benchmark_problem: Problem) -> None:
    program = random_program(benchmark_problem, 7, depth=4)
    table = worlds.random_people(benchmark_problem, 3, 200)
    states = benchmark_problem.read(table).states
    run = program.run(states)
    everything = np.ones(len(benchmark_problem.transitions), bool)
    for row in range(len(states)):
        actions, stopped = reference(program, states[row], everything)
        assert [int(action) for action in run.actions[row] if action != NO_ACTION] == actions
        assert bool(run.stopped[row]) == stopped


def test_large_tables_are_run_in_parts_with_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    german = benchmarks.load("german")
    states = german.problem.read(german.test).states
    allowed = np.random.default_rng(0).random((len(states), len(german.problem.transitions))) < 0.8
    allowed[:, german.problem.transitions.stop] = True
    rows: list[int] = []

    def counted(self: Transitions, states: np.ndarray) -> np.ndarray:
        rows.append(len(states))
        return legal(self, states)

    legal = Transitions.legal
    monkeypatch.setattr(Transitions, "legal", counted)
    for seed in range(5):
        program = random_program(german.problem, seed, stops=0.3)
        whole = program.run(states, allowed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(transitions, "MAX_CELLS", 7 * len(german.problem.transitions))
            rows.clear()
            parts = program.run(states, allowed)
            assert not rows or max(rows) <= 7
        for one, other in zip(whole, parts, strict=True):
            np.testing.assert_array_equal(one, other)
    assert rows
