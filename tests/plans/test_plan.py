"""Plans: what they say, how they are kept, and what a replay finds wrong with them."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import (
    BlackBox,
    ExactPlanner,
    Plan,
    PlanError,
    Plans,
    Problem,
    Reason,
    Status,
    StorageError,
    benchmarks,
)

GERMAN = benchmarks.load("german")
PLANS = ExactPlanner(GERMAN.problem, BlackBox(GERMAN.model)).plan(GERMAN.test.head(60))
LONG = max(PLANS, key=lambda plan: len(plan.steps))


def replay(plan: Plan) -> str:
    result = plan.replay(GERMAN.problem, BlackBox(GERMAN.model))
    assert result.ok == (str(result) == "The plan holds.")
    return str(result)


def test_prints_as_a_person_would_write_it() -> None:
    text = str(LONG)
    assert text.startswith(
        f"Refused. {len(LONG.steps)} steps would change that (effort {LONG.cost:.1f}, the least poss"
    )
    assert all(f"{number}. {step.text}" in text for number, step in enumerate(LONG.steps, 1))
    assert f"Checked with the model: favourable. {LONG.questions:,} questions asked." in text
    reasoned = dataclasses.replace(LONG, steps=(dataclasses.replace(LONG.steps[0], reason="you are young"),))
    assert "     because you are young" in str(reasoned)
    assert "at least 3.0" in str(dataclasses.replace(LONG, optimal=False, lower_bound=3.0))
    for status, words in [
        (Status.ALREADY_FAVOURABLE, "nothing needs to change"),
        (Status.INFEASIBLE, "proved"),
        (Status.NOT_FOUND, "no question was asked"),
    ]:
        assert words in str(Plan(1, status, LONG.start))
    assert "found after 3 questions" in str(Plan(1, Status.NOT_FOUND, LONG.start, questions=3))
    listing = PLANS.to_text(3)
    assert "… and 57 more." in listing
    assert f"60 people: {PLANS.counts['found']} found" in listing


def test_promises_nothing_that_nobody_checked() -> None:
    loose = dataclasses.replace(LONG, verified=False, optimal=False, lower_bound=0.0)
    for questions, first, last in [
        (0, f"{len(LONG.steps)} steps should change the decision", "No question was asked."),
        (1, f"Refused. {len(LONG.steps)} steps should change that", "It was asked only whether you are refused."),
        (3, f"Refused. {len(LONG.steps)} steps should change that", "asked 3 questions about other states."),
    ]:
        text = str(dataclasses.replace(loose, questions=questions))
        assert text.startswith(first)
        assert "Not checked with the model" in text
        assert text.endswith(last)
        assert "would" not in text
        assert "question asked" not in text
    closing = Plans((loose, PLANS[0], LONG)).to_text().splitlines()[-1]
    assert "(1 not checked)" in closing
    assert "1 found (not checked)" in Plans((loose,), queries=2, cached=3).to_text()


def test_questions_are_counted_alike_for_one_and_for_all() -> None:
    """What memory answered was asked as well: a plan does not know who answered, all plans together do."""
    three = dataclasses.replace(LONG, questions=3)
    for queries, cached, closing in (
        (3, 0, "3 questions asked."),
        (2, 1, "3 questions asked, 1 of them answered from memory."),
        (0, 3, "3 questions asked, all answered from memory."),
    ):
        text = Plans((three,), queries=queries, cached=cached).to_text()
        assert "favourable. 3 questions asked." in text
        assert text.splitlines()[-1].endswith(f". {closing}")
    once = Plans((dataclasses.replace(LONG, questions=1),), queries=0, cached=1).to_text()
    assert once.endswith("1 question asked, and answered from memory.")


def test_counts_reasons() -> None:
    steps = tuple(
        dataclasses.replace(step, reason="so", because=Reason("rule" if i else "contrast"))
        for i, step in enumerate(LONG.steps)
    )
    some = Plans((dataclasses.replace(LONG, steps=steps), LONG))
    assert some.reasons == {"rule": len(steps) - 1, "contrast": 1, "none": len(steps)}


def test_long_reasons_are_wrapped() -> None:
    steps = (dataclasses.replace(LONG.steps[0], reason="you are young and " * 30 + "free"),)
    assert max(map(len, str(dataclasses.replace(LONG, steps=steps)).splitlines())) <= 110


def test_is_a_sequence_with_counts() -> None:
    assert sum(PLANS.counts.values()) == len(PLANS) == len(list(PLANS)) == 60
    assert PLANS.counts["already_favourable"] > 0
    assert len(PLANS[5:10]) == 5
    assert PLANS[5:10][0] is PLANS[5]
    both = PLANS[:2] + PLANS[2:]
    assert both.plans == PLANS.plans
    with pytest.raises(IndexError):
        PLANS[60]


def test_a_frame_has_a_row_for_each_step() -> None:
    frame = PLANS.to_frame()
    assert len(frame) == sum(max(1, len(plan.steps)) for plan in PLANS)
    mine = frame[frame["person"] == LONG.person]
    assert mine["step"].tolist() == list(range(1, len(LONG.steps) + 1))
    assert mine["cost"].sum() == pytest.approx(LONG.cost)
    assert mine["total_cost"].nunique() == 1
    assert frame[frame["status"] == "already_favourable"]["step"].eq(0).all()
    assert Plans(()).to_frame().columns.tolist() == frame.columns.tolist()


def test_json_keeps_everything(tmp_path) -> None:
    back = Plans.from_json(PLANS.to_json())
    assert back == PLANS
    assert back.to_json() == PLANS.to_json()
    assert [replay(plan) for plan in back[:5]] == ["The plan holds."] * 5
    PLANS.save(tmp_path / "plans.json")
    assert (tmp_path / "plans.json").read_text() == PLANS.to_json()
    assert [path.name for path in tmp_path.iterdir()] == ["plans.json"], "no temporary file is left"
    with pytest.raises(StorageError, match="cannot be written"):
        PLANS.save(tmp_path / "nowhere" / "plans.json")


def test_reasons_are_kept_as_sentence_and_as_data() -> None:
    rule = Reason("rule", "age < 25", ({"feature": "age", "below": 25}, {"cannot": "CHANGE_JOB=skilled"}))
    first = dataclasses.replace(LONG.steps[0], reason="you are young", because=rule)
    rest = [dataclasses.replace(step, reason="without it: no", because=Reason("contrast")) for step in LONG.steps[1:]]
    plans = Plans((dataclasses.replace(LONG, steps=(first, *rest)), LONG))
    assert Plans.from_json(plans.to_json()) == plans
    sources = plans.to_frame()["source"].fillna("none").tolist()
    assert sources == ["rule"] + ["contrast"] * len(rest) + ["none"] * len(LONG.steps)
    data = json.loads(plans.to_json())
    assert data["plans"][0]["steps"][0]["because"]["conditions"][0] == {"feature": "age", "below": 25}
    for step in data["plans"][1]["steps"]:
        del step["because"]
    assert Plans.from_json(json.dumps(data)) == plans, "plans written before there were reasons as data"
    data["plans"][0]["steps"][0]["because"]["source"] = "rumour"
    with pytest.raises(PlanError, match=r"because\.source"):
        Plans.from_json(json.dumps(data))


@settings(max_examples=40)
@given(st.data())
def test_json_keeps_everything_in_random_worlds(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    table["extra"] = ([1.5, None, "x", True, 3, ""] * 2)[: len(table)]
    plans = ExactPlanner(problem, data.draw(worlds.black_boxes(problem))).plan(table)
    assert Plans.from_json(plans.to_json()) == plans


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        (PLANS.to_json()[:-20], "not JSON"),
        ("[]", "not plans of counterplan"),
        ('{"counterplan_plans": 99}', "newer counterplan"),
        ('{"counterplan_plans": 1, "plans": 3}', "should be a list"),
        ('{"counterplan_plans": 1, "plans": [{"person": 1}]}', "plans.0.status"),
        ('{"counterplan_plans": 1, "plans": [7]}', "plans.0"),
        ('{"counterplan_plans": -3, "plans": []}', "not plans of counterplan"),
        ('{"counterplan_plans": 1, "plans": [], "queries": "abc"}', "queries"),
        ('{"counterplan_plans": 1' + "0" * 5000 + "}", "not JSON"),
        ('{"counterplan_plans": 1, "plans": [], "queries": NaN}', "NaN is not a number"),
        (
            '{"counterplan_plans": 1, "plans": [{"person": 1, "status": "found", "start": {}}]}',
            "found and 0 steps contradicts itself",
        ),
    ],
)
def test_damaged_json_is_refused(text: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Plans.from_json(text)


def test_replay_says_what_is_wrong() -> None:
    assert replay(LONG) == "The plan holds."
    first, *rest = LONG.steps
    changed = dataclasses.replace
    assert "costs" in replay(changed(LONG, steps=(changed(first, cost=first.cost + 1), *rest)))
    assert "no such action" in replay(changed(LONG, steps=(changed(first, function="FLY"), *rest)))
    wrong_state = first.after | {"credit_amount": 9999}
    assert "leads to another state" in replay(changed(LONG, steps=(changed(first, after=wrong_state), *rest)))
    assert "does not start where" in replay(changed(LONG, steps=(changed(first, before=wrong_state), *rest)))
    assert "is not legal" in replay(changed(LONG, steps=LONG.steps + LONG.steps[-1:] * 9))
    assert "the problem allows 4" in replay(changed(LONG, steps=LONG.steps * 3))
    assert "does not find the final state favourable" in replay(changed(LONG, steps=LONG.steps[:-1]))
    assert "already finds this person favourable" in replay(
        changed(next(p for p in PLANS if p.status is Status.ALREADY_FAVOURABLE), status=Status.INFEASIBLE)
    )
    assert "cannot be replayed" in replay(changed(LONG, start={}))
    assert "cannot be called optimal" in replay(changed(LONG, verified=False))
    assert "the lower bound is 0" in replay(changed(LONG, lower_bound=0.0))
    other = tuple((name, 99 if name == "age" else value) for name, value in LONG.row)
    assert "not the state that the plan starts from" in replay(changed(LONG, row=other))


def test_replay_asks_about_the_row_as_the_table_wrote_it() -> None:
    """Order and names of columns, and how values are spelled, are the model's business."""
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "spelled",
            "outcome": {"column": "y", "values": [0, 1], "favourable": 1},
            "max_actions": 1,
            "features": {"0": {"kind": "category", "values": [1, 2, 3]}, "b": {"kind": "number", "bins": []}},
            "functions": {"SET": {"set": "0", "arguments": [3], "cost": 1}},
        }
    )
    box = BlackBox(lambda frame: [int(row[0] == 5 and row[2] == "3") for row in frame.itertuples(index=False)])
    people = pd.DataFrame({"extra": [5], "b": [1.0], 0: ["1"]})
    for plans in (ExactPlanner(problem, box).plan(people),):
        assert plans[0].status is Status.FOUND
        assert plans[0].replay(problem, box).ok
        assert Plans.from_json(plans.to_json())[0].replay(problem, box).ok


