"""Plan: text for applicants, cost and replay."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterplan import BlackBox, ExactPlanner, Plan, PlanError, Plans, Problem, Reason, SettingError, Status, Step
from counterplan.benchmarks import Benchmark
from counterplan.plans.plan import unweighted


def test_prints_as_a_person_would_write_it(plans: Plans, longest: Plan) -> None:
    text = str(longest)
    count = len(longest.steps)
    assert text.startswith(f"Refused. {count} steps would change that (effort {longest.cost:.1f}, the least poss")
    assert all(f"{number}. {step.text}" in text for number, step in enumerate(longest.steps, 1))
    assert f"on 17 November 2026: favourable. {longest.queries:,} questions asked." in text
    reasoned = replace(longest, steps=(replace(longest.steps[0], reason="you are young"),))
    assert "     because you are young" in str(reasoned)
    assert "at least 3.0" in str(replace(longest, optimal=False, lower_bound=3.0))
    for status, words in [
        (Status.ALREADY_FAVOURABLE, "nothing needs to change"),
        (Status.INFEASIBLE, "proved"),
        (Status.NOT_FOUND, "no question was asked"),
    ]:
        assert words in str(Plan(1, status, longest.start))
    assert "found after 3 questions" in str(Plan(1, Status.NOT_FOUND, longest.start, queries=3))
    listing = plans.to_text(3)
    assert "… and 57 more." in listing
    assert f"60 people: {plans.counts['found']} found" in listing


def test_promises_nothing_that_nobody_checked(plans: Plans, longest: Plan) -> None:
    loose = replace(longest, verified=False, optimal=False, lower_bound=0.0)
    count = len(longest.steps)
    for queries, first, last in [
        (0, f"{count} steps should change the decision", "No question was asked."),
        (1, f"Refused. {count} steps should change that", "It was asked only whether you are refused."),
        (3, f"Refused. {count} steps should change that", "asked 3 questions about other states."),
    ]:
        text = str(replace(loose, queries=queries))
        assert text.startswith(first)
        assert "Not checked with the model" in text
        assert text.endswith(last)
        assert "would" not in text
        assert "question asked" not in text
    closing = Plans((loose, plans[0], longest)).to_text().splitlines()[-1]
    assert "(1 not checked)" in closing
    assert "1 found (not checked)" in Plans((loose,), queries=2, cached=3).to_text()


def test_queries_are_counted_alike_for_one_and_for_all(longest: Plan) -> None:
    """Cached answers count as queries of a plan, which does not know which they are; all plans together do."""
    three = replace(longest, queries=3)
    for queries, cached, closing in (
        (3, 0, "3 questions asked."),
        (2, 1, "2 questions asked, 1 more answered from memory."),
        (0, 3, "0 questions asked, 3 answered from memory."),
    ):
        text = Plans((three,), queries=queries, cached=cached).to_text()
        assert "favourable. 3 questions asked." in text
        assert text.splitlines()[-1].endswith(f". {closing}")
    once = Plans((replace(longest, queries=1),), queries=0, cached=1).to_text()
    assert once.endswith("0 questions asked, 1 answered from memory.")


def test_long_reasons_are_wrapped(longest: Plan) -> None:
    steps = (replace(longest.steps[0], reason="you are young and " * 30 + "free"),)
    assert max(map(len, str(replace(longest, steps=steps)).splitlines())) <= 110


def test_repr_is_one_line(plans: Plans, longest: Plan) -> None:
    long_reason = replace(longest, steps=tuple(replace(step, reason="because " * 99) for step in longest.steps))
    for one in (longest, long_reason, longest.steps[0], plans[0], plans, Plans(())):
        assert "\n" not in repr(one)
        assert len(repr(one)) < 300
    assert repr(longest.steps[0]).startswith(f"Step('{longest.steps[0].action}', cost=")
    assert str(longest.actions) in repr(longest)
    assert f"{plans.counts['found']} found" in repr(plans)


def test_without_a_plan_there_is_no_cost(longest: Plan) -> None:
    assert longest.cost == pytest.approx(sum(step.cost for step in longest.steps))
    assert Plan(1, Status.ALREADY_FAVOURABLE, {}).cost == 0
    assert math.isnan(Plan(1, Status.NOT_FOUND, {}).cost)
    assert math.isnan(Plan(1, Status.INFEASIBLE, {}).cost)


def test_contradictions_are_refused(longest: Plan) -> None:
    with pytest.raises(PlanError, match="found and 0 steps contradicts itself"):
        Plan(1, Status.FOUND, {})
    with pytest.raises(PlanError, match="not_found and 1 steps contradicts itself"):
        Plan(1, Status.NOT_FOUND, {}, longest.steps[:1])
    for weight in (0, -1, math.nan, math.inf):
        with pytest.raises(PlanError, match="should be positive and finite"):
            replace(longest.steps[0], weight=weight)


def test_replay_finds_every_fault(german: Benchmark, plans: Plans, longest: Plan) -> None:
    def faults(plan: Plan) -> str:
        result = plan.replay(german.problem, BlackBox(german.model))
        assert result.ok == (str(result) == "The plan holds.") == (result.outcome == "holds")
        return str(result)

    assert faults(longest) == "The plan holds."
    first, *rest = longest.steps
    assert "costs" in faults(replace(longest, steps=(replace(first, cost=first.cost + 1), *rest)))
    assert "no such action" in faults(replace(longest, steps=(replace(first, function="FLY"), *rest)))
    wrong_state = first.after | {"credit_amount": 9999}
    assert "leads to another state" in faults(replace(longest, steps=(replace(first, after=wrong_state), *rest)))
    assert "does not start where" in faults(replace(longest, steps=(replace(first, before=wrong_state), *rest)))
    assert "is not legal" in faults(replace(longest, steps=longest.steps + longest.steps[-1:] * 9))
    assert "the problem allows 4" in faults(replace(longest, steps=longest.steps * 3))
    assert "does not find the final state favourable" in faults(replace(longest, steps=longest.steps[:-1]))
    favourable = next(plan for plan in plans if plan.status is Status.ALREADY_FAVOURABLE)
    assert "already finds this person favourable" in faults(replace(favourable, status=Status.INFEASIBLE))
    assert "cannot be replayed" in faults(replace(longest, start={}))
    assert "cannot be called optimal" in faults(replace(longest, verified=False))
    assert "the lower bound is 0" in faults(replace(longest, lower_bound=0.0))
    other = tuple((name, 99 if name == "age" else value) for name, value in longest.row)
    assert "not the state that the plan starts from" in faults(replace(longest, row=other))


def test_a_plan_is_replayed_with_a_black_box(german: Benchmark, longest: Plan) -> None:
    with pytest.raises(SettingError, match=r"pass BlackBox\(model\)"):
        longest.replay(german.problem, german.model)  # type: ignore[arg-type]


def test_a_replay_that_fails_is_not_a_plan_that_fails(german: Benchmark, longest: Plan) -> None:
    box = BlackBox(german.model)
    assert longest.replay(german.problem, box).outcome == "holds"
    assert replace(longest, steps=longest.steps[:-1]).replay(german.problem, box).outcome == "does not hold"
    unknown = replace(longest, start={}).replay(german.problem, box)
    assert unknown.outcome == "could not be checked"
    assert not unknown.ok


def test_replay_multiplies_costs_by_the_weights_of_steps(german: Benchmark, longest: Plan) -> None:
    box = BlackBox(german.model)
    weighted = tuple(replace(step, cost=2 * step.cost, weight=2.0) for step in longest.steps)
    expensive = replace(longest, steps=weighted, optimal=False, lower_bound=0.0)
    assert expensive.replay(german.problem, box).ok
    assert expensive.cost == pytest.approx(2 * longest.cost)
    forgotten = replace(expensive, steps=tuple(replace(step, weight=1.0) for step in weighted))
    assert "costs" in str(forgotten.replay(german.problem, box))


def test_replay_queries_the_row_as_the_table_wrote_it() -> None:
    """Models may depend on the order and names of columns and on the spelling of values."""
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "spelled",
            "outcome": {"column": "y", "values": [0, 1], "favourable": 1},
            "max_actions": 1,
            "features": {"0": {"kind": "category", "values": ["1", "2", "3"]}, "b": {"kind": "number", "bins": []}},
            "functions": {"SET": {"set": "0", "arguments": ["3"], "cost": 1}},
        }
    )
    box = BlackBox(lambda frame: [int(row[0] == 5 and row[2] == "3") for row in frame.itertuples(index=False)])
    people = pd.DataFrame({"extra": [5], "b": [1.0], 0: ["1"]})
    plans = ExactPlanner(problem, box).plan(people)
    assert plans[0].status is Status.FOUND
    assert plans[0].replay(problem, box).ok
    assert Plans.from_json(plans.to_json())[0].replay(problem, box).ok


def test_counts_reasons(longest: Plan) -> None:
    steps = tuple(
        replace(step, reason="so", because=Reason("rule" if i else "contrast")) for i, step in enumerate(longest.steps)
    )
    both = Plans((replace(longest, steps=steps), longest))
    assert both.reasons == {"rule": len(steps) - 1, "card": 0, "points": 0, "contrast": 1, "none": len(steps)}
    words_only = Plans((replace(longest, steps=(Step("F", 1, 1.0, "F", {}, {}, reason="so"),)),))
    assert words_only.reasons == {"rule": 0, "card": 0, "points": 0, "contrast": 0, "none": 1}
    assert words_only.to_frame()["reason"].tolist() == ["so"]


@given(st.integers(1, 10**6), st.floats(0.01, 100))
def test_the_cost_without_weights_is_exact(thousandths: int, weight: float) -> None:
    cost = thousandths / 1000
    assert unweighted(round(cost * weight, 9), weight) == cost


def test_long_plans_are_aligned_and_state_the_longest_time(longest: Plan) -> None:
    steps = tuple(replace(longest.steps[0], start=float(i), duration=1.0) for i in range(11))
    text = str(replace(longest, steps=steps, time_unit="months", optimal=False))
    assert "Takes at most about 11 months" in text
    assert "\n   9. " in text
    assert "\n  10. " in text
