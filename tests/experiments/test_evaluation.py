"""Plans are judged apart from who made them, whatever a planner claims."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, ExactPlanner, Plan, Problem, Step
from counterplan.experiments.evaluation import OUTCOMES, evaluate
from counterplan.plans import Status
from loans import LOAN

TABLE = pd.DataFrame({"income": [1000, 1600], "job": ["clerk", "none"]})


def decide(people: pd.DataFrame) -> list[str]:
    return ["yes" if row.income >= 2000 and row.job != "none" else "no" for row in people.itertuples()]


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    (tmp_path / "loan.yaml").write_text(LOAN)
    return Problem.load(tmp_path / "loan.yaml")


def plan(*steps: tuple[str, object], claimed: float = 1.0, status: Status = Status.NOT_FOUND) -> Plan:
    """A plan that claims to be optimal, checked and cheap."""
    made = tuple(Step(function, argument, claimed, "", {}, {}) for function, argument in steps)  # type: ignore[arg-type]
    return Plan(0, Status.FOUND if made else status, {}, made, verified=bool(made), optimal=bool(made))


@pytest.mark.parametrize(
    ("made", "outcome", "cost"),
    [
        (plan(("EARN", 1000)), "holds", 1.5),
        (plan(("EARN", 500), ("EARN", 500), claimed=0.0), "holds", 2.0),
        (plan(("EARN", 500)), "refused", 1.0),
        (plan(("WORK", "none"), ("EARN", 1000)), "illegal", None),
        (plan(("FLY", 1)), "illegal", None),
        (plan(("EARN", 500), ("WORK", "manager"), ("EARN", 1000)), "too_long", 4.5),
        (plan(), "no_plan", None),
        (plan(status=Status.INFEASIBLE), "proved_none", None),
    ],
    ids=["holds", "holds in two", "refused", "illegal", "unknown", "too long", "nothing", "proved"],
)
def test_says_what_becomes_of_a_plan(problem: Problem, made: Plan, outcome: str, cost: float | None) -> None:
    evaluation = evaluate(problem, decide, problem.read(TABLE.head(1)), [made])[0]
    assert (evaluation.outcome, evaluation.cost, evaluation.length) == (outcome, cost, len(made.steps))
    assert evaluation.success == (outcome == "holds")
    assert evaluation.outcome in OUTCOMES


def test_judges_everybody_at_once_as_one_by_one(problem: Problem) -> None:
    people = problem.read(TABLE)
    plans = [plan(("EARN", 1000)), plan(("WORK", "clerk"), ("EARN", 500))]
    together = evaluate(problem, decide, people, plans)
    assert [evaluation.outcome for evaluation in together] == ["holds", "holds"]
    assert [evaluation.cost for evaluation in together] == [1.5, 3.0]
    swapped = evaluate(problem, decide, people, plans[::-1])
    assert [evaluation.outcome for evaluation in swapped] == ["illegal", "refused"]


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_agrees_with_the_replay_of_true_plans(seed: int) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    model = worlds.random_black_box(problem, seed)
    table = worlds.random_people(problem, seed, 4)
    people = problem.read(table[~BlackBox(model).favourable(problem, table)])
    plans = ExactPlanner(problem, BlackBox(model), state_limit=2_000).plan(people, refused=True)
    for made, evaluation in zip(plans, evaluate(problem, model, people, plans), strict=True):
        assert evaluation.success == (made.status is Status.FOUND)
        if evaluation.success:
            assert made.replay(problem, BlackBox(model)).ok
            assert evaluation.cost == pytest.approx(made.cost, abs=1e-6)
