"""`Coded`: an array of values that repeat, as codes and a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from counterplan.problem.transitions import Ints

T = TypeVar("T")
NO_CODE = -1
"""Code of an absent value."""


@dataclass
class Coded(Generic[T]):
    """An array of values that repeat: `codes` index the table `values`; `NO_CODE` is an absent value."""

    codes: Ints
    values: list[T]

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Coded[T]:
        """An array of absent values."""
        return cls(np.full(shape, NO_CODE, np.intp), [])

    @classmethod
    def of(cls, values: Iterable[T | None]) -> Coded[T]:
        """An array [n] of hashable values; None is absent."""
        table: dict[T, int] = {}
        codes = [NO_CODE if value is None else table.setdefault(value, len(table)) for value in values]
        return cls(np.array(codes, np.intp), [*table])

    @classmethod
    def join(cls, parts: Sequence[Coded[T]]) -> Coded[T]:
        """Concatenate along the first axis; a table that several parts share is adopted once."""
        values: list[T] = []
        shifts: dict[int, int] = {}
        codes = []
        for part in parts:
            if id(part.values) not in shifts:
                shifts[id(part.values)] = len(values)
                values += part.values
            codes.append(_shifted(part.codes, shifts[id(part.values)]))
        return cls(np.concatenate(codes), values)

    def take(self, rows: Ints | slice) -> Coded[T]:
        """The values of `rows`, with the same table."""
        return Coded(self.codes[rows], self.values)

    def put(self, rows: Ints, part: Coded[T] | None) -> None:
        """Replace the values of `rows` [n]; None makes them absent."""
        if part is None:
            self.codes[rows] = NO_CODE
        elif part.values is self.values:
            self.codes[rows] = part.codes
        else:
            self.codes[rows] = _shifted(part.codes, len(self.values))
            self.values = [*self.values, *part.values]

    def get(self, *place: int) -> T | None:
        """The value at one place; None if it is absent."""
        code = int(self.codes[place])
        return None if code == NO_CODE else self.values[code]


def _shifted(codes: Ints, shift: int) -> Ints:
    return np.where(codes == NO_CODE, NO_CODE, codes + shift)


def rows_of(column: Any, rows: Ints | slice) -> Any:
    """The values of `rows` of an array or a `Coded`."""
    return column.take(rows) if isinstance(column, Coded) else column[rows]
