"""The columns of a table: values, and cells and groups of them on which trees and tests count people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from counterplan.problem import Feature

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

CELLS = 64
"""A number has at most about so many cells."""
GROUPS = 6
"""Tests put the cells of a number into at most about so many groups."""
ATOM_SHARE = 0.02
"""A value that so large a share of people have, among many values, is an atom: an amount of 0, a minimum wage."""


@dataclass(frozen=True)
class NumberScale:
    """What holds of the values of a number in the whole table.

    Attributes
    ----------
    low, high : float
        The range, half a resolution beyond the least and the largest value.
    resolution : float
        The smallest difference of two values.
    atoms : ndarray of float
        The frequent single values among many.
    """

    low: float
    high: float
    resolution: float
    atoms: Floats


@dataclass(frozen=True)
class DataColumn:
    """A feature of a table.

    Attributes
    ----------
    name : str
        The feature.
    values : ndarray of float, shape [B]
        Numbers, or indices of categories as in a state; NaN if missing.
    cells : ndarray of int, shape [B]
        The cell of each value; −1 if it is missing.
    size : int
        The number of cells K.
    groups : ndarray of int, shape [K]
        The group of each cell: a number has at most about `GROUPS` of about equal size, a category its values.
    ordered : bool
        Whether cells have an order.
    scale : NumberScale or None
        Of a number; None for categories.
    """

    name: str
    values: Floats
    cells: Ints
    size: int
    groups: Ints
    ordered: bool
    scale: NumberScale | None = None

    @property
    def group_count(self) -> int:
        """The number of groups."""
        return int(self.groups[-1]) + 1 if len(self.groups) else 0

    def take(self, rows: npt.NDArray[np.intp] | Bools) -> DataColumn:
        """The column of some of the people; cells, groups and scale stay as they are."""
        return replace(self, values=self.values[rows], cells=self.cells[rows])


def to_columns(features: Sequence[Feature], states: Floats) -> list[DataColumn]:
    """The columns of a table, from states [B, F]."""
    return [to_column(feature, states[:, feature.index]) for feature in features]


def to_column(feature: Feature, values: Floats) -> DataColumn:
    """The column of a feature with `values` [B], NaN where missing; values that nobody has get no cell."""
    known = np.isfinite(values)
    distinct, inverse, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    cells = np.full(len(values), -1, np.int64)
    cells[known] = inverse
    if not feature.is_number or not len(distinct):
        groups = np.arange(len(distinct))
        return DataColumn(feature.name, values, cells, len(distinct), groups, feature.kind != "category")
    atoms = counts >= ATOM_SHARE * counts.sum() if len(distinct) > CELLS else np.zeros(len(distinct), bool)
    cell_of = np.arange(len(distinct)) if len(distinct) <= CELLS else _quantiles(counts, atoms, CELLS)
    cells[known] = cell_of[inverse]
    size = int(cell_of[-1]) + 1
    cell_counts = np.bincount(cell_of, counts, size).astype(np.int64)
    alone = np.bincount(cell_of[atoms], minlength=size) > 0
    groups = np.arange(size)
    if size > GROUPS:
        groups = _quantiles(cell_counts, alone & (cell_counts * 2 * GROUPS >= cell_counts.sum()), GROUPS)
    gap = float(np.diff(distinct).min()) if len(distinct) > 1 else 1.0
    scale = NumberScale(float(distinct[0]) - gap / 2, float(distinct[-1]) + gap / 2, gap, distinct[atoms])
    return DataColumn(feature.name, values, cells, size, groups, True, scale)


def _quantiles(counts: Ints, alone: Bools, most: int) -> Ints:
    """[V] Sorted values with `counts` in about `most` parts of about equal counts; those that are `alone` are one."""
    middle = np.cumsum(counts) - counts / 2
    quantile = (middle * most / counts.sum()).astype(np.int64)
    ends = np.cumsum(alone) + np.cumsum(np.concatenate([[False], alone[:-1]]))
    changes = (np.diff(quantile) > 0) | (np.diff(ends) > 0)
    return np.concatenate([[0], np.cumsum(changes)]).astype(np.int64)
