"""Plans as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

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
    SettingError,
    Status,
    StorageError,
)
from counterplan.benchmarks import Benchmark
from counterplan.plans import serialization


def test_json_has_everything(german: Benchmark, plans: Plans, tmp_path: Path) -> None:
    back = Plans.from_json(plans.to_json())
    assert back == plans
    assert back.to_json() == plans.to_json()
    box = BlackBox(german.model)
    assert [str(plan.replay(german.problem, box)) for plan in back[:5]] == ["The plan holds."] * 5
    plans.save(tmp_path / "plans.json")
    assert (tmp_path / "plans.json").read_text() == plans.to_json()
    assert [path.name for path in tmp_path.iterdir()] == ["plans.json"], "no temporary file is left"
    with pytest.raises(StorageError, match="cannot be written"):
        plans.save(tmp_path / "nowhere" / "plans.json")


def test_keys_of_the_format() -> None:
    """Files of version 1 are read by others: keys and their order stay, and people without a plan have the cost 0."""
    plan = Plan(1, Status.NOT_FOUND, {"age": 20}, queries=7, lower_bound=2.5)
    data = json.loads(Plans((plan,), "loan 1", 5, 2).to_json())
    assert [*data] == ["counterplan_plans", "problem", "queries", "cached", "plans"]
    assert data["plans"][0] == {
        "person": 1,
        "status": "not_found",
        "start": {"age": 20},
        "steps": [],
        "verified": False,
        "optimal": False,
        "lower_bound": 2.5,
        "questions": 7,
        "row": [],
        "caution": "",
        "cost": 0.0,
    }


def test_reasons_are_written_as_sentence_and_as_data(longest: Plan) -> None:
    rule = Reason("rule", "age < 25", ({"feature": "age", "below": 25}, {"cannot": "CHANGE_JOB=skilled"}))
    first = replace(longest.steps[0], reason="you are young", because=rule)
    rest = [replace(step, reason="without it: no", because=Reason("contrast")) for step in longest.steps[1:]]
    plans = Plans((replace(longest, steps=(first, *rest)), longest))
    assert Plans.from_json(plans.to_json()) == plans
    sources = plans.to_frame()["source"].fillna("none").tolist()
    assert sources == ["rule"] + ["contrast"] * len(rest) + ["none"] * len(longest.steps)
    data = json.loads(plans.to_json())
    assert data["plans"][0]["steps"][0]["because"]["conditions"][0] == {"feature": "age", "below": 25}
    for step in data["plans"][1]["steps"]:
        del step["because"]
    assert Plans.from_json(json.dumps(data)) == plans, "files without reasons as data"
    data["plans"][0]["steps"][0]["because"]["source"] = "rumour"
    with pytest.raises(PlanError, match=r"because\.source"):
        Plans.from_json(json.dumps(data))


@settings(max_examples=20)
@given(st.data())
def test_json_has_everything_in_random_worlds(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    table["extra"] = ([1.5, None, "x", True, 3, ""] * 2)[: len(table)]
    plans = ExactPlanner(problem, data.draw(worlds.black_boxes(problem))).plan(table)
    assert Plans.from_json(plans.to_json()) == plans


STEP = '{"function": "F", "argument": 1, "cost": 1, "text": "t", "before": {}, "after": {}, "weight": %s}'
PLAN = '{"counterplan_plans": 1, "plans": [{"person": 1, "status": "found", "start": {}, %s}]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        (PLAN[:-20], "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not plans of counterplan"),
        ('{"counterplan_plans": 99}', "newer counterplan"),
        ('{"counterplan_plans": 1, "plans": 3}', "should be a list"),
        ('{"counterplan_plans": 1, "plans": [{"person": 1}]}', r"plans\.0\.status"),
        ('{"counterplan_plans": 1, "plans": [7]}', r"plans\.0"),
        ('{"counterplan_plans": -3, "plans": []}', "not plans of counterplan"),
        ('{"counterplan_plans": 1, "plans": [], "queries": "abc"}', "plans: queries: "),
        ('{"counterplan_plans": 1' + "0" * 5000 + "}", "not JSON"),
        ('{"counterplan_plans": 1, "plans": [], "queries": NaN}', "NaN is not a number"),
        ('{"counterplan_plans": 1, "plans": [], "queries": 1e999}', "1e999 is too large"),
        (PLAN % '"questions": "many"', r"plans\.0\.questions: "),
        (PLAN % '"steps": []', r"plans\.0: a plan with status found and 0 steps contradicts itself"),
        (PLAN % f'"steps": [{STEP % "-2"}]', r"plans\.0\.steps\.0: the weight of step F=1 should be positive"),
        (PLAN % f'"steps": [{STEP % ("1" + "0" * 400)}]', "not JSON: the number 10+…0+ is too large"),
    ],
)
def test_damaged_json_is_refused(text: str, message: str) -> None:
    unreadable = "JSON" in message or "number" in message or "too large" in message
    with pytest.raises(StorageError if unreadable else PlanError, match=message):
        Plans.from_json(text)


def test_plans_are_read_with_the_limits_of_all_json(monkeypatch: pytest.MonkeyPatch) -> None:
    nested = '{"counterplan_plans": 1, "plans": ' + "[" * 300 + "]" * 300 + "}"
    with pytest.raises(StorageError, match="nested too deeply"):
        Plans.from_json(nested)
    monkeypatch.setattr(serialization, "LIMIT", 50)
    with pytest.raises(StorageError, match=r"kept\.json: cannot be read: larger than 50 characters"):
        Plans.from_json(PLAN, "kept.json")
    with pytest.raises(PlanError, match="from text, not from NoneType"):
        Plans.from_json(None)  # type: ignore[arg-type]


def test_plans_are_saved_to_a_path(plans: Plans, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        plans.save(f"{tmp_path}/a\0.json")
    with pytest.raises(SettingError, match="saved to a path, not to 3"):
        plans.save(3)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_what_json_cannot_represent_becomes_text(german: Benchmark) -> None:
    people = german.refused_test.head(1).assign(limit=np.inf, when=pd.Timestamp("2026-01-01"))
    plans = ExactPlanner(german.problem, BlackBox(german.model)).plan(people)
    row = dict(Plans.from_json(plans.to_json())[0].row)
    assert (row["limit"], row["when"]) == ("inf", "2026-01-01 00:00:00")


def test_extra_columns_are_read_back_for_the_model() -> None:
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
