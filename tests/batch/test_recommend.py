"""Plans for people in Parquet files: the same as for a table, every person once, in parts that are whole."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lending import Lender, contents, manifest, parts, people, unfinished

from counterplan import BlackBox, PeopleError, Recourse, SettingError, StorageError, batch
from counterplan.batch import answers as merging
from counterplan.batch import worker
from counterplan.storage import files


@pytest.fixture
def lender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lender:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lender", raising=False)
    made = Lender(tmp_path)
    made.write([people(10), people(7, 10)])
    return made


def recommend(lender: Lender, out: Path | None = None, **options: Any) -> batch.BatchResult:
    usual = {"planner": "exact", "model": "lender:decide", "partition_rows": 5}
    return batch.recommend(lender.learned, lender.people, out or lender.out, **usual | options)


@pytest.mark.parametrize("planner", ["exact", "program"])
def test_the_plans_are_those_of_the_whole_table(lender: Lender, planner: str) -> None:
    result = recommend(lender, planner=planner, key="id", record=False)
    table = pd.concat([people(10), people(7, 10)], ignore_index=True)
    box = BlackBox(__import__("lender").decide)
    plans = Recourse.load(lender.learned, box).recommend(table.drop(columns="id"), planner)
    expected, found = plans.to_frame(), pd.read_parquet(lender.out)
    assert found["person"].tolist() == [f"p{i}" for i in expected["person"]]
    for column in set(expected) - {"person", "argument", "model"}:
        known = expected[column].notna()
        assert found[column].astype(object)[known].tolist() == expected[column][known].tolist(), column
        assert found[column].isna().equals(~known), column
    assert result.counts["people"] == 17
    assert result.counts["queries"] == plans.queries
    assert result.counts["found"] == plans.counts["found"]
    assert result.counts["cost"] == pytest.approx(plans.costs.sum())


def test_everybody_is_there_once_in_the_order_of_the_files(lender: Lender) -> None:
    recommend(lender)
    found = pd.read_parquet(lender.out).drop_duplicates(["file", "row"])
    assert [Path(name).name for name in found["file"]] == ["part0.parquet"] * 10 + ["part1.parquet"] * 7
    assert found["row"].tolist() == [*range(10), *range(7)]
    assert found["person"].tolist() == found["row"].tolist()
    assert [path.name for path in parts(lender.out)] == [f"part-{i:06}.parquet" for i in range(5)]


def test_all_parts_have_one_schema(lender: Lender) -> None:
    nobody = people(4).assign(income=5000.0, job="clerk")  # who need no plan
    lender.write([nobody, people(4)])
    for name, options in {
        "plain": {},
        "alternatives": {"alternatives": 2},
        "weights": {"weights": {"EARN": 2}},
        "target": {"target": "yes"},
    }.items():
        recommend(lender, lender.folder / name, **options)
        schemas = [pq.read_schema(path).remove_metadata() for path in parts(lender.folder / name)]
        assert len(schemas) == 2
        assert schemas[0] == schemas[1], name
    assert {"related", "related_number"} <= {*pq.read_schema(parts(lender.folder / "alternatives")[0]).names}
    assert {"weight", "unweighted_cost"} <= {*pq.read_schema(parts(lender.folder / "weights")[0]).names}


def test_the_summary_is_the_sum_of_the_parts(lender: Lender) -> None:
    result = recommend(lender)
    facts = manifest(lender.out)
    assert facts["complete"]
    assert [one["part"] for one in facts["parts"]] == [path.name for path in parts(lender.out)]
    for name in ("people", "found", "queries", "cached", "steps"):
        assert facts["summary"][name] == sum(one["counts"][name] for one in facts["parts"]) == result.counts[name]
    assert facts["summary"]["rows"] == 17
    assert facts["summary"]["queries"] == len(lender.asked)
    assert facts["versions"]["counterplan"]
    assert facts["made_with"]["problem"] == lender.problem.fingerprint


def test_without_a_model_nothing_is_queried(lender: Lender) -> None:
    result = recommend(lender, planner="program", model=None)
    assert result.counts["queries"] == result.counts["cached"] == 0
    assert result.counts["unverified"] == result.counts["found"] == 17
    assert lender.asked == []
    assert "17 people: 17 found (not checked)" in str(result)


@pytest.mark.parametrize("table", [people(0), people(1), people(3).assign(income=9000.0, job="manager")])
def test_few_people_and_nobody(lender: Lender, table: pd.DataFrame) -> None:
    shutil.rmtree(lender.people)
    lender.people.mkdir()
    lender.write([table])
    result = recommend(lender)
    assert result.counts["people"] == len(table)
    found = pd.read_parquet(lender.out)
    assert len(found.drop_duplicates("row")) == len(table)
    assert manifest(lender.out)["complete"]


def test_answers_reach_the_learned_folder_once(lender: Lender) -> None:
    first = recommend(lender, key="id")
    assert first.counts["queries"] == len(lender.asked) > 0
    assert not (lender.out / "_answers").exists()
    lender.forget()
    second = recommend(lender, lender.folder / "again", key="id")
    assert lender.asked == []
    assert second.counts["queries"] == 0
    assert second.counts["cached"] == first.counts["queries"] + first.counts["cached"]
    known = Recourse.load(lender.learned, BlackBox(__import__("lender").decide)).answers_
    assert len(known) == first.counts["queries"]


def test_answers_are_not_recorded_on_request(lender: Lender) -> None:
    recommend(lender, record=False)
    assert not (lender.learned / "answers.csv.gz").exists()
    assert not (lender.out / "_answers").exists()


def test_too_many_answers_stay_beside_the_plans(lender: Lender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MOST_ANSWERS", 10)
    result = recommend(lender)
    assert "would have more than 10" in result.notice
    assert not (lender.learned / "answers.csv.gz").exists()
    assert len([*(lender.out / "_answers").iterdir()]) == 5


def test_a_folder_that_is_not_empty_is_left_alone(lender: Lender) -> None:
    recommend(lender)
    before = contents(lender.out)
    with pytest.raises(StorageError, match="--resume"):
        recommend(lender)
    other = lender.folder / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(StorageError, match="is not empty"):
        recommend(lender, other)
    assert contents(lender.out) == before
    assert [path.name for path in other.iterdir()] == ["notes.txt"]
    with pytest.raises(StorageError, match="no run to go on with"):
        recommend(lender, lender.folder / "new", resume=True)
    assert not (lender.folder / "new").exists()


def test_plans_are_not_written_where_people_are_read(lender: Lender) -> None:
    for out in (lender.people, lender.people / "plans"):
        with pytest.raises(SettingError, match="a folder that people are read from"):
            recommend(lender, out)
    assert sorted(path.name for path in lender.people.iterdir()) == ["part0.parquet", "part1.parquet"]
    inside = lender.people / "plans"
    result = batch.recommend(lender.learned, lender.people / "*.parquet", inside, planner="program", record=False)
    assert result.rows == 17


def test_parts_that_are_there_are_skipped(lender: Lender) -> None:
    recommend(lender, lender.folder / "whole", key="id", record=False)
    lender.forget()
    recommend(lender, key="id", record=False)
    lost, damaged = parts(lender.out)[2:4]
    lost.unlink()
    damaged.write_bytes(b"damaged")
    lender.forget()
    result = recommend(lender, key="id", record=False, resume=True)
    assert (result.reused, result.parts) == (3, 5)
    assert contents(lender.out) == contents(lender.folder / "whole")
    assert manifest(lender.out) == manifest(lender.folder / "whole")
    again = {1000 + i + i / 1024 for i in range(8, 14)}
    assert {income for _, (income, _) in lender.asked if income < 1500} <= again


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("people", "part1.parquet"),
        ("program", "program.json"),
        ("model", "model"),
        ("setting", "setting 'budget'"),
        ("rows", "setting 'partition_rows'"),
        ("more", "part2.parquet (new)"),
        ("fewer", "part1.parquet (no longer there)"),
        ("key", "setting 'key'"),
    ],
)
def test_a_run_is_resumed_only_with_the_same_inputs(lender: Lender, change: str, named: str) -> None:
    recommend(lender)
    before = contents(lender.out)
    options: dict[str, Any] = {}
    if change == "people":
        pq.write_table(pa.Table.from_pandas(people(7, 50)), lender.people / "part1.parquet", row_group_size=4)
    elif change == "program":
        path = lender.learned / "program.json"
        path.write_text(json.dumps(json.loads(path.read_text()), indent=3))
    elif change == "model":
        options = {"model": "lender:deadly"}
    elif change == "setting":
        options = {"budget": 3}
    elif change == "more":
        shutil.copy(lender.people / "part1.parquet", lender.people / "part2.parquet")
    elif change == "fewer":
        (lender.people / "part1.parquet").unlink()
    elif change == "rows":
        options = {"partition_rows": 8}
    else:
        options = {"key": "id"}
    with pytest.raises(StorageError, match="cannot be resumed") as error:
        recommend(lender, resume=True, **options)
    assert named in str(error.value)
    assert contents(lender.out) == before


def test_a_changed_value_is_noticed(lender: Lender) -> None:
    """Two people swap incomes: size and footer of the file stay as they are."""
    recommend(lender)
    path = lender.people / "part0.parquet"
    size, table = path.stat().st_size, people(10)
    table.loc[[1, 2], "income"] = table.loc[[2, 1], "income"].to_numpy()
    lender.write([table])
    assert path.stat().st_size == size
    with pytest.raises(StorageError, match=r"these have changed since the run began: .*part0\.parquet"):
        recommend(lender, resume=True)


@pytest.mark.parametrize("rows", [7, 5])
def test_a_corrected_file_is_planned_for_again(lender: Lender, rows: int) -> None:
    """Parts of other files stay, also if bad rows are dropped."""
    good = people(7, 10).head(rows)
    lender.write([people(10), bad_people()], rows=2)
    with pytest.raises(PeopleError, match="plans again for everybody in a file that has changed"):
        recommend(lender, record=False)
    assert len(parts(lender.out)) == 3
    assert recommend(lender, record=False, resume=True, skip_bad=True).bad == 2
    unfinish(lender.out)
    lender.write([people(10), good], rows=2)
    lender.forget()
    result = recommend(lender, record=False, resume=True)
    assert (result.reused, result.bad, result.rows) == (3, 0, 10 + rows)
    assert result.notice == "Planned again for everybody in files that have changed: part1.parquet"
    assert not {income for _, (income, _) in lender.asked} & {*people(10)["income"]}
    recommend(lender, lender.folder / "whole", record=False)
    assert contents(lender.out) == contents(lender.folder / "whole")
    assert manifest(lender.out) == manifest(lender.folder / "whole")
    assert not (lender.out / "_bad_rows").exists()


def unfinish(folder: Path) -> None:
    """Make a run look interrupted after its last part."""
    (folder / "_manifest.json").write_text(json.dumps(manifest(folder) | {"complete": False}))


def test_a_run_is_resumed_from_another_directory(lender: Lender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lender.folder)
    usual: dict[str, Any] = {"planner": "exact", "model": "lender:decide", "partition_rows": 5, "record": False}
    batch.recommend("learned", "people", "plans", **usual)
    before = contents(lender.out)
    parts(lender.out)[3].unlink()
    monkeypatch.chdir("/")
    assert recommend(lender, record=False, resume=True).reused == 4
    assert contents(lender.out) == before
    moved = shutil.copytree(lender.people, lender.folder / "moved")
    assert batch.recommend(lender.learned, moved, lender.out, **usual, resume=True).reused == 5
    assert contents(lender.out) == before


def test_repeated_keys_are_counted(lender: Lender) -> None:
    table = people(10)
    table.loc[[1, 2, 6], "id"] = "p0"  # p0 of the second partition is not compared
    lender.write([table, people(7, 10)])
    result = recommend(lender, key="id")
    assert result.repeated_keys == manifest(lender.out)["summary"]["repeated_keys"] == 2
    assert [one["repeated_keys"] for one in manifest(lender.out)["parts"]] == [2, 0, 0, 0, 0]
    assert str(result).endswith("2 rows have the key of an earlier row of the same partition.")
    assert recommend(lender, lender.folder / "none").repeated_keys == 0


def bad_people() -> pd.DataFrame:
    table = people(7, 10)
    table.loc[2, "job"] = "clark"
    table.loc[5, "income"] = float("inf")
    table.loc[5, "job"] = None
    return table


def test_bad_rows_are_reported_with_file_row_and_column(lender: Lender) -> None:
    lender.write([people(10), bad_people()])
    with pytest.raises(PeopleError) as error:
        recommend(lender)
    assert "part1.parquet: column 'job', row 2: 'clark' is not a value of this feature; did you mean" in str(
        error.value
    )
    assert len(parts(lender.out)) == 3  # the parts of the first file
    assert not manifest(lender.out)["complete"]
    assert unfinished(lender.out) == []


def test_a_run_without_a_finished_part_is_replaced(lender: Lender) -> None:
    lender.write([bad_people(), people(4)], rows=8)
    with pytest.raises(PeopleError, match="--skip-bad"):
        recommend(lender)
    assert parts(lender.out) == []
    (lender.out / "_answers" / "part-000007.csv.gz").write_bytes(b"of a part that was never written")
    lender.write([people(8), people(4, 8)], rows=8)
    result = recommend(lender, record=False)
    assert (result.rows, result.reused) == (12, 0)
    assert not (lender.out / "_answers").exists()


def test_keys_have_one_type_in_all_files(lender: Lender) -> None:
    lender.write([people(4).assign(id=None), people(4), people(4).assign(id=range(4))])
    with pytest.raises(PeopleError, match=r"part2\.parquet: column 'id' is int64, and in .*part1\.parquet it is text"):
        recommend(lender, key="id")
    assert not lender.out.exists()


def test_bad_rows_can_be_skipped(lender: Lender) -> None:
    lender.write([people(10), bad_people()])
    with pytest.raises(PeopleError):
        recommend(lender, key="id")
    result = recommend(lender, key="id", resume=True, skip_bad=True)
    assert (result.bad, result.rows, result.counts["people"]) == (2, 17, 15)
    found = pd.read_parquet(lender.out)
    assert found["person"].unique().tolist() == [f"p{i}" for i in range(17) if i not in (12, 15)]
    side = pd.read_parquet(lender.out / "_bad_rows")
    assert side["id"].tolist() == ["p12", "p15"]
    assert side["counterplan_row"].tolist() == [2, 5]
    assert "column 'income'" in side["counterplan_mistakes"][1]
    assert "column 'job'" in side["counterplan_mistakes"][1]
    assert manifest(lender.out)["summary"]["bad"] == 2
    assert "2 bad rows" in str(result)


def test_a_missing_key_is_a_bad_row(lender: Lender) -> None:
    table = people(4)
    table.loc[1, "id"] = None
    lender.write([table, people(3, 4)])
    with pytest.raises(PeopleError, match=r"part0\.parquet: column 'id', row 1: the key is missing"):
        recommend(lender, key="id")
    result = recommend(lender, key="id", resume=True, skip_bad=True)
    assert result.bad == 1
    assert pd.read_parquet(lender.out)["person"].unique().tolist() == ["p0", "p2", "p3", "p4", "p5", "p6"]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"planner": "auto"}, SettingError, "name a planner"),
        ({"model": lambda people: ["no"] * len(people)}, SettingError, "given by name"),
        ({"model": None}, SettingError, "no model given"),
        ({"key": "idd"}, PeopleError, "part0.parquet: has no column 'idd'; did you mean 'id'"),
        ({"jobs": 0}, SettingError, "number of processes"),
        ({"partition_rows": -1}, SettingError, "at least one row"),
        ({"refits": ("lender:deadly",)}, SettingError, "retrained models"),
        ({"allowed": None}, SettingError, "cannot be used in a batch"),
        ({"alternatives": 21}, SettingError, "^'alternatives' must be an integer from 1 to 20, not 21"),
        ({"weights": {"NOPE": 2}}, SettingError, "^'weights': 'NOPE' is neither a function nor an action"),
        ({"budget": -1}, SettingError, "^'budget' must be"),
    ],
)
def test_mistakes_are_reported_before_anything_is_written(
    lender: Lender, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        recommend(lender, **options)
    assert not lender.out.exists()
    assert lender.asked == []


def test_a_missing_column_is_reported_with_its_file(lender: Lender) -> None:
    lender.write([people(3), people(3).drop(columns="job")])
    with pytest.raises(PeopleError, match=r"part1\.parquet: the table lacks the column 'job'"):
        recommend(lender)
    assert not lender.out.exists()


def test_a_key_is_no_input_of_the_model(lender: Lender, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    module = __import__("lender")
    original = module.decide

    def looking(table: pd.DataFrame) -> Any:
        seen.extend(table.columns)
        return original(table)

    monkeypatch.setattr(module, "decide", looking)
    recommend(lender, key="id")
    assert {*seen} == {"income", "job"}


def test_plans_do_not_depend_on_other_partitions(lender: Lender) -> None:
    """Two partitions with the same people: the answers to the first are not used for the second."""
    lender.write([people(4), people(4)])
    recommend(lender, key="id")
    first, second = manifest(lender.out)["parts"]
    assert first["counts"] == second["counts"]


def test_a_full_disk_leaves_nothing_half_written(lender: Lender, monkeypatch: pytest.MonkeyPatch) -> None:
    recommend(lender, lender.folder / "whole", record=False)
    written = 0
    replace_file = files._replace

    def limited(target: Path, content: str | bytes, *options: bool) -> Any:
        nonlocal written
        if target.name.startswith("part-"):
            written += 1
            if written == 3:
                fresh = target.parent / f".{target.name}.half"
                fresh.write_bytes(content[:10] if isinstance(content, bytes) else b"")
                raise OSError(28, os.strerror(28))
        return replace_file(target, content, *options)

    with monkeypatch.context() as patch:
        patch.setattr(files, "_replace", limited)
        with pytest.raises(StorageError, match="No space left on device"):
            recommend(lender, record=False)
    assert len(parts(lender.out)) == 2
    assert unfinished(lender.out) == []
    recommend(lender, record=False, resume=True)
    assert contents(lender.out) == contents(lender.folder / "whole")


def test_a_file_system_that_is_full(lender: Lender) -> None:
    place = lender.folder / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        with pytest.raises(StorageError, match="No space left on device"):
            recommend(lender, place / "plans", partition_rows=1, record=False)
        done = parts(place / "plans")
        assert 0 < len(done) < 17
        assert all(pq.read_metadata(path).num_rows for path in done)
        assert unfinished(place / "plans") == []
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_worker_refuses_other_files_and_versions(lender: Lender) -> None:
    from counterplan.batch.recommend_task import RecommendTask
    from counterplan.batch.running import BatchRun, BatchSettings

    task = RecommendTask(str(lender.learned), "exact", model="lender:decide")
    run = BatchRun(task, lender.people, lender.out, BatchSettings())
    job = worker.BatchJob(task, str(lender.out), "run", tuple(run.loaded.identity.items()), "0.0")
    result = worker.run_partition(job, run.partitions[0])
    assert isinstance(result, worker.Failure)
    assert "0.0" in str(result.error())
    from counterplan import __version__

    changed = replace(job, version=__version__, identity=(("model", "other"),), run="another")
    result = worker.run_partition(changed, run.partitions[0])
    assert isinstance(result, worker.Failure)
    assert "another model" in str(result.error())
    unseen = replace(job, version=__version__, run="third")
    result = worker.run_partition(unseen, run.partitions[0])
    assert isinstance(result, worker.Failure)
    assert "cannot see this folder" in str(result.error())
    worker.forget_tasks()


def test_a_sample_to_learn_from(lender: Lender) -> None:
    sample = batch.sample(lender.people, 5, seed=3)
    assert len(sample) == 5
    assert {*sample["id"]} < {f"p{i}" for i in range(17)}
    assert batch.sample(lender.people, 100)["id"].tolist() == [f"p{i}" for i in range(17)]
