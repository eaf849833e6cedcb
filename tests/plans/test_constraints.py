"""What was ruled out for a person, and weights, are part of what a plan claims: in words, in files, in replays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterplan import BlackBox, Constraints, ExactPlanner, PlanError, Plans, SettingError, benchmarks


@pytest.fixture(scope="module")
def german() -> benchmarks.Benchmark:
    return benchmarks.load("german")


@pytest.fixture(scope="module")
def planner(german: benchmarks.Benchmark) -> ExactPlanner:
    return ExactPlanner(german.problem, BlackBox(german.model))


@pytest.fixture(scope="module")
def person(german: benchmarks.Benchmark) -> pd.DataFrame:
    return german.refused_test.iloc[[14]]


def test_claims_name_what_they_leave_out(planner: ExactPlanner, person: pd.DataFrame) -> None:
    assert planner.plan(person)[0].constraints is None
    plan = planner.plan(person, forbid=["CHANGE_JOB", "CHANGE_SAVINGS=rich"])[0]
    assert plan.constraints == Constraints(("CHANGE_SAVINGS=rich", "CHANGE_JOB"))
    assert ", the least possible without the steps that were ruled out):" in str(plan)
    functions = [function.name for function in planner.problem.transitions.functions]
    nothing = planner.plan(person, forbid=functions)[0]
    assert nothing.constraints == Constraints(tuple(functions))
    assert str(nothing).startswith("Refused. Without the steps that were ruled out, no plan within the rules changes")
    in_time = planner.plan(person, forbid="CHANGE_JOB", deadline=6)[0]
    assert "the least possible within 6 months without the steps that were ruled out" in str(in_time)


def test_weights_that_no_step_has_are_part_of_the_claim(planner: ExactPlanner, person: pd.DataFrame) -> None:
    plan = planner.plan(person, weights={"CHANGE_CREDIT": 3, "CHANGE_PURPOSE=car": 2})[0]
    assert plan.constraints == Constraints((), (("CHANGE_CREDIT", 3.0), ("CHANGE_PURPOSE=car", 2.0)))
    assert "(effort 15.0, the least possible with your weights):" in str(plan)
    bounded = planner.plan(person, weights={"CHANGE_CREDIT": 3}, budget=3)[0]
    assert "any plan with your weights takes an effort of" in str(bounded)


def test_bounds_within_a_deadline_say_so(planner: ExactPlanner, person: pd.DataFrame) -> None:
    bounded = planner.plan(person, deadline=6, budget=3)[0]
    assert "any plan within 6 months takes an effort of" in str(bounded)
    found = planner.plan(person, deadline=6)[0]
    assert "; the least possible within 6 months is at least 16.0" in str(
        replace(found, optimal=False, lower_bound=16.0)
    )


def test_bounds_are_rounded_down(planner: ExactPlanner, person: pd.DataFrame) -> None:
    plan = replace(planner.plan(person, budget=3)[0], lower_bound=4.656)
    assert "any plan takes an effort of 4.6 or more" in str(plan)
    assert "an effort of 4.7 or more" in str(replace(plan, lower_bound=4.7))


def test_each_person_has_their_own(planner: ExactPlanner, german: benchmarks.Benchmark) -> None:
    people = german.refused_test.head(3)
    plans = planner.plan(people, forbid={1: ["CHANGE_JOB"]}, alternatives=2)
    assert [plan.constraints for plan in plans] == [None, Constraints(("CHANGE_JOB",)), None]
    assert plans[1].alternatives
    assert plans[1].alternatives[0].constraints == plans[1].constraints
    joined = Plans.join([plans[:1], plans[1:]])
    assert [plan.constraints for plan in joined] == [plan.constraints for plan in plans]


def test_files_have_them(planner: ExactPlanner, person: pd.DataFrame, tmp_path: Path) -> None:
    plans = planner.plan(person, forbid="CHANGE_JOB", weights={"CHANGE_CREDIT": 3}, alternatives=2)
    assert plans[0].alternatives
    loaded = [Plans.from_json(plans.to_json())]
    for name in ("plans.json", "plans.parquet"):
        if name.endswith("parquet"):
            pytest.importorskip("pyarrow")
        plans.save(tmp_path / name)
        loaded.append(Plans.load(tmp_path / name))
    for one in loaded:
        assert (str(one[0]), one[0].constraints) == (str(plans[0]), plans[0].constraints)
        assert one[0].alternatives[0].constraints == plans[0].constraints
        assert one[0].replay(planner.problem, planner.box).ok


def test_a_step_that_was_ruled_out_is_a_fault(planner: ExactPlanner, person: pd.DataFrame) -> None:
    plan = replace(planner.plan(person)[0], constraints=Constraints(("CHANGE_HOUSING=own",)))
    assert "it uses CHANGE_HOUSING=own, which was ruled out" in str(plan.replay(planner.problem, planner.box))
    other = planner.plan(person, alternatives=2)[0]
    with pytest.raises(PlanError, match="with the same constraints"):
        replace(other, constraints=Constraints(("CHANGE_CREDIT",)))


def test_deadlines_are_exact_in_words_and_never_exceeded(planner: ExactPlanner, person: pd.DataFrame) -> None:
    assert planner.plan(person, deadline=3.6)[0].duration == 3.6
    almost = planner.plan(person, deadline=3.59)[0]
    assert "no plan within the rules that takes at most 3.59 months changes that" in str(almost).lower()
    for deadline in (3.5999996, np.float32(3.6)):
        plan = planner.plan(person, deadline=deadline)[0]
        assert plan.deadline == 3.599999
        assert not plan.steps
    alternative = planner.plan(person, deadline=12, alternatives=2)[0].alternatives[0]
    assert alternative.deadline == 12
    with pytest.raises(SettingError, match="'deadline' must be a number"):
        planner.plan(person, deadline=10**400)
