"""Partitions cover every row once, in order, along row groups."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterplan import SettingError
from counterplan.batch.partitions import partitions_of
from counterplan.problem.parquet_people import ParquetPeople, PeopleFile

groups = st.lists(st.integers(0, 30), max_size=8).map(tuple)


def files(*counts: tuple[int, ...]) -> ParquetPeople:
    return ParquetPeople(tuple(PeopleFile(f"{i}", f"/{i}", rows, (), (), 0) for i, rows in enumerate(counts)))


@given(st.lists(groups, min_size=1, max_size=4), st.integers(1, 40))
def test_every_row_is_in_one_partition(counts: list[tuple[int, ...]], rows: int) -> None:
    partitions = partitions_of(files(*counts), rows)
    covered = [(one.file.name, row) for one in partitions for row in range(one.first, one.first + one.rows)]
    assert covered == [(str(i), row) for i, own in enumerate(counts) for row in range(sum(own))]
    assert [one.number for one in partitions] == [*range(len(partitions))]
    assert all(one.rows <= rows for one in partitions)
    assert all(one.rows for one in partitions) or not covered


@given(groups, st.integers(1, 40))
def test_partitions_begin_with_a_row_group_or_inside_a_large_one(counts: tuple[int, ...], rows: int) -> None:
    starts = {sum(counts[:i]): count for i, count in enumerate(counts)}
    large = [range(start, start + count) for start, count in starts.items() if count > rows]
    for one in partitions_of(files(counts), rows):
        assert not one.rows or one.first in starts or any(one.first in rows for rows in large)


def test_small_row_groups_are_joined_and_large_ones_split_evenly() -> None:
    sizes = [one.rows for one in partitions_of(files((3, 3, 3, 25, 1)), 10)]
    assert sizes == [9, 8, 8, 9, 1]


def test_nobody_is_one_empty_partition() -> None:
    assert [(one.first, one.rows) for one in partitions_of(files((), (0,)), 10)] == [(0, 0)]


def test_a_partition_has_rows() -> None:
    with pytest.raises(SettingError, match="at least one row"):
        partitions_of(files((3,)), 0)
