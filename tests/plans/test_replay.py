"""Replays query the model with the dtypes that people came with, also those of loaded plans."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import strangers
from counterplan import BlackBox, ExactPlanner, Plan, PlanError, Plans, Problem, SettingError
from counterplan.plans.coded import Coded
from counterplan.plans.plan import Reason


@pytest.fixture(scope="module")
def problem() -> Problem:
    return strangers.problem()


@pytest.fixture(scope="module")
def made(problem: Problem) -> Plans:
    pytest.importorskip("lightgbm")
    plans = ExactPlanner(problem, BlackBox(strangers.lightgbm_model())).plan(strangers.people(30))
    assert plans.counts["found"] > 15
    assert any(plan.start["savings"] is None for plan in plans)
    return plans


def outcomes(plans: Plans, problem: Problem, model: object) -> set[str]:
    return {str(plan.replay(problem, BlackBox(model))) for plan in plans}


def loaded(plans: Plans, path: Path) -> Plans:
    plans.save(path)
    return Plans.load(path)


def test_plans_for_native_categoricals_and_missing_numbers_hold(made: Plans, problem: Problem) -> None:
    assert outcomes(made, problem, strangers.lightgbm_model()) == {"The plan holds."}


@pytest.mark.parametrize("name", ["plans.json", "plans.parquet"])
def test_loaded_plans_hold(made: Plans, problem: Problem, name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    back = loaded(made, tmp_path / name)
    assert back == made
    assert back.costs.tolist() == made.costs.tolist()
    assert outcomes(back, problem, strangers.lightgbm_model()) == {"The plan holds."}
    if name.endswith("parquet"):  # plans without columns, too
        again = loaded(Plans(back.plans, back.problem, back.queries, back.cached), tmp_path / name)
        assert again == made


ODD = {
    "whole": pd.array([1, None], "Int8"),
    "single": np.array([1.5, np.nan], "float32"),
    "text": pd.array(["x", None], "string"),
    "object": pd.Series(["x", pd.NA], dtype=object),
    "nan": pd.Series([True, np.nan], dtype=object),
    "date": pd.to_datetime(["2020-01-01 03:00", None]),
    "codes": pd.Categorical([3, 1], [3, 2, 1], ordered=True),
    "days": pd.Categorical(pd.to_datetime(["2020-01-01", None])),
}


@pytest.mark.parametrize("way", ["itself", "json", "parquet"])
def test_the_model_receives_the_dtypes_that_people_came_with(problem: Problem, way: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = strangers.people(2).reset_index(drop=True).assign(**ODD)
    table["arrow"] = pd.array(["x", None], pd.ArrowDtype(pa.string()))
    table["dictionary"] = pd.array(["x", "y"], pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    seen: list[pd.DataFrame] = []

    def model(people: pd.DataFrame) -> list[int]:
        seen.append(people)
        return [int(income >= 2000) for income in people["income"]]

    plans = ExactPlanner(problem, BlackBox(model)).plan(table)
    for row, plan in enumerate(plans if way == "itself" else loaded(plans, tmp_path / f"plans.{way}")):
        assert plan.replay(problem, BlackBox(model)).ok
        got, expected = seen[-1], table.iloc[[row]]
        extras = [*ODD, "arrow", "dictionary", "region", "savings", "job", "owner"]
        pd.testing.assert_frame_equal(got[extras].reset_index(drop=True), expected[extras].reset_index(drop=True))
        markers = [type(got[name].iloc[0]) for name in ("object", "nan")]
        assert markers == [type(expected[name].iloc[0]) for name in ("object", "nan")]


def test_a_model_that_fails_is_not_a_plan_that_fails(made: Plans, problem: Problem) -> None:
    def broken(people: pd.DataFrame) -> list[int]:
        raise RuntimeError("offline")

    replay = made[0].replay(problem, BlackBox(broken))
    assert (replay.ok, replay.checked, replay.outcome) == (False, False, "could not be checked")
    refused = made[0].replay(problem, BlackBox(lambda people: [0] * len(people)))
    assert (refused.ok, refused.checked, refused.outcome) == (False, True, "does not hold")
    unknown = replace(made[0], dtypes=tuple((name, "unheard of") for name, _ in made[0].row))
    assert unknown.replay(problem, BlackBox(strangers.lightgbm_model())).outcome == "could not be checked"


def test_files_without_dtypes_load_and_missing_numbers_remain_numbers(problem: Problem) -> None:
    seen = []

    def model(people: pd.DataFrame) -> list[int]:
        seen.append(people.dtypes["savings"])
        return [int(income >= 2000) for income in people["income"]]

    table = strangers.people(30).query("savings.isna()")
    data = json.loads(ExactPlanner(problem, BlackBox(model)).plan(table).to_json())
    assert [*data][-2:] == ["dtypes", "plans"]
    del data["dtypes"]
    for plan in data["plans"]:
        del plan["dtypes"]
    plan = Plans.from_json(json.dumps(data))[0]
    assert plan.dtypes == ()
    assert plan.replay(problem, BlackBox(model)).ok
    assert seen[-1] == "float64"


def test_dtypes_are_written_once(made: Plans) -> None:
    data = json.loads(made.to_json())
    assert len(data["dtypes"]) == 1
    assert {plan["dtypes"] for plan in data["plans"]} == {0}
    assert [
        data["dtypes"][0][3][0],
        {"categories": data["dtypes"][0][3][1]["categories"]},
    ] == ["job", {"categories": ["none", "manager", "clerk"]}]
    data["plans"][0]["dtypes"] = 7
    with pytest.raises(PlanError, match="dtypes"):
        Plans.from_json(json.dumps(data))


def test_parquet_has_reasons_weights_and_cautions(german, plans: Plans, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = np.flatnonzero(plans.lengths)
    reason = Reason("rule", "age < 25", ({"feature": "age", "below": 25},))
    explained = plans.with_reasons(rows, rows * 0, Coded(rows * 0, [("because you are young", reason)]))
    assert loaded(explained, tmp_path / "plans.parquet") == explained
    weighted = ExactPlanner(german.problem, BlackBox(german.model)).plan(
        german.test.head(8), weights=np.full((8, len(german.problem.transitions)), 0.3)
    )
    back = loaded(weighted, tmp_path / "plans.parquet")
    assert back == weighted
    assert [type(plan) for plan in back[:2]] == [Plan, Plan]
    assert len(loaded(plans[:0], tmp_path / "none.parquet")) == 0


def test_what_cannot_be_loaded_is_said(plans: Plans, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    with pytest.raises(SettingError, match=r"\.json and \.parquet"):
        Plans.load(tmp_path / "plans.csv")
    path = tmp_path / "plans.parquet"
    pq.write_table(plans.to_arrow(), path)
    with pytest.raises(PlanError, match="without the people"):
        Plans.load(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(PlanError, match="cannot be read as Parquet"):
        Plans.load(path)
    pq.write_table(plans.to_arrow().replace_schema_metadata({"counterplan_plans": "AAAA"}), path)
    with pytest.raises(PlanError, match="damaged"):
        Plans.load(path)
