"""Partitions: consecutive rows of Parquet files that are processed at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from counterplan.errors import SettingError
from counterplan.problem.parquet_people import ParquetPeople, PeopleFile


@dataclass(frozen=True)
class Partition:
    """Consecutive rows of one file.

    Attributes
    ----------
    number : int
        Position among all partitions, in the order of files and rows, counted from 0.
    file : PeopleFile
        The file.
    first, rows : int
        The first row, and the number of rows.
    """

    number: int
    file: PeopleFile
    first: int
    rows: int

    def __str__(self) -> str:
        return f"{self.file.name}, rows {self.first:,} to {self.first + self.rows - 1:,}"


def partitions_of(people: ParquetPeople, rows: int) -> list[Partition]:
    """Divide people into partitions along row groups: small ones are joined, large ones are split evenly.

    Parameters
    ----------
    people : ParquetPeople
        The files.
    rows : int
        Most rows of a partition.

    Returns
    -------
    list of Partition
        In the order of files and rows. If there is nobody at all, one partition without rows.

    Raises
    ------
    SettingError
        If `rows` is not positive.
    """
    if rows < 1:
        raise SettingError(f"a partition has at least one row, not {rows!r}")
    spans = [(file, *span) for file in people.files for span in _spans(file.groups, rows)]
    spans = spans or [(people.files[0], 0, 0)]
    return [Partition(number, *span) for number, span in enumerate(spans)]


def _spans(groups: tuple[int, ...], rows: int) -> Iterator[tuple[int, int]]:
    """First row and number of rows of each partition of a file."""
    first = waiting = 0
    for count in groups:
        if waiting and waiting + count > rows:
            yield first, waiting
            first, waiting = first + waiting, 0
        if count > rows:
            pieces = math.ceil(count / rows)
            bounds = [count * i // pieces for i in range(pieces + 1)]
            yield from ((first + low, high - low) for low, high in pairwise(bounds))
            first += count
        else:
            waiting += count
    if waiting:
        yield first, waiting
