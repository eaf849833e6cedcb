"""People in Parquet files are found by file, folder and pattern, read in parts, and sampled by a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterplan import PeopleError
from counterplan.problem.parquet_people import ParquetPeople, PeopleFile, is_parquet_source, would_read

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TABLE = pd.DataFrame({"number": range(50), "text": [f"t{i % 3}" for i in range(50)]})


def write(path: Path, table: pd.DataFrame, rows: int = 10) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path, row_group_size=rows)
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> PeopleFile:
    return PeopleFile.of(write(tmp_path_factory.mktemp("files") / "a.parquet", TABLE, 7))


@given(st.integers(0, 50), st.integers(0, 50), st.booleans())
def test_rows_are_those_of_the_table(file: PeopleFile, first: int, last: int, dictionary: bool) -> None:
    first, last = sorted((first, last))
    read = file.read(first, last - first, ["text", "number"], ["text"] if dictionary else ())
    assert read.column("number").to_pylist() == TABLE["number"].tolist()[first:last]
    assert read.column("text").to_pylist() == TABLE["text"].tolist()[first:last]


@given(st.sets(st.integers(0, 49)).map(sorted))
def test_rows_are_taken_in_order(file: PeopleFile, rows: list[int]) -> None:
    assert file.take(np.array(rows, np.intp)).column("number").to_pylist() == rows


def test_files_are_found_in_order(tmp_path: Path) -> None:
    for name in ("b.parquet", "a.pq", "sub/c.parquet", "_hidden.parquet", ".x.parquet", "_side/d.parquet", "e.csv"):
        write(tmp_path / name, TABLE.head(2))
    names = [Path(one.name).name for one in ParquetPeople.find(tmp_path).files]
    assert names == ["a.pq", "b.parquet", "c.parquet"]
    assert len(ParquetPeople.find(tmp_path / "*.parquet").files) == 2  # a pattern does not match hidden files, but _
    both = ParquetPeople.find([tmp_path / "b.parquet", tmp_path / "**" / "*.parquet"])
    assert Path(both.files[0].name).name == "b.parquet"
    assert len({one.path for one in both.files}) == len(both.files)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.parquet", "there is no such file or folder"),
        ("*.parquet", "no file matches this pattern"),
        ("empty", "there is no Parquet file in this folder"),
        ("table.csv", "is not a Parquet file"),
        ("broken.parquet", "cannot be read as Parquet"),
    ],
)
def test_missing_and_damaged_files_are_named(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "table.csv").write_text("a\n1\n")
    if name == "broken.parquet":
        (tmp_path / name).write_bytes(b"PAR1 nothing")
    with pytest.raises(PeopleError, match=message) as error:
        ParquetPeople.find(tmp_path / name)
    assert name in str(error.value)


@given(st.integers(1, 60), st.integers(0, 5), st.integers(1, 20), st.integers(0, 50))
def test_a_sample_depends_on_the_rows_alone(
    tmp_path_factory: pytest.TempPathFactory, count: int, seed: int, rows: int, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("sampled")
    write(folder / "a.parquet", TABLE.iloc[:cut], rows)
    write(folder / "b.parquet", TABLE.iloc[cut:], rows + 3)
    one = write(folder / "one" / "all.parquet", TABLE, 50)
    sample = ParquetPeople.find(one).sample(count, seed)
    other = ParquetPeople.find(folder / "*.parquet").sample(count, seed)
    assert sample.table["number"].tolist() == other.table["number"].tolist()
    assert len(sample.table) == min(count, 50)
    assert sample.table["number"].is_monotonic_increasing
    for file, row, number in zip(other.file_of, other.row_of, other.table["number"], strict=True):
        assert number == row + (cut if file else 0)


def test_every_row_is_sampled_equally_often(tmp_path: Path) -> None:
    people = ParquetPeople.find(write(tmp_path / "a.parquet", TABLE))
    counts = np.zeros(50)
    for seed in range(400):
        counts[people.sample(10, seed).table["number"]] += 1
    assert abs(counts.mean() - 80) < 1e-9
    assert counts.min() > 80 - 5 * 8  # five standard deviations
    assert counts.max() < 80 + 5 * 8


def test_a_digest_changes_with_the_content(tmp_path: Path) -> None:
    """Two people swap values, which leaves size and footer as they are."""
    table = TABLE.assign(number=TABLE["number"].replace({3: 5, 5: 3}))
    write(tmp_path / "a.parquet", TABLE)
    write(tmp_path / "b.parquet", table)
    write(tmp_path / "c.parquet", TABLE)
    first, swapped, copied = ParquetPeople.find(tmp_path).with_digests().files
    assert first.size == swapped.size
    assert first.digest == copied.digest != swapped.digest


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "people" / "a.parquet", TABLE)
    (tmp_path / "link.parquet").symlink_to(tmp_path / "people" / "a.parquet")
    sources = ["people/a.parquet", tmp_path / "people" / "a.parquet", "people/../people", "link.parquet"]
    assert [file.name for file in ParquetPeople.find(sources).files] == ["people/a.parquet"]


def test_labels_do_not_depend_on_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("x/a.parquet", "x/sub/b.parquet", "y/c.parquet"):
        write(tmp_path / name, TABLE.head(2))
    monkeypatch.chdir(tmp_path / "x")
    assert ParquetPeople.find([".", "../y"]).labels == ("x/a.parquet", "x/sub/b.parquet", "y/c.parquet")
    assert ParquetPeople.find(tmp_path / "x").labels == ParquetPeople.find(".").labels == ("a.parquet", "sub/b.parquet")
    assert ParquetPeople.find("sub/b.parquet").labels == ("b.parquet",)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("people", True),
        ("people/", True),
        ("peo*", True),
        ("people/*", True),
        ("people/**/*.parquet", True),
        ("**/part-*.pq*", False),
        ("people/*.parquet", False),
        ("people/a.parquet", False),
        ("people/plans/*.parquet", True),
        ("people/plans/adult*.parquet", False),
        ("other", False),
        (["other", "people"], True),
    ],
    ids=str,
)
def test_files_that_would_be_read(
    tmp_path: Path, source: str | list[str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "people" / "a.parquet", TABLE)
    assert would_read(source, tmp_path / "people" / "plans" / "part-000000.parquet") is expected
    assert not would_read("people", tmp_path / "people" / "_plans" / "part-000000.parquet")


def test_sources_of_several_files(tmp_path: Path) -> None:
    file = write(tmp_path / "a[1].parquet", TABLE)
    assert is_parquet_source(tmp_path)
    assert is_parquet_source(tmp_path / "*.parquet")
    assert not is_parquet_source(file)
    assert not is_parquet_source(tmp_path / "none.parquet")
    assert ParquetPeople.find(file).rows == 50
