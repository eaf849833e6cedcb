"""A plan that goes around something forbidden says so, and how often such plans held where that was tried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from counterplan import BlackBox, Plans, benchmarks
from counterplan.planners import CascadePlanner, ExactPlanner, ProgramPlanner
from counterplan.program import Program
from program.programs import imitated

GERMAN = benchmarks.load("german")
PEOPLE = GERMAN.refused_test.head(40)
MADE = "This program was made for people who can change everything; "
LESS = f"{MADE}its plans hold less often where something is forbidden."


def tried(without: Any) -> Program:
    return replace(imitated(), card={"without": without})


def cautions(program: Program, forbid: Any) -> set[str]:
    """What is said of the plans that are other ones than usual; of no other plan is anything said."""
    usual, plans = program.recommend(PEOPLE), program.recommend(PEOPLE, forbid=forbid)
    others = [plan for plan, was in zip(plans, usual, strict=True) if plan.steps and plan.actions != was.actions]
    same = [plan for plan, was in zip(plans, usual, strict=True) if not plan.steps or plan.actions == was.actions]
    assert others
    assert not any(plan.caution for plan in same)
    return {plan.caution for plan in others}


def test_figures_from_the_card_where_one_function_is_forbidden() -> None:
    program = tried({"CHANGE_SAVINGS": {"people": 9, "plans": 1_200, "hold": 35}})
    told = f"{MADE}tried without “Change savings”, 35 of the 1,200 plans that it gave held."
    assert cautions(program, ["CHANGE_SAVINGS"]) == {told}
    every = [str(action) for action in GERMAN.problem.transitions.actions if action.function == "CHANGE_SAVINGS"]
    assert cautions(program, every) == {told}, "it is the same"
    assert cautions(program, ["CHANGE_SAVINGS", "CHANGE_JOB"]) == {LESS}
    assert cautions(program, every[:3]) == {LESS}
    assert cautions(program, ["CHANGE_JOB"]) == {LESS}, "that was not tried"
    one = tried({"CHANGE_SAVINGS": {"people": 9, "plans": 1, "hold": 0}})
    assert cautions(one, ["CHANGE_SAVINGS"]) == {
        f"{MADE}tried without “Change savings”, 0 of the 1 plan that it gave held."
    }


@pytest.mark.parametrize("odd", [None, 7, [], {"CHANGE_SAVINGS": 3}, {"CHANGE_SAVINGS": {"plans": "x", "hold": 1}}])
def test_any_card_will_do(odd: Any) -> None:
    assert cautions(tried(odd), ["CHANGE_SAVINGS"]) == {LESS}


def test_a_plan_is_told_with_its_caution() -> None:
    plans = imitated().recommend(PEOPLE, forbid=["CHANGE_SAVINGS"])
    plan = next(plan for plan in plans if plan.caution)
    assert "might change the decision" in str(plan)
    assert f"No question was asked. {LESS}" in " ".join(str(plan).split())
    assert Plans.from_json(plans.to_json()) == plans
    assert set(plans.to_frame()["caution"]) == {"", LESS}
    assert "should change the decision" in str(next(plan for plan in plans if plan.steps and not plan.caution))


def test_what_was_checked_needs_no_caution() -> None:
    box = BlackBox(GERMAN.model)
    planners = [ProgramPlanner(GERMAN.problem, box, imitated()), ExactPlanner(GERMAN.problem, box)]
    alone = planners[0].plan(PEOPLE, refused=True, forbid=["CHANGE_SAVINGS"])
    assert any(plan.caution for plan in alone)
    plans = CascadePlanner(GERMAN.problem, box, planners).plan(PEOPLE, refused=True, forbid=["CHANGE_SAVINGS"])
    assert np.all([plan.verified for plan in plans if plan.steps])
    assert not any(plan.caution for plan in plans)
