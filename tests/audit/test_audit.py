"""Audits: outcomes equal to brute force, statistics, other models, functions, and folders that are continued."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from counterplan import (
    Audit,
    AuditSettings,
    BlackBox,
    ModelError,
    NotFittedError,
    Problem,
    SettingError,
    StorageError,
    benchmarks,
)
from counterplan.audit import audit as module
from counterplan.audit.relaxation_section import people_to_examine
from counterplan.plans import Plan
from loans import two_ways
from planners.brute_force import brute_force

WAYS = two_ways()


def lenient(people: pd.DataFrame) -> list[str]:
    return ["yes" if row.income - row.debt >= 30 else "no" for row in people.itertuples()]


def strict(people: pd.DataFrame) -> list[str]:
    return ["yes" if row.income - row.debt >= 50 and row.debt <= 20 else "no" for row in people.itertuples()]


def table(count: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.integers(0, 50, count) * 1.0,
            "debt": rng.integers(0, 60, count) * 1.0,
            "sex": rng.choice(["f", "m"], count),
        },
        index=[f"p{i}" for i in range(count)],
    )


@given(st.integers(0, 10**6))
def test_outcomes_are_those_of_brute_force(seed: int) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    people, model = worlds.random_people(problem, seed, 4), worlds.random_black_box(problem, seed)
    outcomes = Audit(problem, model).run(people).outcomes
    read = problem.read(people)
    for row in range(len(read)):
        best = brute_force(problem, read, row, BlackBox(model))
        found = outcomes.iloc[row]
        assert found["outcome"] == ("none" if best is None else "recourse" if best[1] else "favourable")
        if best is not None:
            assert found["cost"] == pytest.approx(best[0], abs=1e-6)
            assert found["steps"] == best[1]


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_a_budget_never_proves_anything_wrong(seed: int, budget: int) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    people, model = worlds.random_people(problem, seed, 4), worlds.random_black_box(problem, seed)
    full = Audit(problem, model).run(people).outcomes["outcome"]
    limited = Audit(problem, model, budget=budget).run(people).outcomes
    assert ((limited["outcome"] == full) | (limited["outcome"] == "unknown")).all()
    assert (limited["queries"] <= budget + 1).all()


def test_columns_statistics_and_text() -> None:
    result = Audit(WAYS, lenient, groups=["sex"]).run(table())
    outcomes = result.outcomes
    assert list(outcomes.index) == [f"p{i}" for i in range(60)]
    solved = outcomes[outcomes["outcome"] == "recourse"]
    assert (solved["optimal"] & (solved["steps"] >= 1) & (solved["cost"] > 0) & (solved["plan"] != "")).all()
    assert outcomes.loc[outcomes["outcome"] == "none", "cost"].isna().all()
    everybody, female, male = result.groups.to_dict("records")
    assert everybody["people"] == 60 == female["people"] + male["people"]
    assert everybody["refused"] == everybody["recourse"] + everybody["none"] + everybody["unknown"]
    assert everybody["recourse_share"] == everybody["recourse"] / everybody["refused"]
    assert everybody["recourse_low"] < everybody["recourse_share"] < everybody["recourse_high"]
    assert everybody["cost_q50"] == solved["cost"].median()
    differences = result.differences
    assert differences[["group", "measure"]].to_numpy().tolist() == [["f", "recourse"], ["f", "cost"]]
    expected = female["recourse_share"] - male["recourse_share"]
    assert differences["difference"].iloc[0] == pytest.approx(expected)
    assert (differences["low_all"] <= differences["low"]).all()
    assert (differences["high_all"] >= differences["high"]).all()
    assert "sex: f" in str(result)
    assert "refused" in result._repr_html_()
    assert len(result.people_without_recourse) == everybody["none"]
    used = result.functions[result.functions["grouping"] == ""].set_index("function")["used"]
    assert used["EARN"] == solved["plan"].str.contains("EARN").sum()


def test_a_group_that_differs_is_found_and_chance_is_not() -> None:
    people = table(400, 3).assign(sex=["f"] * 200 + ["m"] * 200)
    people.loc[people["sex"] == "f", "income"] = 0.0
    result = Audit(WAYS, lenient, groups=["sex"]).run(people)
    assert result.differences["differs"].tolist() == [True, True]
    chance = Audit(WAYS, lenient, groups=["sex"]).run(table(400, 4))
    assert chance.differences["differs"].tolist() == [False, False]


def test_costs_that_differ_at_equal_medians_are_described_by_their_direction() -> None:
    incomes = [25] * 80 + [15] * 120 + [15] * 120 + [5] * 80
    people = pd.DataFrame({"income": incomes, "debt": 0, "sex": ["f"] * 200 + ["m"] * 200})
    result = Audit(WAYS, lenient, groups=["sex"]).run(people)
    difference = result.differences.set_index("measure").loc["cost"]
    assert difference["difference"] == 0
    assert difference["differs"]
    assert difference["higher"] == pytest.approx(0.6 * 0.6 / 2)
    sentence = "sex: f: costs tend to be lower than those of the others, although both medians are 7."
    assert sentence in str(result).splitlines()
    assert "yes, lower costs" in result.to_html()


def test_one_person_is_not_several() -> None:
    result = Audit(WAYS, lenient, groups=[]).run(table(1))
    assert ": 1 person." in str(result)


def test_small_groups_have_no_figures() -> None:
    people = table(40).assign(sex=["x"] * 3 + ["y"] * 37)
    result = Audit(WAYS, lenient, groups=["sex"], min_group=5).run(people)
    few = result.groups.set_index("group").loc["x"]
    assert few["people"] == 3
    assert few[[name for name in result.groups if name.endswith(("_share", "_low", "_high"))]].isna().all()
    assert len(result.differences) == 0
    assert "fewer than 5 people" in str(result)
    assert "fewer than 5 people" in result.to_html()


def test_few_people_have_counts_and_no_shares() -> None:
    people = table(400)
    refused = Audit(WAYS, strict, groups=[], relaxations=0).run(people).outcomes["outcome"]
    few = people[(refused == "none").to_numpy()].head(8)
    result = Audit(WAYS, strict, groups=[]).run(few)
    assert result.relaxations is not None
    assert result.relaxations["examined"] == 8
    helped, _, description = str(result).splitlines()[5].partition(": ")
    row = result.relaxations["relaxations"][0]
    assert (helped.strip(), description) == (str(row["helped"]), row["description"])
    assert (row["share"], row["low"], row["high"], result.relaxations["best"][0]["share"]) == (None,) * 4
    assert " %" not in str(result).split("In brackets")[0]
    section = result.to_html().split("Why people have no recourse</h2>")[1].split("</section>")[0]
    assert "no shares of fewer than 10 people" in section
    assert " %" not in section
    all_of_them = Audit(WAYS, strict, groups=[], min_group=8).run(few)
    assert f"  {row['helped']} ({row['helped'] / 8:.0%}): {description}" in str(all_of_them)
    unknown = Audit(WAYS, strict, groups=[], budget=1).run(few)
    count = unknown.summary["unknown"]
    assert f"For {count} the search ended at a limit, so that between 0 and {count} of" in str(unknown)


@pytest.mark.parametrize("count", [0, 1])
def test_nobody_and_one_person(count: int) -> None:
    result = Audit(WAYS, lenient, against=strict, groups=["sex"], indispensable=True).run(table(count))
    assert len(result) == count
    assert "Definitions" in result.to_html()
    json.dumps(result.to_dict(), allow_nan=False)


def test_nobody_is_refused() -> None:
    result = Audit(WAYS, lambda people: ["yes"] * len(people)).run(table(12))
    assert result.summary["refused"] == 0
    assert "refuses none" in str(result)
    assert "refuses none" in result.to_html()


def test_two_models() -> None:
    result = Audit(WAYS, lenient, against=strict, groups=["sex"]).run(table(100))
    alone = Audit(WAYS, strict).run(table(100)).outcomes
    outcomes = result.outcomes
    assert outcomes["other_outcome"].tolist() == alone["outcome"].tolist()
    pd.testing.assert_series_equal(outcomes["other_cost"], alone["cost"], check_names=False)
    assert result.comparison is not None
    assert result.transitions is not None
    row = result.comparison.iloc[0]
    both = (outcomes["outcome"] != "favourable") & (outcomes["other_outcome"] != "favourable")
    lost = both & (outcomes["outcome"] == "recourse") & (outcomes["other_outcome"] == "none")
    assert (row["loses"], row["gains"], row["loses_of"]) == (lost.sum(), 0, both.sum())
    assert (
        row["newly_refused"]
        == ((outcomes["outcome"] == "favourable") & both.eq(False) & (outcomes["other_outcome"] != "favourable")).sum()
    )
    assert row["fails_of"] == (outcomes["outcome"] == "recourse").sum()
    assert int(result.transitions.to_numpy().sum()) == 100
    plans = module.create_planner("exact", WAYS, BlackBox(lenient)).plan(table(100))
    for person, plan in zip(outcomes.to_dict("records"), plans, strict=True):
        if person["outcome"] == "recourse":
            assert isinstance(plan, Plan)
            holds = plan.replay(WAYS, BlackBox(strict)).ok
            assert person["plan_holds"] == ("holds" if holds else "does not hold")
    assert "Two models" in result.to_html()


def test_the_same_model_twice_is_announced() -> None:
    with pytest.warns(UserWarning, match="the other model is the same, with the same threshold"):
        result = Audit(WAYS, lenient, against=lenient).run(table(30))
    sentence = (
        "The other model is the same, with the same threshold: their fingerprints are equal, and nothing differs."
    )
    assert sentence in str(result).splitlines()
    assert sentence in result.to_html()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = Audit(WAYS, lenient, against=strict).run(table(30))
    assert sentence not in str(other)
    newly = int(other.comparison.iloc[0]["newly_refused"])  # type: ignore[union-attr]
    assert f" {newly} people are newly refused, and 0 people are no longer refused; of " in str(other)


def test_every_quantile_has_an_interval_and_proofs_are_counted() -> None:
    page = Audit(WAYS, lenient).run(table(100)).to_html()
    costs = page.split('<section id="costs">')[1].split("</section>")[0]
    for head in ("cost, 25 %", "cost, 90 %", "steps, 25 %", "steps, median", "steps, 75 %", "steps, 90 %"):
        assert f">{head}</th>" in costs
    row = costs.split("<tbody>")[1].split("</tr>")[0]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)[2:]
    assert len(cells) == 8
    assert all(re.fullmatch(r"\S+ \(.*\)", cell) for cell in cells)
    assert "All are proved to be the cheapest." in costs
    none = Audit(WAYS, lambda people: ["no"] * len(people)).run(table(12)).to_html()
    assert "There is no verified plan." in none
    assert "the 0 verified plans" not in none


def test_functions_without_which_there_is_no_plan() -> None:
    result = Audit(WAYS, strict, indispensable=True).run(table(60))
    without = result.tables["without"]
    for one in without.to_dict("records"):
        again = module.create_planner("exact", WAYS, BlackBox(strict)).plan(
            table(60).iloc[[one["row"]]], forbid=[one["function"]]
        )[0]
        assert (again.status == "found") == (one["outcome"] == "recourse")
        assert one["outcome"] != "recourse" or again.cost == pytest.approx(one["cost"])
    own = result.functions.set_index("function")
    for name in ("EARN", "SAVE"):
        counts = without[without["function"] == name]["outcome"].value_counts()
        assert own.loc[name, "indispensable"] == counts.get("none", 0)
        assert own.loc[name, "used"] == counts.sum()


class Counting:
    """A model that counts rows, and fails after some."""

    identity = "counting"

    def __init__(self, most: float = np.inf) -> None:
        self.rows, self.most = 0, most

    def __call__(self, people: pd.DataFrame) -> list[str]:
        self.rows += len(people)
        if self.rows > self.most:
            raise KeyboardInterrupt
        return lenient(people)


def test_an_interrupted_audit_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 16)
    whole = Counting()
    expected = Audit(WAYS, whole).run(table(), folder=tmp_path / "whole")
    folder = tmp_path / "parts"
    with pytest.raises(KeyboardInterrupt):
        Audit(WAYS, Counting(whole.rows // 2)).run(table(), folder=folder)
    parts = sorted(path.name for path in (folder / "parts").iterdir())
    assert 0 < len(parts) < 4
    assert not (folder / "report.html").exists()
    rest = Counting()
    result = Audit(WAYS, rest, groups=["sex"]).run(table(), folder=folder, resume=True)
    assert 0 < rest.rows < whole.rows
    pd.testing.assert_frame_equal(result.outcomes, expected.outcomes)
    again = Counting()
    Audit(WAYS, again, groups=["sex"], min_group=2).run(table(), folder=folder, resume=True)
    assert again.rows == 0, "other groups need no queries"
    assert {path.name for path in folder.iterdir()} >= {"report.html", "audit.json", "outcomes.csv", "groups.csv"}
    assert (folder / "outcomes.csv").stat().st_mode & 0o077 == 0


def test_a_changed_input_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    Audit(WAYS, lenient).run(table(), folder=folder)
    changes: list[tuple[str, Any, pd.DataFrame]] = [
        ("model", Audit(WAYS, strict), table()),
        ("people", Audit(WAYS, lenient), table(60, 1)),
        ("people", Audit(WAYS, lenient), table().assign(sex="f")),
        ("number of people", Audit(WAYS, lenient), table(59)),
        ("budget", Audit(WAYS, lenient, budget=9), table()),
        ("other model", Audit(WAYS, lenient, against=strict), table()),
    ]
    for name, audit, people in changes:
        with pytest.raises(SettingError, match=f"something else: .*{name}"):
            audit.run(people, folder=folder, resume=True)
    with pytest.raises(StorageError, match="is not empty; continue the audit in it with --resume"):
        Audit(WAYS, lenient).run(table(), folder=folder)
    (folder / "mine.txt").write_text("not yours")
    Audit(WAYS, strict).run(table(), folder=folder, force=True)
    assert (folder / "mine.txt").exists()


def test_an_audit_without_a_finished_part_is_replaced(tmp_path: Path) -> None:
    def fail(people: pd.DataFrame) -> list[str]:
        raise ConnectionError("down")

    folder = tmp_path / "audit"
    with pytest.raises(ModelError, match="down"):
        Audit(WAYS, fail).run(table(), folder=folder)
    with pytest.raises(SettingError, match="no planner 'exakt'"):
        Audit(WAYS, lenient, planner="exakt").run(table(), folder=folder)
    (folder / "parts" / ".000000.json.0123456789abcdef").write_text("half a part")
    assert len(Audit(WAYS, lenient).run(table(), folder=folder)) == 60
    assert {path.name for path in (folder / "parts").iterdir()} == {"000000.json", "relaxations.json"}


def test_only_an_audit_that_was_begun_is_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    with pytest.raises(StorageError, match="holds no audit to resume; leave --resume out"):
        Audit(WAYS, lenient).run(table(), folder=folder, resume=True)
    assert not folder.exists()
    folder.mkdir()
    with pytest.raises(StorageError, match="holds no audit to resume"):
        Audit(WAYS, lenient).run(table(), folder=folder, resume=True)
    with pytest.raises(KeyboardInterrupt):
        Audit(WAYS, Counting(1)).run(table(), folder=folder)
    assert len(Audit(WAYS, Counting()).run(table(), folder=folder, resume=True)) == 60


@pytest.mark.parametrize("name", ["parts/mine.csv", "parts/.mine", "manifest.json", "parts/000000.json.bak"])
def test_files_of_others_are_neither_removed_nor_replaced(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    (folder / "parts").mkdir(parents=True)
    (folder / name).write_text("not yours")
    with pytest.raises(StorageError, match="is not empty"):
        Audit(WAYS, lenient).run(table(), folder=folder)
    assert (folder / name).read_text() == "not yours"
    if name != "manifest.json":
        Audit(WAYS, lenient).run(table(), folder=folder, force=True)
        assert (folder / name).read_text() == "not yours"


def test_damaged_and_foreign_folders(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    Audit(WAYS, lenient).run(table(), folder=folder)
    part = folder / "parts" / "000000.json"
    content = json.loads(part.read_text())
    damaged = [
        "{",
        "[]",
        json.dumps(content | {"outcomes": {}}),
        json.dumps(content | {"outcomes": content["outcomes"] | {"outcome": ["odd"] * 60}}),
        json.dumps(content | {"outcomes": {name: values[1:] for name, values in content["outcomes"].items()}}),
        json.dumps(content | {"outcomes": content["outcomes"] | {"cost": ["x"] * 60}}),
    ]
    for text in damaged:
        part.write_text(text)
        with pytest.raises(StorageError, match=r"000000\.json: .*; remove the file, and run with --resume again"):
            Audit(WAYS, lenient).run(table(), folder=folder, resume=True)
    part.unlink()
    Audit(WAYS, lenient).run(table(), folder=folder, resume=True)
    (folder / "manifest.json").write_text("{}")
    with pytest.raises(StorageError, match="not the manifest"):
        Audit(WAYS, lenient).run(table(), folder=folder, resume=True)
    (folder / "manifest.json").unlink()
    with pytest.raises(StorageError, match="no audit to resume"):
        Audit(WAYS, lenient).run(table(), folder=folder, resume=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "'budget'"),
        ({"level": 1}, "'level'"),
        ({"min_group": 0}, "'min_group'"),
        ({"seed": -1}, "'seed'"),
        ({"planner": 3}, "'planner'"),
        ({"survival": "much"}, "survival"),
        ({"survival": "high"}, "needs an estimate of survival"),
        ({"survival_at_least": 2}, "'survival_at_least'"),
        ({"survival": "high", "survival_at_least": 0.5}, "'survival_at_least', not both"),
        ({"groups": 5}, "'groups' must be a list of columns"),
        ({"survival_at_least": 0.5, "indispensable": True}, "compares least costs"),
        ({"group": ["sex"]}, "no setting 'group'"),
        ({"settings": 3}, "'settings' must be AuditSettings"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Audit(WAYS, lenient, **options)


def test_recourse_that_lasts() -> None:
    from counterplan import Recourse

    recourse = Recourse(WAYS, lenient, refits=[strict])
    options: dict[str, Any] = {"groups": ["sex"], "survival_at_least": 0.5}
    result = Audit(WAYS, recourse.box, estimator=recourse.survival_, **options).run(table(60))
    solved = result.outcomes[result.outcomes["outcome"] == "recourse"]
    assert solved["survival"].notna().all()
    row = result.groups.iloc[0]
    assert row["lasting"] == (solved["survival"] >= 0.5).sum()
    sentence = (
        f"{row['lasting']} of {row['refused']} have a plan that holds after retraining with a chance of at least 50.0 %"
    )
    assert sentence in str(result)
    assert sentence in result.to_html()
    assert "Recourse that lasts" in result.to_html()


def test_expensive_models_are_planned_for_by_the_surrogate_first() -> None:
    german = benchmarks.load("german")
    now = [0.0]

    def slow(frame: pd.DataFrame) -> Any:
        now[0] += len(frame)
        return german.model.labels(frame)

    def logit(states: np.ndarray) -> np.ndarray:
        return states[:, german.problem.features[-1].index] - 3.0

    box = BlackBox(slow, clock=lambda: now[0])
    result = Audit(german.problem, box, learned={"surrogate": lambda: logit}).run(german.test.head(40))
    assert [*result.about["planners"]] == ["guided"]
    exact = Audit(german.problem, german.model).run(german.test.head(40)).outcomes["outcome"]
    found = result.outcomes["outcome"]
    assert ((found == exact) | (found == "unknown")).all()
    with pytest.raises(NotFittedError, match="surrogate"):
        Audit(german.problem, BlackBox(slow, clock=lambda: now[0])).run(german.test.head(40))


def test_several_processes_have_the_same_outcomes() -> None:
    syn = benchmarks.load("syn")
    people = syn.refused_test.head(160)
    one, two = (Audit(syn.problem, syn.model).run(people, jobs=jobs).outcomes for jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two)


def test_settings_object_and_benchmark() -> None:
    german = benchmarks.load("german")
    settings = AuditSettings(groups=["sex", ("sex", "age")])
    result = Audit(german.problem, german.model, settings=settings).run(german.test.head(80))
    assert set(result.groups["grouping"]) == {"", "sex", "sex × age"}
    assert result.about["planners"] == {"exact": result.summary["refused"]}


def test_relaxations_say_what_would_help(tmp_path: Path) -> None:
    box = BlackBox(strict)
    result = Audit(WAYS, box, groups=[]).run(table(), folder=tmp_path / "audit")
    stuck = int((result.outcomes["outcome"] == "none").sum())
    assert stuck
    assert result.relaxations is not None
    assert result.relaxations["stuck"] == result.relaxations["examined"] == stuck
    helped = {row["relaxation"]: row["helped"] for row in result.relaxations["relaxations"]}
    assert 0 < max(helped.values()) <= stuck
    assert "Why people have no recourse" in result.to_html()
    assert (tmp_path / "audit" / "relaxations.csv").exists()
    assert f"{stuck} people without recourse. What would help (an explanation, not advice):" in str(result)
    sent = box.queries
    again = Audit(WAYS, BlackBox(strict), groups=["sex"]).run(table(), folder=tmp_path / "audit", resume=True)
    assert again.relaxations == result.relaxations
    assert box.queries == sent
    few = Audit(WAYS, box, min_group=stuck + 1).run(table(), folder=tmp_path / "audit", resume=True)
    assert few.relaxations is not None
    assert {row["share"] for row in few.relaxations["relaxations"]} == {None}
    assert box.queries == sent
    saved = tmp_path / "audit" / "parts" / "relaxations.json"
    for content in ("{", "[]", json.dumps(json.loads(saved.read_text()) | {"data": {"best": 3}})):
        saved.write_text(content)
        with pytest.raises(StorageError, match=r"relaxations\.json: .*; remove the file, and run with --resume again"):
            Audit(WAYS, strict, groups=[]).run(table(), folder=tmp_path / "audit", resume=True)


def test_relaxations_are_a_sample_or_left_out() -> None:
    few = Audit(WAYS, strict, groups=[], relaxations=3).run(table())
    assert few.relaxations is not None
    assert few.relaxations["examined"] == 3 < few.relaxations["stuck"]
    assert Audit(WAYS, strict, groups=[], relaxations=0).run(table()).relaxations is None
    whole = Audit(WAYS, strict, groups=[]).run(table())
    stuck = whole.outcomes.assign(outcome="none").head(30)
    examined = [people_to_examine(WAYS, stuck.assign(queries=each), AuditSettings()) for each in (10, 4_000, 10**6)]
    assert examined[0] == 200
    assert 20 < examined[2] <= examined[1] < 200, "fewer if they take more queries"
    assert people_to_examine(WAYS, stuck.head(10), AuditSettings()) == 20
    assert people_to_examine(WAYS, stuck.assign(queries=10**6), AuditSettings(relaxations=150)) == 150
    with pytest.raises(SettingError, match="'relaxations' must be an integer"):
        AuditSettings(relaxations=-1)
