"""`recommend --out`, `audit` of folders, and folders of Parquet files for `fit` and `distil`, on the command line."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from counterplan import PeopleError, Problem
from counterplan.inputs import PeopleSampling, resolve
from loans import MANY
from quick import quick_fits

pytest.importorskip("pyarrow")
WORDS = ("recommend", "loan.yaml", "--people", "people", "--model", "bank:decide", "--planner", "exact")


@pytest.fixture
def files(folder: Path) -> Path:
    """Sixty people in two files."""
    (folder / "people").mkdir()
    MANY.iloc[:40].to_parquet(folder / "people" / "a.parquet", row_group_size=8)
    MANY.iloc[40:].to_parquet(folder / "people" / "b.parquet")
    return folder


def test_plans_are_written_to_a_folder(run, files: Path) -> None:
    ran = run(*WORDS, "--out", "plans", "--partition-rows", "16")
    assert ran.code == 0, ran.err
    assert "60 people: " in ran.out
    assert "Wrote 5 parts to plans, with the manifest _manifest.json." in ran.out
    found = pd.read_parquet(files / "plans").drop_duplicates(["file", "row"])
    assert len(found) == 60
    assert found["file"].unique().tolist() == ["people/a.parquet", "people/b.parquet"]
    again = run(*WORDS, "--out", "plans")
    assert again.code == 2
    assert "--resume" in again.err
    resumed = run(*WORDS, "--out", "plans", "--partition-rows", "16", "--resume")
    assert resumed.code == 0, resumed.err
    assert "5 of them from before" in resumed.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--key", "id"), "--key is for people in Parquet files: give --out FOLDER"),
        (("--cluster", "local"), "--cluster is for people in Parquet files"),
        (("--resume",), "--resume is for people in Parquet files"),
        (("--no-record",), "--no-record is for people in Parquet files"),
        ((), "'recommend' with --out FOLDER"),
        (("--out", "plans", "--csv", "plans.csv"), "--csv cannot be used with --out"),
        (("--out", "plans", "--limit", "3"), "--limit cannot be used with --out"),
        (("--out", "plans", "--person", "0"), "--person cannot be used with --out"),
        (("--out", "plans", "--weights", "w.csv"), "--weights cannot be used with --out; --weight is for everybody"),
        (("--out", "plans", "--memory", "2GB"), "--memory is for --cluster local"),
        (("--out", "plans", "--cluster", "tcp://x:1", "--jobs", "2"), "--jobs is for processes of this machine"),
        (("--out", "plans", "--cluster", "local", "--memory", "5kk"), "--memory 5kk: Could not interpret"),
        (("--out", "plans", "--cluster", "local", "--memory", "1MB"), "a worker needs at least 250 MB"),
        (("--out", "plans", "--planner", "auto"), "name a planner"),
        (("--out", "plans", "--weight", "NOPE=1"), "'weights': 'NOPE' is neither a function nor an action"),
        (("--out", "plans", "--weight", "CHANGE_JOB=0"), "the weight of CHANGE_JOB must be a number from 0.01 to 100"),
        (("--out", "plans", "--forbid", "NOPE"), "cannot forbid 'NOPE': there is no such function or action"),
        (("--out", "plans", "--deadline", "inf"), "'deadline' must be a number"),
        (("--out", "plans", "--deadline", "3"), "'deadline' needs durations"),
        (("--out", "plans", "--alternatives", "21"), "should be less than or equal to 20"),
        (("--out", "plans", "--survival", "much"), "'survival' must be none"),
        (("--out", "plans", "--survival", "high", "--alternatives", "2"), "leave out either 'alternatives' or"),
        (("--out", "plans", "--survival-at-least", "2"), "survival_at_least"),
        (("--out", "plans", "--people", "people.csv"), "people.csv: is not a Parquet file"),
        (("--out", "plans", "--people", "none/*.parquet"), "no file matches this pattern"),
    ],
)
def test_options_that_do_not_go_together(run, files: Path, words: tuple[str, ...], message: str) -> None:
    ran = run(*WORDS, *words)
    assert ran.code == 2
    assert message in ran.err
    assert " rows " not in ran.err
    assert not (files / "plans").exists()


def test_a_run_that_cannot_be_resumed_is_no_stopped_one(run, files: Path) -> None:
    assert run(*WORDS, "--out", "plans").code == 0
    ran = run(*WORDS, "--out", "plans", "--resume", "--budget", "3")
    assert ran.code == 2
    assert "cannot be resumed" in ran.err
    assert "the same command with --resume" not in ran.err


def test_bad_rows_are_reported_and_corrected(run, files: Path) -> None:
    MANY.iloc[40:].assign(job="clark").to_parquet(files / "people" / "b.parquet")
    ran = run(*WORDS, "--out", "plans")
    assert ran.code == 2
    assert "people/b.parquet: column 'job', row 0: 'clark' is not a value" in ran.err
    assert (
        "Stopped: finished parts stay in plans: once the people are corrected, the same command with --resume "
        "continues, and so does --resume --skip-bad."
    ) in " ".join(ran.err.split())
    MANY.iloc[40:59].to_parquet(files / "people" / "b.parquet")
    corrected = run(*WORDS, "--out", "plans", "--resume")
    assert corrected.code == 0, corrected.err
    assert "59 people" in corrected.out
    assert "Planned again for everybody in files that have changed: b.parquet." in corrected.err


def test_bad_rows_are_skipped(run, files: Path) -> None:
    MANY.iloc[40:].assign(job="clark").to_parquet(files / "people" / "b.parquet")
    assert run(*WORDS, "--out", "plans").code == 2
    ran = run(*WORDS, "--out", "plans", "--resume", "--skip-bad")
    assert ran.code == 0, ran.err
    assert "40 people" in ran.out
    assert "20 bad rows are in plans/_bad_rows" in ran.out


def test_fit_and_distil_read_a_sample_of_parquet_files(run, files: Path) -> None:
    with quick_fits():
        fit = ("fit", "loan.yaml", "--people", "people/*.parquet", "--model", "bank:decide", "--out", "learned")
        ran = run(*fit, "--no-quality", "--sample", "50")
        assert ran.code == 0, ran.err
        ran = run(
            "distil", "learned", "--people", "people", "--model", "bank:decide", "--traces", "50", "--rounds", "1"
        )
        assert ran.code == 0, ran.err
    assert (files / "learned" / "program.json").exists()


def test_a_sample_is_the_same_for_a_seed(files: Path) -> None:
    def sampled(most: int, seed: int, people: str = "people") -> list[float]:
        inputs = resolve("loan.yaml", people, "bank:decide", sample=PeopleSampling(most, seed))
        return inputs.people().table["income"].tolist()

    assert sampled(10, 3) == sampled(10, 3) != sampled(10, 4)
    assert sampled(100, 3) == MANY["income"].tolist()
    assert sampled(100, 3, "people/a.parquet") == MANY["income"].tolist()[:40]
    assert len(sampled(7, 3, "people/a.parquet")) == 7


def test_mistakes_in_a_sample_have_their_place(files: Path) -> None:
    MANY.iloc[40:].assign(job="clark").to_parquet(files / "people" / "b.parquet")
    inputs = resolve("loan.yaml", "people", "bank:decide", sample=PeopleSampling(50, 0))
    with pytest.raises(PeopleError, match="column 'job', row") as error:
        inputs.people()
    lines = [line for line in str(error.value).splitlines() if "column" in line]
    rows = [int(line.split("row ")[1].split(":")[0]) for line in lines]
    assert lines
    assert all(line.startswith("people/b.parquet: ") for line in lines)
    assert all(0 <= row < 20 for row in rows)


def test_valid_rows_and_bad_cells(folder: Path) -> None:
    problem = Problem.load("loan.yaml")
    table = pd.DataFrame({"income": [1.0, float("inf"), 3.0], "job": ["clerk", "clark", "none"]}, index=[7, 8, 9])
    people, bad = problem.read_valid(table)
    assert people.table.index.tolist() == [7, 9]
    assert people.states.tolist() == [[1, 1], [3, 0]]
    assert [(cell.row, cell.column) for cell in bad] == [(1, "income"), (1, "job")]
    with pytest.raises(PeopleError) as error:
        problem.read(table)
    assert str(error.value).splitlines() == [str(cell) for cell in bad]


def test_a_summary_names_queries_and_the_cache(run, files: Path) -> None:
    assert " 172 queries, 95 more from the cache." in run(*WORDS, "--out", "plans").out


AUDIT = ("audit", "loan.yaml", "--people", "people", "--model", "bank:decide", "--out", "out", "--group", "job")


def test_a_folder_is_audited_part_by_part(run, files: Path) -> None:
    ran = run(*AUDIT, "--partition-rows", "16", "--jobs", "1")
    assert ran.code == 0, ran.err
    MANY.to_csv(files / "many.csv", index=False)
    words = [{"people": "many.csv", "out": "other"}.get(word, word) for word in AUDIT]
    whole = run(*words, "--planner", "exact")
    assert ran.out.splitlines()[:-1] == whole.out.splitlines()[:-1]
    last = "Wrote out/report.html, tables and data, and 5 parts to out/outcomes."
    assert ran.out.splitlines()[-1] == last
    assert len(pd.read_parquet(files / "out" / "outcomes")) == 60
    for name in ("groups.csv", "differences.csv", "functions.csv", "relaxations.csv"):
        assert (files / "out" / name).read_text() == (files / "other" / name).read_text()
    again = run(*AUDIT, "--partition-rows", "16")
    assert again.code == 2
    assert "--resume" in again.err
    resumed = run(*AUDIT, "--partition-rows", "16", "--resume", "--level", "0.9")
    assert resumed.code == 0, resumed.err
    assert "90 % intervals" in resumed.out
    assert "5 of them from before" in resumed.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--limit", "3"), "--limit cannot be used for people in Parquet files"),
        (("--force",), "--force cannot be used"),
        (("--refit", "bank:decide"), "--refit cannot be used"),
        (("--memory", "2GB"), "--memory is for --cluster local"),
        (("--cluster", "tcp://x:1", "--jobs", "2"), "--jobs is for processes of this machine"),
        (("--planner", "auto"), "name a planner"),
        (("--people", "none/*.parquet"), "no file matches this pattern"),
        (("--people", "people.csv", "--partition-rows", "9"), "people.csv: is not a Parquet file"),
        (("--people", "people.csv", "--key", "name"), "--key is for people in Parquet files"),
        (("--people", "people.csv", "--no-record"), "--no-record is for people in Parquet files"),
        (("--people", "people.csv", "--skip-bad"), "--skip-bad is for people in Parquet files"),
        (("--group", "regoin"), "no column 'regoin'"),
        (("--key", "name"), "has no column 'name'"),
    ],
)
def test_mistakes_of_audits(run, files: Path, words: tuple[str, ...], message: str) -> None:
    ran = run(*AUDIT, *words)
    assert ran.code == 2
    assert message in ran.err
    assert not (files / "out").exists()
