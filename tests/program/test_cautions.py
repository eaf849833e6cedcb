"""Plans that avoid forbidden actions carry a caution, with the figures of a trial if there was one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from counterplan import BlackBox, CounterplanError, Plans, benchmarks
from counterplan.planners import CascadePlanner, ExactPlanner, ProgramPlanner
from counterplan.plans import Coded, PlanColumns
from counterplan.program import ModelCard, Program
from program.programs import imitated

GERMAN = benchmarks.load("german")
PEOPLE = GERMAN.refused_test.head(40)
MADE = "This program was made for people who can change everything; "
LESS = f"{MADE}where something cannot be changed, its plans are less certain."


def tried(without: Any) -> Program:
    return replace(imitated(), model_card=ModelCard.from_data({"without": without}))


def cautions(program: Program, forbid: Any) -> set[str]:
    """The cautions of plans that differ from the unconstrained ones; no other plan has a caution."""
    usual, plans = program.recommend(PEOPLE), program.recommend(PEOPLE, forbid=forbid)
    others = [plan for plan, was in zip(plans, usual, strict=True) if plan.steps and plan.actions != was.actions]
    same = [plan for plan, was in zip(plans, usual, strict=True) if not plan.steps or plan.actions == was.actions]
    assert others
    assert not any(plan.caution for plan in same)
    return {plan.caution for plan in others}


def test_figures_from_the_card_where_one_function_is_forbidden() -> None:
    program = tried({"CHANGE_SAVINGS": {"people": 9, "plans": 1_200, "hold": 35}})
    sentence = f"{MADE}tried without “Change savings”, 35 of its 1,200 other plans worked."
    assert cautions(program, ["CHANGE_SAVINGS"]) == {sentence}
    every = [str(action) for action in GERMAN.problem.transitions.actions if action.function == "CHANGE_SAVINGS"]
    assert cautions(program, every) == {sentence}, "it is the same"
    assert cautions(program, ["CHANGE_SAVINGS", "CHANGE_JOB"]) == {LESS}
    assert cautions(program, every[:3]) == {LESS}
    assert cautions(program, ["CHANGE_JOB"]) == {LESS}, "that was not tried"
    one = tried({"CHANGE_SAVINGS": {"people": 9, "plans": 1, "hold": 0}})
    assert cautions(one, ["CHANGE_SAVINGS"]) == {f"{MADE}tried without “Change savings”, 0 of its 1 other plan worked."}


@pytest.mark.parametrize("odd", [None, 7, []])
def test_any_card_will_do(odd: Any) -> None:
    assert cautions(tried(odd), ["CHANGE_SAVINGS"]) == {LESS}


@pytest.mark.parametrize(
    "odd",
    [3, {}, {"plans": "x", "hold": 1}, {"plans": 1, "hold": 0.5}, {"plans": 0, "hold": 0}, {"plans": 1, "hold": 2}],
)
def test_any_figures_will_do(odd: Any) -> None:
    assert cautions(tried({"CHANGE_SAVINGS": odd}), ["CHANGE_SAVINGS"]) == {LESS}


def test_constraints_differ_from_person_to_person() -> None:
    program = tried({"CHANGE_SAVINGS": {"people": 9, "plans": 12, "hold": 3}})
    usual = program.recommend(PEOPLE)
    users = [plan.person for plan in usual if any(step.function == "CHANGE_SAVINGS" for step in plan.steps)]
    given = [plan.person for plan in program.recommend(PEOPLE, forbid=["CHANGE_SAVINGS"]) if plan.caution]
    first, second = [person for person in given if person in users][:2]
    forbid = {first: ["CHANGE_SAVINGS"], second: ["CHANGE_SAVINGS", "CHANGE_CREDIT=-100"]}
    found = {plan.person: plan.caution for plan in program.recommend(PEOPLE, forbid=forbid) if plan.caution}
    assert found == {first: f"{MADE}tried without “Change savings”, 3 of its 12 other plans worked.", second: LESS}


def test_the_text_of_a_plan_has_its_caution() -> None:
    plans = imitated().recommend(PEOPLE, forbid=["CHANGE_SAVINGS"])
    plan = next(plan for plan in plans if plan.caution)
    assert "might change the decision" in str(plan)
    assert f"No question was asked. {LESS}" in " ".join(str(plan).split())
    assert Plans.from_json(plans.to_json()) == plans
    assert set(plans.to_frame()["caution"]) == {"", LESS}
    assert "should change the decision" in str(next(plan for plan in plans if plan.steps and not plan.caution))


def test_verified_plans_need_no_caution() -> None:
    box = BlackBox(GERMAN.model)
    planners = [ProgramPlanner(GERMAN.problem, box, imitated()), ExactPlanner(GERMAN.problem, box)]
    alone = planners[0].plan(PEOPLE, refused=True, forbid=["CHANGE_SAVINGS"])
    assert any(plan.caution for plan in alone)
    plans = CascadePlanner(GERMAN.problem, box, planners).plan(PEOPLE, refused=True, forbid=["CHANGE_SAVINGS"])
    assert np.all([plan.verified for plan in plans if plan.steps])
    assert not any(plan.caution for plan in plans)


def test_another_planners_plan_takes_the_caution_away() -> None:
    columns, other = (PlanColumns.empty(2, 3) for _ in range(2))
    columns.cautions = Coded(np.array([0, 0]), [LESS])
    columns.put(np.array([1]), PlanColumns.empty(1, 3))
    assert [columns.cautions.get(row) for row in range(2)] == [LESS, None]
    other.cautions = Coded(np.array([-1, 0]), [LESS])
    columns.put(np.array([1, 0]), other)
    assert [columns.cautions.get(row) for row in range(2)] == [LESS, None]


def test_only_names_can_be_forbidden() -> None:
    for wrong in ([3], [("CHANGE_JOB", "skilled")], [None]):
        with pytest.raises(CounterplanError, match="name a function or an action, such as 'CHANGE_"):
            imitated().recommend(PEOPLE, forbid=wrong)