def test_what_json_cannot_hold_becomes_text() -> None:
    people = GERMAN.refused_test.head(1).assign(limit=np.inf, when=pd.Timestamp("2026-01-01"))
    plans = ExactPlanner(GERMAN.problem, BlackBox(GERMAN.model)).plan(people)
    row = dict(Plans.from_json(plans.to_json())[0].row)
    assert (row["limit"], row["when"]) == ("inf", "2026-01-01 00:00:00")


def test_replay_hands_extra_columns_to_the_model() -> None:
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "extra",
            "outcome": {"column": "y", "values": [0, 1], "favourable": 1},
            "max_actions": 1,
            "features": {"x": {"kind": "number", "bins": []}},
            "functions": {"ADD": {"add": "x", "arguments": [1], "cost": 1}},
        }
    )
    box = BlackBox(lambda frame: (frame["x"] + frame["bonus"].astype(float) >= 3).astype(int))
    people = pd.DataFrame({"bonus": [2, 0], "x": [0.0, 0.0], "note": [np.nan, "hello"]})
    plans = Plans.from_json(ExactPlanner(problem, box).plan(people).to_json())
    assert [plan.status for plan in plans] == [Status.FOUND, Status.INFEASIBLE]
    assert [plan.replay(problem, box).ok for plan in plans] == [True, True]
    assert json.loads(plans.to_json())["plans"][1]["row"] == [["bonus", 0], ["x", 0.0], ["note", "hello"]]
