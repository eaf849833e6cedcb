"""Plans under retrained models: who still holds, and what could not be checked."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grades
import strangers
import worlds
from counterplan import (
    BlackBox,
    ExactPlanner,
    ModelError,
    Plans,
    Problem,
    Recourse,
    Robustness,
    SettingError,
    Status,
    SurvivalBasis,
    benchmarks,
)
from counterplan.benchmarks import Benchmark
from counterplan.plans import RobustnessColumns

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "could not be checked"


@pytest.fixture(scope="module")
def retrained() -> list[object]:
    """Two models that decide differently about some plans."""
    model = benchmarks.load("german").model

    def stricter(people: pd.DataFrame) -> Any:
        return np.where(np.asarray(model.scores(people, {"good"})) >= 0.6, "good", "bad")

    def by_age(people: pd.DataFrame) -> Any:
        return np.where(people["age"] > 30, "good", model.labels(people))

    return [stricter, by_age]


def always(answer: str) -> Any:
    def model(people: pd.DataFrame) -> list[str]:
        return [answer] * len(people)

    return model


def broken(people: pd.DataFrame) -> list[str]:
    raise RuntimeError("offline")


def lacking(people: pd.DataFrame) -> object:
    return people["shoe_size"]


def picky(people: pd.DataFrame) -> list[str]:
    if (people["housing"] == "free").any():
        raise ValueError("unknown category 'free'")
    return ["good"] * len(people)


@settings(max_examples=15)
@given(st.data())
def test_every_plan_is_judged_as_its_replay_is(data: st.DataObject) -> None:
    """In random worlds, from columns and from files."""
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    plans = ExactPlanner(problem, data.draw(worlds.black_boxes(problem))).plan(table)
    boxes = [BlackBox(data.draw(worlds.black_boxes(problem))) for _ in range(2)]
    report = plans.survival(boxes)
    loaded = Plans.from_json(plans.to_json()).survival(boxes, problem)
    assert np.array_equal(report.codes, loaded.codes)
    assert np.array_equal(report.counted, loaded.counted)
    for row, plan in enumerate(plans):
        for i, box in enumerate(boxes):
            if plan.status in (Status.FOUND, Status.ALREADY_FAVOURABLE):
                assert report.outcomes[row, i] == plan.replay(problem, box).outcome
            else:
                assert report.outcomes[row, i] == FAILS
    for counts in (report, loaded):
        counted = np.where(counts.counted, counts.outcomes, UNKNOWN)
        assert counts.held.tolist() == (counted == HOLDS).sum(axis=1).tolist()
        assert counts.checked.tolist() == (counted != UNKNOWN).sum(axis=1).tolist()


def test_retrained_models(german: Benchmark, plans: Plans, retrained: list[object]) -> None:
    report = plans.survival(retrained)
    boxes = [BlackBox(model) for model in retrained]
    for i, box in enumerate(boxes):
        people = plans.people
        assert people is not None
        answers = box.session(german.problem, people)(plans.final_states, np.arange(60))
        assert ((report.outcomes[:, i] == HOLDS) == answers).all()
    assert report.counted.all()
    assert np.allclose(report.share, report.held / 2)
    assert np.allclose(report.share_by_model, (report.outcomes == HOLDS).mean(axis=0))
    frame = report.to_frame()
    assert frame.columns.tolist()[:6] == ["person", "status", "survival", "held", "checked", "share"]
    assert frame.columns.tolist()[6:] == [model.name for model in report.models]
    assert frame["held"].tolist() == report.held.tolist()
    judged = report.plans
    assert [plan.robustness for plan in judged] == [Robustness(held=int(held), judged=2) for held in report.held]
    assert judged.costs.tolist() == plans.costs.tolist()
    assert all("Held in" in str(plan) for plan in judged if plan.steps)
    assert plans[0].robustness is None, "the plans themselves do not change"
    text = str(report)
    assert text.startswith("60 people, 2 retrained models.\n23 plans: ")
    assert "37 already favourable: " in text
    assert all(escape(model.name) in report._repr_html_() for model in report.models)
    assert "\n" not in repr(report)


def test_models_that_planning_used_are_not_counted(german: Benchmark, plans: Plans, retrained: list[object]) -> None:
    refit = BlackBox(retrained[0])
    basis = SurvivalBasis("refits", refits=(refit.fingerprint(german.problem),))
    robust = plans.with_robustness(RobustnessColumns.of([Robustness(0.7, basis=basis)] * 30 + [None] * 30))
    report = robust.survival([german.model, *retrained])
    assert report.counted.sum(axis=0).tolist() == [0, 30, 60]
    assert (report.outcomes[:, 0] == HOLDS).all(), "it is shown, but says nothing new"
    assert report.checked.tolist() == [1] * 30 + [2] * 30
    assert [model.used for model in report.models] == [60, 30, 0]
    assert np.isnan(report.share_by_model[0])
    text = str(report)
    assert "60 of 60 hold; used for planning: not counted\n" in text
    assert "used for planning: not counted for 30 of them" in text
    assert "60 people, 2 retrained models." in text
    assert report.plans[0].robustness == Robustness(0.7, held=int(report.held[0]), judged=1, basis=basis)
    alone = plans.survival([german.model])
    assert np.isnan(alone.share).all()
    assert alone.plans[0].robustness is None, "nothing is known from the model of the check"
    assert "could not be checked." in str(alone)


def test_what_cannot_be_checked_does_not_fail(german: Benchmark, plans: Plans) -> None:
    free = np.array([plan.start["housing"] == "free" for plan in plans]) & (plans.lengths == 0)
    other_labels, no = always("excellent"), always("bad")
    report = plans.survival([broken, lacking, picky, other_labels, no])
    for i in (0, 1, 3):
        assert (report.outcomes[:, i] == UNKNOWN).all()
    assert (report.outcomes[free, 2] == UNKNOWN).all()
    assert (report.outcomes[:, 2] == UNKNOWN).sum() < 20, "others are checked nevertheless"
    assert (report.outcomes[:, 4] == FAILS).all()
    reasons = [model.reason for model in report.models]
    assert "RuntimeError: offline" in reasons[0]
    assert "shoe_size" in reasons[1]
    assert "unknown category 'free'" in reasons[2]
    assert "excellent" in reasons[3]
    assert reasons[4] == ""
    assert set(report.checked) <= {1, 2}
    assert "could not be checked: model 'broken' failed" in str(report)
    for plan in [plan for plan in plans if plan.steps][:3]:
        replays = [plan.replay(german.problem, BlackBox(model)) for model in (broken, lacking, other_labels, no)]
        assert [replay.outcome for replay in replays] == [UNKNOWN, UNKNOWN, UNKNOWN, FAILS]


def test_a_model_of_other_columns_or_categories_cannot_check() -> None:
    """Retrained estimators and boosters know their columns and categories."""
    sklearn = pytest.importorskip("sklearn.linear_model")
    problem, people = strangers.problem(), strangers.people(20)
    plans = ExactPlanner(problem, BlackBox(lambda frame: (frame["income"] >= 2000).astype(int).tolist())).plan(people)
    assert plans.counts["found"] > 3
    table = people[["income"]].assign(height=1.0)
    taller = sklearn.LogisticRegression().fit(table, [0, 1] * 10)
    assert (plans.survival([taller]).outcomes == UNKNOWN).all()
    replay = plans[0].replay(problem, BlackBox(taller))
    assert (replay.outcome, "height" in str(replay)) == (UNKNOWN, True)
    seen = people["job"].iloc[0]
    dtypes = {"job": pd.CategoricalDtype([seen])}
    fewer = BlackBox(lambda frame: [1] * len(frame), dtypes=dtypes)
    report = plans.survival([fewer])
    jobs = [plan.steps[-1].after["job"] if plan.steps else plan.start["job"] for plan in plans]
    expected = np.array([HOLDS if job in (seen, None) else UNKNOWN for job in jobs], object)
    expected[[plan.status in (Status.INFEASIBLE, Status.NOT_FOUND) for plan in plans]] = FAILS
    assert report.outcomes[:, 0].tolist() == expected.tolist()
    assert {HOLDS, UNKNOWN} <= {*expected}
    for plan, outcome in zip(plans, expected, strict=True):
        if plan.steps:
            assert plan.replay(problem, fewer).outcome == outcome


def test_a_faulty_plan_does_not_hold_whatever_the_model(german: Benchmark, plans: Plans) -> None:
    longest = max(plans, key=lambda plan: len(plan.steps))
    first, *rest = longest.steps
    faulty = replace(longest, steps=(replace(first, after=first.after | {"credit_amount": 9999}), *rest))
    assert faulty.replay(german.problem, BlackBox(broken)).outcome == FAILS
    assert longest.replay(german.problem, BlackBox(broken)).outcome == UNKNOWN
    foreign = replace(longest, start={}, row=(), dtypes=())
    expensive = replace(longest, steps=(replace(first, cost=first.cost + 1), *rest))
    report = Plans((longest, faulty, foreign, expensive)).survival([always("good")], german.problem)
    assert report.outcomes[:, 0].tolist() == [HOLDS, FAILS, UNKNOWN, HOLDS], "another cost leads to the same end"
    assert [*report.faults] == [1, 2]
    assert "leads to another state" in report.faults[1]
    assert json.loads(report.to_json())["people"][1]["fault"] == report.faults[1]


def test_plans_of_a_file(german: Benchmark, plans: Plans, retrained: list[object], tmp_path: Path) -> None:
    expected = plans.survival(retrained)
    for name in ("plans.json", "plans.parquet"):
        if name.endswith("parquet"):
            pytest.importorskip("pyarrow")
        plans.save(tmp_path / name)
        loaded = Plans.load(tmp_path / name)
        assert np.array_equal(loaded.survival(retrained, german.problem).codes, expected.codes)
        if name.endswith("json"):
            with pytest.raises(SettingError, match="pass problem="):
                loaded.survival(retrained)
        else:
            assert np.array_equal(loaded.survival(retrained).codes, expected.codes), "it has the problem"
    data = german.problem.to_dict()
    dearer = Problem.from_dict(data | {"functions": {name: f | {"cost": 99} for name, f in data["functions"].items()}})
    assert np.array_equal(plans.survival(retrained, dearer).codes, expected.codes), "other costs, the same ends"
    without_dtypes = Plans([replace(plan, dtypes=()) for plan in plans[:9]])
    assert np.array_equal(without_dtypes.survival(retrained, german.problem).codes, expected.codes[:9])
    expected.plans.save(tmp_path / "judged.json")
    assert Plans.load(tmp_path / "judged.json").plans == expected.plans.plans


def test_targets_are_judged_by_their_own_outcomes() -> None:
    problem, people = grades.grades(), grades.people(12)
    made = Recourse(problem, grades.model).recommend(people, "exact", target=["A", "B", {"A", "B"}] * 4)
    models = [always("B"), BlackBox(always("A"), "A"), BlackBox(always("A"), threshold=0.5)]
    for one, given_problem in ((made, None), (Plans.from_json(made.to_json()), problem)):
        report = one.survival(models, given_problem)
        found = [plan.status in (Status.FOUND, Status.ALREADY_FAVOURABLE) for plan in made]
        for row in np.flatnonzero(found).tolist():
            assert report.outcomes[row, 0] == (HOLDS if "B" in made[row].target else FAILS)
            assert report.outcomes[row, 1] == (HOLDS if made[row].target == ("A",) else UNKNOWN)
            assert report.outcomes[row, 2] == UNKNOWN
    assert made.survival([grades.model]).counted[found].sum() == 0


def test_a_budget_limits_the_queries(plans: Plans, retrained: list[object]) -> None:
    box = BlackBox(retrained[0], budget=10)
    report = plans.survival([box])
    assert (report.checked.sum(), box.queries) == (10, 10)
    assert "budget of 10 queries" in report.models[0].reason


def test_a_slow_model_that_fails_is_not_tried_again(plans: Plans) -> None:
    """A service that is down is called once, not once for each half of the people."""
    calls: list[int] = []

    def down(people: pd.DataFrame) -> list[str]:
        calls.append(len(people))
        raise RuntimeError("timeout")

    seconds = iter(range(0, 10_000, 60))
    assert (plans.survival([BlackBox(down, clock=lambda: float(next(seconds)))]).outcomes == UNKNOWN).all()
    assert calls == [60]


def test_each_model_is_called_once(german: Benchmark, retrained: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """All plans in one batch, and no `Plan` objects."""
    people = pd.concat([german.refused_test.head(20)] * 50, ignore_index=True)
    plans = ExactPlanner(german.problem, BlackBox(german.model)).plan(people)
    calls: list[int] = []

    def counting(frame: pd.DataFrame) -> object:
        calls.append(len(frame))
        return BlackBox(retrained[0]).model.labels(frame)

    monkeypatch.setattr("counterplan.plans.sources.Plan", None)
    report = plans.survival([counting])
    assert len(calls) == 1
    assert calls[0] <= 20
    assert report.held.tolist() == report.held[:20].tolist() * 50


def test_reports_are_written(plans: Plans, retrained: list[object], tmp_path: Path) -> None:
    report = plans.survival(retrained)
    for name in ("report.csv", "report.json"):
        report.save(tmp_path / name)
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    rows = list(csv.DictReader(io.StringIO((tmp_path / "report.csv").read_text())))
    assert [row["held"] for row in rows] == [str(held) for held in report.held]
    assert rows[4][report.models[0].name] == report.outcomes[4, 0]
    data = json.loads((tmp_path / "report.json").read_text())
    assert [person["outcomes"] for person in data["people"]] == report.outcomes.tolist()
    assert [model["fingerprint"] for model in data["models"]] == [model.fingerprint for model in report.models]
    with pytest.raises(SettingError, match=r"\.csv or \.json"):
        report.save(tmp_path / "report.txt")


def test_models_of_one_name_are_told_apart(plans: Plans) -> None:
    report = plans.survival([always("good"), always("bad"), always("bad")])
    names = [model.name for model in report.models]
    assert len({*names}) == 3
    assert all(name.startswith("model 'model' (") for name in names)
    assert report.to_frame().columns.is_unique


def test_hostile_names_are_text(plans: Plans) -> None:
    hostile = always("good")
    hostile.__name__ = "=1+1<script>alert(1)</script>\x1b[2J"
    model = replace(plans.survival([hostile]).models[0], name=hostile.__name__)
    report = replace(plans.survival([hostile]), models=(model,))
    assert "<script>" not in report._repr_html_()
    assert "\x1b" not in str(report) + report.to_csv()
    assert ",'=1+1" in report.to_csv().splitlines()[0]


def test_wrong_arguments(german: Benchmark, plans: Plans) -> None:
    for wrong in (german.model, BlackBox(german.model), "bank:model", None):
        with pytest.raises(SettingError, match="must be a list of models"):
            plans.survival(wrong)
    with pytest.raises(SettingError, match="'models' is empty"):
        plans.survival([])
    with pytest.raises(ModelError):
        plans.survival([7])
    with pytest.raises(SettingError, match="'problem' must be a Problem, not str"):
        plans.survival([german.model], "german")  # type: ignore[arg-type]
    nobody = plans[:0].survival([german.model])
    assert nobody.outcomes.shape == (0, 1)
    assert str(nobody).startswith("0 people")
    assert nobody.to_frame().empty
