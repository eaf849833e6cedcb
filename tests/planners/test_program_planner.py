"""The program as a planner, alone and first in a cascade: what it asks, and that it says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from counterplan import BlackBox, CascadePlanner, ExactPlanner, ProgramPlanner, SettingError, benchmarks
from counterplan.program import Program, ProgramRun
from program.programs import imitated

GERMAN = benchmarks.load("german")
PEOPLE = GERMAN.refused_test.head(40)


def test_asks_nothing_and_promises_nothing() -> None:
    box = BlackBox(GERMAN.model)
    planner = ProgramPlanner(GERMAN.problem, box, imitated())
    plans = planner.plan(PEOPLE, refused=True)
    assert box.queries == plans.queries == 0
    assert plans.counts["found"] > 20
    for plan in plans:
        assert not plan.verified
        assert plan.queries == 0
        if plan.steps:
            assert "should change the decision" in str(plan)
            assert str(plan).endswith("Not checked with the model. No question was asked.")
    assert plans.reasons == {"rule": plans.lengths.sum(), "card": 0, "points": 0, "contrast": 0, "none": 0}
    asked = planner.plan(PEOPLE)
    assert asked.queries == len(PEOPLE), "whether they are refused, and nothing else"
    assert all(plan.queries == 1 for plan in asked)
    assert all("asked only whether you are refused" in str(plan) for plan in asked if plan.steps)
    alone = imitated().recommend(PEOPLE)
    assert [plan.steps for plan in alone] == [plan.steps for plan in plans]


def test_runs_once_for_plans_and_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    run, runs = Program.run, []

    def counted(self: Program, states: np.ndarray, allowed: np.ndarray | None = None) -> ProgramRun:
        runs.append(len(states))
        return run(self, states, allowed)

    monkeypatch.setattr(Program, "run", counted)
    box = BlackBox(GERMAN.model)
    read = GERMAN.problem.read(GERMAN.test)
    granted = GERMAN.test[box.session(GERMAN.problem, read)(read.states, np.arange(len(read)))]
    plans = ProgramPlanner(GERMAN.problem, box, imitated()).plan(pd.concat([granted.head(3), PEOPLE]))
    assert runs == [len(PEOPLE)], "once, for those who are refused"
    assert [plan.steps for plan in plans[3:]] == [plan.steps for plan in imitated().recommend(PEOPLE)]


def test_one_question_checks_a_plan_in_a_cascade() -> None:
    box = BlackBox(GERMAN.model)
    program = imitated()
    planners = [ProgramPlanner(GERMAN.problem, box, program), ExactPlanner(GERMAN.problem, box)]
    plans = CascadePlanner(GERMAN.problem, box, planners).plan(PEOPLE, refused=True)
    holding = program.verify(PEOPLE, GERMAN.model)
    assert 5 < holding.hold < len(PEOPLE)
    for plan, first in zip(plans, program.recommend(PEOPLE), strict=True):
        held = bool(first.steps) and plan.person not in holding.failing
        assert plan.verified
        assert (plan.actions == first.actions) == held
        assert (plan.queries == 1) == held
        assert {step.because is not None for step in plan.steps} == {held}, "the program's plans keep their rules"
        assert "would change that" in str(plan)
    assert plans.queries == box.queries


def test_other_problems_are_refused() -> None:
    syn = benchmarks.load("syn")
    with pytest.raises(SettingError, match="made for another problem"):
        ProgramPlanner(syn.problem, BlackBox(syn.model), imitated())


def test_wishes_lead_to_true_reasons() -> None:
    plans = ProgramPlanner(GERMAN.problem, BlackBox(GERMAN.model), imitated()).plan(
        PEOPLE, forbid=["CHANGE_SAVINGS"], refused=True
    )
    told = [step.reason or "" for plan in plans for step in plan.steps]
    assert any("not possible for you at this point" in reason for reason in told)
    assert not any("cannot become" in reason for reason in told)
    assert np.all([step.function != "CHANGE_SAVINGS" for plan in plans for step in plan.steps])
