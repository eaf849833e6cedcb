"""Trees that describe how a column depends on others: they partition people, and give the length of a code for it.

Splits are searched on groups of values, where a code length takes a table of counts; the tree is then pruned by the
code length of the values themselves. Marx and Vreeken compare causal directions by trees in this manner ("Causal
inference on multivariate and mixed-type data", ECML PKDD 2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterplan.causal.code_length import UNUSUAL, USUAL, ColumnCode, category_length
from counterplan.causal.columns import DataColumn, Floats, Ints

MAX_DEPTH = 12
SMALLEST = 5
"""A part of a split has at least so many people."""


@dataclass(frozen=True)
class TreePartition:
    """A partition of people by the parents of a column, and the code length of the column with it.

    Attributes
    ----------
    leaves : ndarray of int, shape [B]
        The leaf of each person.
    length : float
        The code length of tree and values, in nats.
    """

    leaves: Ints
    length: float


def describe(child: DataColumn, parents: Sequence[DataColumn]) -> TreePartition:
    """Describe the values of `child` by a tree on `parents`; no value may be missing."""
    return _Grower(child, parents).partition()


class _Grower:
    def __init__(self, child: DataColumn, parents: Sequence[DataColumn]) -> None:
        self.child, self.parents = child, parents
        self.groups = child.groups[child.cells]
        self.group_count = child.group_count
        self.code = ColumnCode(child)
        self.leaves = np.zeros(len(child.cells), np.int64)
        self.next_leaf = 0

    def partition(self) -> TreePartition:
        rows = np.arange(len(self.child.cells))
        return TreePartition(self.leaves, self.code.shortest(self._grow(rows, 0, True)))

    def _grow(self, rows: npt.NDArray[np.intp], depth: int, splits: bool) -> Floats:
        """Grow the tree below `rows`, prune it, and return its length by each family of distributions [F]."""
        stop, go_on = (UNUSUAL, USUAL) if splits else (USUAL, UNUSUAL)
        alone = self.code.lengths(rows) + (stop if self.parents else 0.0)
        split = self._best_split(rows) if depth < MAX_DEPTH and len(rows) >= 2 * SMALLEST else None
        first = self.next_leaf
        shortest: Floats = alone
        if split is not None:
            price, parts, every = split
            below = np.sum([self._grow(part, depth + 1, not every) for part in parts], axis=0) + go_on + price
            shortest = np.minimum(alone, below)
            if below.min() < alone.min():
                return shortest
        self.leaves[rows] = first
        self.next_leaf = first + 1
        return shortest

    def _best_split(self, rows: npt.NDArray[np.intp]) -> tuple[float, list[npt.NDArray[np.intp]], bool] | None:
        """The split that shortens the code of the groups most, with the length of its description; None without any."""
        best, chosen = 0.0, None
        groups = self.groups[rows]
        for parent in self.parents:
            cells = parent.cells[rows]
            counts = np.bincount(cells * self.group_count + groups, minlength=parent.size * self.group_count)
            table = counts.reshape(parent.size, self.group_count).astype(np.float64)
            whole = table.sum(axis=0)
            sizes = table.sum(axis=1)
            if (sizes > 0).sum() < 2:
                continue
            left = np.cumsum(table, axis=0)[:-1] if parent.ordered else table
            right = whole - left
            price = math.log(2 * len(self.parents)) + math.log(max((sizes > 0).sum(), 2))
            gains = category_length(whole) - category_length(left) - category_length(right) - price
            gains[np.minimum(left.sum(axis=1), right.sum(axis=1)) < SMALLEST] = -math.inf
            at = int(np.argmax(gains))
            if gains[at] > best:
                best = float(gains[at])
                inside = cells <= at if parent.ordered else cells == at
                chosen = (price, [rows[inside], rows[~inside]], False)
            if parent.scale is None and (sizes > 0).sum() > 2:
                price = math.log(2 * len(self.parents))
                used = sizes > 0
                gain = float(category_length(whole) - category_length(table[used]).sum()) - price
                if gain > best:
                    best = gain
                    chosen = (price, [rows[cells == value] for value in np.flatnonzero(used)], True)
        return chosen
