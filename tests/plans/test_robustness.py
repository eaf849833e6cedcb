"""What plans say about retrained models: columns and objects agree, files have everything, words promise nothing."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterplan import Check, Plan, PlanError, Plans, Robustness, SettingError, Status, Step, SurvivalBasis
from counterplan.benchmarks import Benchmark
from counterplan.plans import Coded, PlanColumns, RobustnessColumns
from counterplan.plans.robustness import planning_date

SHARES = st.floats(0, 1)
BASES = st.builds(
    SurvivalBasis,
    st.sampled_from(["refits", "committee", "margin", ""]),
    st.sampled_from(["", "The model gives decisions only."]),
    st.floats(0, 100),
    st.none() | SHARES,
    st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple),
    st.booleans(),
    st.booleans(),
)
ROBUSTNESS = st.none() | st.tuples(
    st.none() | SHARES,
    st.none() | st.floats(0, 1e9),
    st.none() | SHARES,
    st.booleans(),
    st.none() | st.booleans(),
    st.booleans(),
    st.integers(0, 20),
    st.integers(0, 20),
    st.none() | BASES,
).map(lambda values: Robustness(*values[:6], min(values[6:8]), max(values[6:8]), values[8]))
CHECKS = st.none() | st.builds(Check, st.text(max_size=5), st.just("0a"), st.dates().map(lambda day: day.isoformat()))
FACTS = st.lists(st.tuples(ROBUSTNESS, CHECKS), min_size=1, max_size=6)


def known(robustness: Robustness | None) -> Robustness | None:
    """Nothing is known about a plan without robustness, and about one all of whose values are absent."""
    return None if robustness == Robustness() else robustness


def columns_of(facts: list[tuple[Robustness | None, Check | None]]) -> PlanColumns:
    columns = PlanColumns.empty(len(facts), 2)
    columns.robustness = RobustnessColumns.of([robustness for robustness, _ in facts])
    columns.checks = Coded.of([check for _, check in facts])
    return columns


def facts_of(columns: PlanColumns) -> list[tuple[Robustness | None, Check | None]]:
    robustness, checks = columns.robustness, columns.checks
    return [
        (None if robustness is None else robustness[row], None if checks is None else checks.get(row))
        for row in range(len(columns))
    ]


@given(FACTS, FACTS, st.data())
def test_columns_are_lists_of_objects(first: list[Any], second: list[Any], data: st.DataObject) -> None:
    """`take`, `join` and `put` do what they do to lists."""
    first = [(known(robustness), check) for robustness, check in first]
    second = [(known(robustness), check) for robustness, check in second]
    one, other = columns_of(first), columns_of(second)
    assert facts_of(one) == first
    rows = data.draw(st.lists(st.integers(0, len(first) - 1), max_size=8))
    assert facts_of(one.take(np.array(rows, np.intp))) == [first[row] for row in rows]
    assert facts_of(one.take(slice(1, 3))) == first[1:3]
    nothing = PlanColumns.empty(2, 2)
    assert facts_of(PlanColumns.join([one, nothing, other])) == [*first, (None, None), (None, None), *second]
    places = data.draw(st.lists(st.integers(0, len(first) - 1), unique=True, max_size=len(second)))
    expected = list(first)
    for place, fact in zip(places, second, strict=False):
        expected[place] = fact
    part = other.take(np.arange(len(places)))
    one.put(np.array(places, np.intp), part)
    assert facts_of(one) == expected
    one.put(np.array([0]), PlanColumns.empty(1, 2))
    assert facts_of(one) == [(None, None), *expected[1:]]
    nothing.put(np.array([1]), other.take(np.array([0])))
    assert facts_of(nothing) == [(None, None), second[0]]


@given(st.data())
def test_files_have_everything(german: Benchmark, plans: Plans, data: st.DataObject) -> None:
    facts = data.draw(st.lists(st.tuples(ROBUSTNESS, CHECKS), min_size=5, max_size=5))
    facts = [(known(robustness), check) for robustness, check in facts]
    people = plans[:5].people
    assert people is not None
    given_columns = columns_of(facts)
    columns = replace(plans[:5].columns, robustness=given_columns.robustness, checks=given_columns.checks)
    made = Plans.from_columns(german.problem, people, columns)
    assert [(plan.robustness, plan.check) for plan in made] == facts
    assert np.array_equal(
        made.survivals, [math.nan if p.survival is None else p.survival for p in made], equal_nan=True
    )
    as_objects = Plans(made.plans, made.problem)
    assert facts_of(as_objects.columns) == facts
    for one in (made, as_objects):
        assert Plans.from_json(one.to_json()) == made
    assert as_objects.to_csv() == made.to_csv()
    assert as_objects.to_frame().equals(made.to_frame())
    assert np.array_equal(made.to_frame().groupby("person")["survival"].first(), made.survivals, equal_nan=True)


@pytest.mark.parametrize("as_objects", [False, True])
def test_parquet_has_everything(plans: Plans, as_objects: bool, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    basis = SurvivalBasis("refits", "", 4.0, 0.8, ("a", "b"), True)
    values = [None, Robustness(0.5, 9.0, 0.25, True, False, True, 3, 4, basis), Robustness(judged=2)] * 20
    made = plans.with_robustness(RobustnessColumns.of(values))
    made = Plans(made.plans, made.problem, made.queries, made.cached) if as_objects else made
    made.save(tmp_path / "plans.parquet")
    back = Plans.load(tmp_path / "plans.parquet")
    assert back == made
    assert [plan.robustness for plan in back] == values
    assert back[0].check is not None
    assert made.to_arrow().column_names == made.to_frame().columns.tolist()


def test_files_without_it_load(plans: Plans, tmp_path: Path) -> None:
    """Files of earlier versions have neither checks nor robustness."""
    pq = pytest.importorskip("pyarrow.parquet")
    data = json.loads(plans.to_json())
    assert len(data["checks"]) == 1
    del data["checks"]
    for plan in data["plans"]:
        plan.pop("check", None)
    old = Plans.from_json(json.dumps(data))
    assert {(plan.robustness, plan.check) for plan in old} == {(None, None)}
    assert "Checked with the model: favourable." in old.to_text()
    bare = Plans.from_columns(plans._source.problem, plans.people, replace(plans.columns, checks=None))  # type: ignore[attr-defined]
    bare.save(tmp_path / "plans.parquet")
    table = pq.read_table(tmp_path / "plans.parquet")
    pq.write_table(table.drop_columns(["survival", "model", "held"]), tmp_path / "plans.parquet")
    assert [plan.check for plan in Plans.load(tmp_path / "plans.parquet")] == [None] * len(plans)


FOUND = '{"counterplan_plans": 1, %s "plans": [{"person": 1, "status": "not_found", "start": {}, %s}]}'


@pytest.mark.parametrize(
    ("head", "plan", "message"),
    [
        ("", '"robustness": {"survival": 1.5}', r"plans\.0\.robustness: 'survival' should be a number from 0 to 1"),
        ("", '"robustness": {"survival": -0.1}', "'survival' should be a number from 0 to 1, not -0.1"),
        ("", '"robustness": {"cheapest_survival": 7}', "'cheapest_survival' should be"),
        ("", '"robustness": {"cheapest_cost": -1}', "'cheapest_cost' should be a finite number"),
        ("", '"robustness": {"held": 3, "judged": 2}', "'held' should be from 0 to 'judged', 2, not 3"),
        ("", '"robustness": {"held": -1}', "'held' should be from 0"),
        ("", '"robustness": {"judged": 1%s}' % ("0" * 30), "'held' should be"),
        ("", '"robustness": {"survival": "much"}', r"plans\.0\.robustness\.survival: "),
        ("", '"robustness": {"met": 7}', r"plans\.0\.robustness\.met: "),
        ("", '"robustness": {"basis": 0}', r"plans\.0\.robustness\.basis"),
        ("", '"robustness": 3', r"plans\.0\.robustness: "),
        ("", '"check": 0', r"plans\.0\.check: "),
        ('"checks": [{"model": "m"}],', '"check": 0', r"checks\.0\.fingerprint: "),
        ('"checks": [{"model": "m", "fingerprint": "", "date": "today"}],', '"check": 0', "date of a check should be"),
        ('"checks": {},', '"check": 0', "plans: checks: "),
        ('"survival_bases": [{"source": "rumour"}],', '"queries": 1', r"survival_bases\.0\.source: "),
        ('"survival_bases": [{"source": "", "weight": -4}],', '"queries": 1', "weight of survival should be"),
        ('"survival_bases": [{"source": "", "at_least": 2}],', '"queries": 1', "'at_least' should be a number from 0"),
    ],
)
def test_hostile_files_are_refused(head: str, plan: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Plans.from_json(FOUND % (head, plan))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("robustness", {"survival": [0.5]}, "damaged"),
        ("robustness", 7, "Input should be"),
        ("basis_of_person", [0], "the survival bases and the people do not match"),
        ("basis_of_person", [9] * 60, "the survival bases and the people do not match"),
        ("check_of_person", [-2] * 60, "the checks and the people do not match"),
        ("checks", [{"model": 3}], r"checks\.0"),
        ("survival", [2.0] * 60, "'survival' should be a number from 0 to 1"),
        ("survival", [0.5] * 59, "damaged"),
    ],
)
def test_hostile_parquet_is_refused(plans: Plans, key: str, value: Any, message: str, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    import base64
    import zlib

    path = tmp_path / "plans.parquet"
    plans.with_robustness(RobustnessColumns.of([Robustness(0.5, basis=SurvivalBasis("margin"))] * 60)).save(path)
    table = pq.read_table(path)
    data = json.loads(zlib.decompress(base64.b64decode(table.schema.metadata[b"counterplan_plans"])))
    if key == "survival":
        data["robustness"]["survival"] = value
    else:
        data[key] = value
    packed = base64.b64encode(zlib.compress(json.dumps(data).encode()))
    pq.write_table(table.replace_schema_metadata({"counterplan_plans": packed}), path)
    with pytest.raises(PlanError, match=message):
        Plans.load(path)


def test_values_out_of_range_are_refused(plans: Plans) -> None:
    with pytest.raises(PlanError, match="source of survival"):
        SurvivalBasis("guess")  # type: ignore[arg-type]
    for wrong in (math.nan, math.inf, -0.5, 2):
        with pytest.raises(PlanError, match="survival"):
            Robustness(survival=wrong)
    for date in ("", "17 November 2026", "2026-11-17T00:00", "20261117", "2026-02-30"):
        with pytest.raises(PlanError, match="date of a check"):
            Check("m", "f", date)
    with pytest.raises(SettingError, match="for 2 plans, but there are 60"):
        plans.with_robustness(RobustnessColumns.empty(2))


def test_verified_plans_state_the_model_and_the_date(german: Benchmark, plans: Plans) -> None:
    from counterplan import BlackBox, ExactPlanner

    box = BlackBox(german.model)
    expected = Check(german.model.name, box.fingerprint(german.problem), "2026-11-17")
    assert {plan.check for plan in plans} == {expected}, "also of people who are accepted as they are"
    unverified = ExactPlanner(german.problem, box).plan(german.refused_test.head(3), budget=2)
    assert [plan.check is None for plan in unverified] == [not plan.verified for plan in unverified]
    assert None in {plan.check for plan in unverified}


def test_the_date_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86399")
    assert planning_date() == "1970-01-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert planning_date() == "1970-01-02", "UTC, wherever it runs"
    for wrong in ("today", "1e9", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        with pytest.raises(SettingError, match="SOURCE_DATE_EPOCH must be a number of seconds"):
            planning_date()
    for name in ("", None):
        if name is None:
            monkeypatch.delenv("SOURCE_DATE_EPOCH")
        else:
            monkeypatch.setenv("SOURCE_DATE_EPOCH", name)
        assert len(planning_date()) == len("2026-11-17")
    assert "SOURCE_DATE_EPOCH" not in os.environ


# Words

STEPS = (Step("SAVE", 10, 16.0, "Save more", {}, {}),)
COMMITTEE = SurvivalBasis("committee", weight=4.0)


def words(robustness: Robustness | None, **changes: Any) -> str:
    """The sentences about retrained models."""
    facts: dict[str, Any] = {"verified": True, "queries": 3, "check": Check("model 'bank'", "0a", "2026-11-07")}
    plan = Plan(1, Status.FOUND, {}, STEPS, robustness=robustness, **facts | changes)
    text = " ".join(str(plan).partition("3 questions asked.")[2].split())
    assert text in " ".join(plan._repr_html_().replace("&#x27;", "'").split())
    return text


def test_a_plan_says_how_long_it_lasts() -> None:
    assert words(None) == ""
    assert words(Robustness(0.84, 9.0, 0.43, True, basis=COMMITTEE)) == (
        "Today's model says yes. About 8 in 10 retrained models would too. "
        "The cheapest plan takes 9 instead of 16, but only about 4 in 10 would."
    )


@pytest.mark.parametrize(
    ("chance", "share"),
    [
        (0, "Fewer than 1 in 10"),
        (0.0999, "Fewer than 1 in 10"),
        (0.1, "Only about 1 in 10"),
        (0.3, "Only about 3 in 10"),
        (0.4999, "Only about 4 in 10"),
        (0.5, "About 5 in 10"),
        (0.7, "About 7 in 10"),
        (0.7999, "About 7 in 10"),
        (0.9, "About 9 in 10"),
        (0.9499, "About 9 in 10"),
        (0.95, "Nearly all"),
        (1, "Nearly all"),
    ],
)
def test_chances_are_rounded_down(chance: float, share: str) -> None:
    assert words(Robustness(chance)) == f"Today's model says yes. {share} retrained models would too."


@given(SHARES)
def test_no_text_states_more_than_the_chance(chance: float) -> None:
    text = words(Robustness(chance))
    tenths = [number for number in range(1, 10) if f"bout {number} in 10" in text]
    assert all(number <= 10 * chance + 1e-8 for number in tenths)
    assert len(tenths) + ("early all" in text) + ("ewer than" in text) == 1


@pytest.mark.parametrize(
    ("cheapest", "sentence"),
    [
        (
            (9.0, 0.43, False),
            "The cheapest plan would probably take about 9 instead of 16, but only about 4 in 10 would.",
        ),
        ((9.5, 0.02, True), "The cheapest plan takes 9.5 instead of 16, but fewer than 1 in 10 would."),
        ((9.0, 0.85, True), "The cheapest plan takes 9 instead of 16, and as many would."),
        ((9.0, None, True), "The cheapest plan takes 9 instead of 16."),
        ((16.0, 0.8, True), ""),
        ((15.99, 0.4, True), ""),
        ((17.0, 0.4, False), ""),
        ((None, None, False), ""),
    ],
)
def test_the_cheapest_plan_is_compared_where_it_is_cheaper(cheapest: Any, sentence: str) -> None:
    text = words(Robustness(0.8, *cheapest, basis=COMMITTEE))
    assert text.removeprefix("Today's model says yes. About 8 in 10 retrained models would too.").strip() == sentence


def test_what_was_required_and_is_not_there_is_said() -> None:
    basis = SurvivalBasis("refits", at_least=0.8)
    short = Robustness(0.77, met=False, proved=True, basis=basis)
    assert words(short).endswith("No plan within the rules reaches 8 in 10; this one is the best there is.")
    assert words(replace(short, proved=False)).endswith("would too. No plan was found that reaches 8 in 10.")
    assert "reaches" not in words(replace(short, met=True))
    assert "reaches 85 in 100;" in words(replace(short, basis=replace(basis, at_least=0.85)))
    ignored = replace(short, basis=replace(basis, ignored=True))
    assert words(ignored).endswith("would too. It was not planned to last: this way of planning cannot do that.")
    reason = "The model gives decisions only."
    unknown = Robustness(basis=SurvivalBasis("", reason))
    assert words(unknown) == reason
    assert words(Robustness(basis=SurvivalBasis(""))) == ""


def test_models_are_counted_only_if_planning_did_not_use_them() -> None:
    assert words(Robustness(held=18, judged=20)) == "Held in 18 of 20 retrained models."
    assert words(Robustness(0.9, held=0, judged=1)).endswith("would too. Held in 0 of 1 retrained model.")
    refits = Robustness(0.9, basis=SurvivalBasis("refits", refits=("a", "b")))
    assert "Held" not in words(refits)


def test_noise_in_doing_targets_and_unverified_plans() -> None:
    noisy = Robustness(0.8, basis=replace(COMMITTEE, execution=True))
    assert words(noisy).endswith("About 8 in 10 retrained models would too, counting that you may fall a little short.")
    assert words(Robustness(0.8), target=("A", "B")).startswith("Today's model says A or B. About 8 in 10")
    loose = Plan(1, Status.FOUND, {}, STEPS, robustness=Robustness(0.8))
    assert str(loose).endswith("\nAbout 8 in 10 retrained models would say yes.")
    assert "Today" not in str(loose), "today's model was not queried"


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.FOUND])
def test_without_steps_the_text_stays(status: Status) -> None:
    plan = Plan(1, status, {}, queries=2)
    assert str(replace(plan, robustness=Robustness(0.5, held=1, judged=2), check=Check("m", "f", "2026-11-07"))) == str(
        plan
    )


def test_the_check_is_named_with_its_date() -> None:
    def checked(name: str) -> str:
        plan = Plan(1, Status.FOUND, {}, STEPS, verified=True, queries=3, check=Check(name, "0a", "2026-11-07"))
        return str(plan).splitlines()[-1]

    assert checked("model 'bank'") == "Checked with the model 'bank' on 7 November 2026: favourable. 3 questions asked."
    assert checked("bank.onnx").startswith("Checked with the model bank.onnx on 7 November 2026: ")
    assert checked("").startswith("Checked with the model on 7 November 2026: ")
    assert checked("a\x1b[2Jb").startswith("Checked with the model a\ufffd[2Jb on")


def test_a_table_of_plans_shows_the_share(plans: Plans) -> None:
    assert "retrained models" not in plans._repr_html_()
    lasting = plans.with_robustness(RobustnessColumns.of([Robustness(0.84)] * 60))
    assert "about 8 in 10" in lasting._repr_html_()
