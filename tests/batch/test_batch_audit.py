"""Audits of people in Parquet files: the outcomes and tables of an audit in memory, from parts that are whole."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from lending import Lender, contents, manifest, parts, unfinished

from counterplan import Audit, AuditResult, PeopleError, Recourse, SettingError, StorageError, batch, benchmarks
from counterplan.batch import worker
from counterplan.errors import CounterplanError

STRICTER = """
def stricter(people):
    return ["yes" if row.income >= 3000 and row.job == "manager" else "no" for row in people.itertuples()]
"""
GROUPS = ("job", "income", "age", "visits", "region", "region*job", "decision")


def people(count: int, first: int = 0) -> pd.DataFrame:
    """People of all kinds: refused or not, some beyond help, with columns that are not features, and gaps."""
    rng = np.random.default_rng(first)
    return pd.DataFrame(
        {
            "id": [f"p{first + i}" for i in range(count)],
            "income": rng.integers(0, 30, count) * 100.0,
            "job": rng.choice(["none", "clerk", "manager"], count),
            "region": pd.Series(rng.choice(["north", "south", "missing", ""], count)).where(rng.random(count) < 0.9),
            "age": rng.integers(18, 80, count),
            "visits": pd.Series(rng.integers(0, 40, count)).where(rng.random(count) < 0.9),
            "decision": rng.choice(["yes", "no"], count),
        }
    )


TABLES = [people(70), people(50, 70)]


@pytest.fixture
def lender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lender:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lender", raising=False)
    made = Lender(tmp_path)
    (tmp_path / "lender.py").write_text((tmp_path / "lender.py").read_text() + STRICTER)
    made.write(TABLES, rows=20)
    return made


def audit(lender: Lender, out: str = "audit", **options: Any) -> batch.BatchAudit:
    usual = {"model": "lender:decide", "partition_rows": 40, "key": "id", "groups": GROUPS, "record": False}
    return batch.audit(lender.folder / "loan.yaml", lender.people, lender.folder / out, **usual | options)


def in_memory(lender: Lender, tables: list[pd.DataFrame] = TABLES, **options: Any) -> AuditResult:
    whole = pd.concat(tables, ignore_index=True).drop(columns="id")
    usual = {"planner": "exact", "groups": GROUPS}
    return Audit(lender.problem, __import__("lender").decide, **usual | options).run(whole)


def require_equal(found: AuditResult, expected: AuditResult) -> None:
    """All tables, relaxations and the text of the report are the same."""
    ours, theirs = found._tables(), expected._tables()
    assert [*ours] == [*theirs]
    for name, table in theirs.items():
        pd.testing.assert_frame_equal(ours[name], table, check_dtype=False, obj=name)
    assert found.summary == pytest.approx(expected.summary, nan_ok=True)
    if expected.relaxations is None:
        assert found.relaxations is None
    else:  # queries may be answered by other caches
        assert found.relaxations == expected.relaxations | {"queries": found.relaxations["queries"]}
    assert found.about["planners"] == expected.about["planners"]
    assert str(found).replace("lender:", "").splitlines()[1:] == str(expected).splitlines()[1:]


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_tables_are_those_of_an_audit_in_memory(lender: Lender, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join([str(lender.folder), *sys.path]))
    options = {"indispensable": True}
    found = audit(lender, jobs=jobs, **options)
    expected = in_memory(lender, **options)
    assert found.run.parts == 4
    assert expected.summary["none"] > 0
    assert {grouping.name: len(grouping.labels) for grouping in found.result.groupings}["age"] == 4
    require_equal(found.result, expected)
    data = json.loads((lender.folder / "audit" / "audit.json").read_text())
    assert data["summary"]["people"] == 120
    for name in ("report.html", "groups.csv", "differences.csv", "functions.csv", "relaxations.csv"):
        assert (lender.folder / "audit" / name).exists()
    assert not (lender.folder / "audit" / "outcomes.csv").exists()


def test_the_parts_have_a_row_for_each_person(lender: Lender) -> None:
    found = audit(lender, groups=["age", "region"])
    table = pd.read_parquet(lender.folder / "audit" / "outcomes")
    whole, expected = pd.concat(TABLES, ignore_index=True), in_memory(lender).outcomes
    assert table["person"].tolist() == whole["id"].tolist()
    assert table["group_age"].tolist() == whole["age"].tolist()
    assert table["group_region"].astype(object).where(table["group_region"].notna(), None).tolist() == [
        None if pd.isna(region) else region for region in whole["region"]
    ]
    for name in expected.columns:
        known = expected[name].notna()
        assert table[name].astype(object)[known].tolist() == expected[name][known].tolist(), name
        assert table[name].isna().tolist() == (~known).tolist(), name
    assert found.result.people is None
    with pytest.raises(SettingError, match="Parquet"):
        _ = found.result.people_without_recourse
    schemas = [pq.read_schema(path).remove_metadata() for path in parts(lender.folder / "audit" / "outcomes")]
    assert all(schema == schemas[0] for schema in schemas)


def test_another_model(lender: Lender) -> None:
    found = audit(lender, against="lender:stricter", groups=["job"])
    expected = in_memory(lender, against=__import__("lender").stricter, groups=["job"])
    assert expected.transitions is not None
    assert expected.comparison["loses"].iloc[0] > 0
    require_equal(found.result, expected)


def test_recourse_that_lasts(tmp_path: Path) -> None:
    german = benchmarks.load("german")
    table = german.test.head(90).drop(columns="risk").reset_index(drop=True)
    table.to_parquet(tmp_path / "people.parquet")
    options: dict[str, Any] = {"survival_at_least": 0.55, "groups": ["sex"]}
    found = batch.audit("german", tmp_path / "people.parquet", tmp_path / "audit", partition_rows=40, **options)
    recourse = Recourse(german.problem, german.model)
    expected = Audit(german.problem, recourse.box, estimator=recourse.survival_, planner="exact", **options).run(table)
    assert expected.summary["lasting"] > 0
    require_equal(found.result, expected)


def test_the_summary_is_the_sum_of_the_parts(lender: Lender) -> None:
    found = audit(lender)
    facts = manifest(lender.folder / "audit" / "outcomes")
    assert facts["complete"]
    assert facts["task"] == "audit"
    for name in ("people", "favourable", "recourse", "none", "unknown", "queries", "sent"):
        assert facts["summary"][name] == sum(one["counts"][name] for one in facts["parts"]) == found.run.counts[name]
    summary = found.result.summary
    for name in ("people", "recourse", "none", "unknown", "queries"):
        assert summary[name] == facts["summary"][name]


def test_an_interrupted_audit_is_resumed(lender: Lender, monkeypatch: pytest.MonkeyPatch) -> None:
    audit(lender, "whole")
    process, done = worker.process, []

    def stop(*words: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(process(*words))
        return done[-1]

    monkeypatch.setattr(worker, "process", stop)
    with pytest.raises(KeyboardInterrupt):
        audit(lender)
    folder = lender.folder / "audit" / "outcomes"
    assert len(parts(folder)) == 2
    assert not (lender.folder / "audit" / "report.html").exists()
    assert unfinished(lender.folder / "audit") == []
    monkeypatch.setattr(worker, "process", process)
    with pytest.raises(StorageError, match="--resume"):
        audit(lender)
    with pytest.raises(StorageError, match="setting 'groups'"):
        audit(lender, groups=["job"], resume=True)
    found = audit(lender, resume=True)
    assert (found.run.parts, found.run.reused) == (4, 2)
    assert contents(folder) == contents(lender.folder / "whole" / "outcomes")
    require_equal(found.result, in_memory(lender))
    lender.forget()
    again = audit(lender, resume=True, level=0.9, min_group=5, relaxations=0)
    assert lender.asked == []
    pd.testing.assert_frame_equal(
        again.result.groups, in_memory(lender, level=0.9, min_group=5).groups, check_dtype=False
    )


def test_bad_rows_are_skipped(lender: Lender) -> None:
    bad = people(30, 500)
    bad["job"] = bad["job"].where(bad.index % 7 != 0, "clark")
    lender.write([*TABLES, bad], rows=20)
    with pytest.raises(PeopleError, match=r"part2.parquet.*'clark'"):
        audit(lender, "stopped")
    found = audit(lender, skip_bad=True)
    require_equal(found.result, in_memory(lender, [*TABLES, bad[bad["job"] != "clark"]]))
    assert found.run.bad == 5
    assert "5 bad rows are in" in str(found)


def test_a_sample_for_relaxations(lender: Lender) -> None:
    found, expected = audit(lender, relaxations=5, seed=3), in_memory(lender, relaxations=5, seed=3)
    assert found.result.relaxations["examined"] == 5 < found.result.relaxations["stuck"]
    require_equal(found.result, expected)
    lender.forget()
    again = audit(lender, relaxations=5, seed=3, resume=True)
    assert lender.asked == []
    assert again.result.relaxations == found.result.relaxations
    require_equal(again.result, expected)
    assert audit(lender, relaxations=6, seed=3, resume=True).result.relaxations["examined"] == 6
    (lender.folder / "audit" / "outcomes" / "_relaxations.json").write_text("[]")
    with pytest.raises(StorageError, match=r"_relaxations\.json: damaged .*remove the file"):
        audit(lender, relaxations=6, seed=3, resume=True)


@pytest.mark.parametrize("count", [0, 1])
def test_few_people_and_nobody(lender: Lender, count: int) -> None:
    shutil.rmtree(lender.people)
    lender.people.mkdir()
    lender.write([people(count)])
    found = audit(lender, groups=["job", "age", "region"])
    assert found.result.summary["people"] == count
    assert (lender.folder / "audit" / "report.html").exists()


def test_answers_reach_the_learned_folder(lender: Lender) -> None:
    words = (lender.learned, lender.people)
    options: dict[str, Any] = {"model": "lender:decide", "key": "id", "groups": []}
    first = batch.audit(*words, lender.folder / "one", **options)
    assert first.run.counts["sent"] > 0
    assert not (lender.folder / "one" / "outcomes" / "_answers").exists()
    lender.forget()
    second = batch.audit(*words, lender.folder / "two", **options)
    assert (second.run.counts["sent"], lender.asked) == (0, [])
    assert str(second.result) == str(first.result)


def test_planners_that_decide_the_same_everywhere(lender: Lender) -> None:
    with pytest.raises(SettingError, match="name a planner"):
        audit(lender, planner="auto")
    found, expected = audit(lender, planner="auto", budget=3), in_memory(lender, planner="auto", budget=3)
    assert expected.summary["unknown"] > 0
    require_equal(found.result, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": ["regoin"]}, "no column 'regoin'.*region"),
        ({"groups": ["id"]}, "no column 'id'"),
        ({"groups": ["id"], "key": None}, "^'id' has 120 different values"),
        ({"model": len}, "given by name"),
        ({"nonsense": 1}, "no parameter 'nonsense'"),
    ],
    ids=str,
)
def test_mistakes_are_reported_before_anything_is_written(
    lender: Lender, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(CounterplanError, match=message):
        audit(lender, **options)
    assert not (lender.folder / "audit").exists()


def test_a_folder_with_something_else_is_not_touched(lender: Lender) -> None:
    (lender.folder / "audit").mkdir()
    (lender.folder / "audit" / "notes.txt").write_text("mine")
    with pytest.raises(StorageError, match="is not empty"):
        audit(lender)
    assert [path.name for path in (lender.folder / "audit").iterdir()] == ["notes.txt"]


def test_nothing_is_written_where_people_are_read_or_no_run_is(lender: Lender) -> None:
    with pytest.raises(SettingError, match="a folder that people are read from"):
        audit(lender, "people/audit")
    with pytest.raises(StorageError, match="no run to go on with"):
        audit(lender, resume=True)
    assert not (lender.people / "audit").exists()
    assert not (lender.folder / "audit").exists()
