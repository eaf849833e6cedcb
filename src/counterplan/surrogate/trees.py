"""Boosted trees: grown by scikit-learn, kept and run as plain arrays.

Each tree has at most 16 leaves, numbered from the left: a set of them is 16 bits. A test that fails rules out the
leaves on its left, so the tests on one feature rule out a set that depends on that feature alone, tabled for each
interval of its values. What all features together leave is the person's leaf: the first one in the set. T trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from counterplan.problem import Feature
from counterplan.problem.transitions import Floats

Single = npt.NDArray[np.float32]
Bits = npt.NDArray[np.uint16]
LEAVES = 16
MISSING = np.float32(-1e30)
"""A missing value counts as less than all others."""
_FIRST = np.array([0, *((bits & -bits).bit_length() - 1 for bits in range(1, 1 << LEAVES))], np.uint8)
"""The first leaf in each set of leaves."""


def tree_inputs(features: Sequence[Feature], states: Floats) -> Single:
    """What trees are grown on [n, P]: numbers and ranks as they are, and a column for each value of a category."""
    blocks = []
    for feature in features:
        column = _known(states[:, feature.index])[:, None]
        blocks.append(column == _values(feature) if feature.kind == "category" else column)
    return np.concatenate(blocks, axis=1, dtype=np.float32)


def _known(column: Floats) -> Single:
    return np.where(np.isnan(column), MISSING, column.astype(np.float32))


def _values(feature: Feature) -> Single:
    """What a category can be: missing, then the indices of its values."""
    return np.array([MISSING, *range(len(feature.natives))], np.float32)[not feature.missing :]


@dataclass(frozen=True)
class Trees:
    """The sum of T trees as arrays, for the features that they test."""

    features: tuple[int, ...]
    cuts: tuple[Single, ...]
    """Per feature, where its intervals [c + 1] end; a number on a cut lies below it."""
    left: tuple[Bits, ...]
    """Per feature [c + 1, T]: the leaves that its tests leave in each interval."""
    values: Single
    """[T, 16] what each leaf adds."""

    @classmethod
    def of(cls, features: Sequence[Feature], models: Sequence[Any]) -> Trees:
        """The mean of some GradientBoostingClassifiers that started from zero and learned from `tree_inputs`."""
        grown = [(tree.tree_, model.learning_rate) for model in models for tree in model.estimators_[:, 0]]
        values = np.zeros((len(grown), LEAVES), np.float32)
        tests: list[tuple[int, float, int, int]] = []
        for t, (tree, rate) in enumerate(grown):
            leaves = _read(tree, t, tests)
            values[t, : len(leaves)] = tree.value[leaves, 0, 0] * rate / len(models)
        used: list[tuple[int, Single, Bits]] = []
        start = 0
        for feature in features:
            width = len(_values(feature)) if feature.kind == "category" else 1
            mine = [test for test in tests if start <= test[0] < start + width]
            if mine:
                cuts, columns = _intervals(feature, [threshold for _, threshold, *_ in mine])
                used.append((feature.index, cuts, _table(columns, mine, start, len(grown))))
            start += width
        indices, places, left = zip(*used, strict=True) if used else ((), (), ())
        return cls(indices, places, left, values)

    @classmethod
    def constant(cls, value: float) -> Trees:
        """One tree with one leaf."""
        return cls((), (), (), np.full((1, LEAVES), value, np.float32))

    def __call__(self, states: Floats) -> Single:
        """What the trees add up to [n] in `states` [n, F]."""
        result: Single = self._added(states).sum(axis=1)
        return result

    def apart(self, states: Floats, forests: int) -> Single:
        """What each of the `forests` that these trees are the mean of says [G, n] of `states` [n, F]."""
        added = self._added(states).reshape(len(states), forests, len(self.values) // forests)
        result: Single = forests * added.sum(axis=2).T
        return result

    def _added(self, states: Floats) -> Single:
        """What each tree adds [n, T]."""
        leaves = np.full((len(states), len(self.values)), (1 << LEAVES) - 1, np.uint16)
        for index, cuts, left in zip(self.features, self.cuts, self.left, strict=True):
            leaves &= left.take(np.searchsorted(cuts, _known(states[:, index])), axis=0)
        place = _FIRST.take(leaves) + np.arange(0, self.values.size, LEAVES)
        added: Single = self.values.ravel().take(place)
        return added

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Named arrays that `from_arrays` reads back."""
        arrays: dict[str, npt.NDArray[Any]] = {"values": self.values}
        for index, cuts, left in zip(self.features, self.cuts, self.left, strict=True):
            arrays |= {f"{index}.cuts": cuts, f"{index}.left": left}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Trees:
        """The trees that `to_arrays` wrote."""
        used = sorted(int(name.removesuffix(".cuts")) for name in arrays if name.endswith(".cuts"))
        cuts = tuple(arrays[f"{index}.cuts"] for index in used)
        return cls(tuple(used), cuts, tuple(arrays[f"{index}.left"] for index in used), arrays["values"])


def _read(tree: Any, number: int, tests: list[tuple[int, float, int, int]]) -> list[int]:
    """The leaves of `tree` from left to right; its tests (column, threshold, tree, leaves if it fails) are added."""

    def rollout(node: int, first: int) -> list[int]:
        if tree.children_left[node] < 0:
            return [node]
        before = rollout(tree.children_left[node], first)
        gone = ((1 << len(before)) - 1) << first
        tests.append((int(tree.feature[node]), float(tree.threshold[node]), number, ((1 << LEAVES) - 1) & ~gone))
        return before + rollout(tree.children_right[node], first + len(before))

    return rollout(0, 0)


def _intervals(feature: Feature, thresholds: Sequence[float]) -> tuple[Single, Floats]:
    """Where the intervals [c + 1] of a feature end that tests tell apart, and its columns [c + 1, W] in each."""
    if feature.kind == "category":
        values = _values(feature).astype(float)
        return ((values[1:] + values[:-1]) / 2).astype(np.float32), np.eye(len(values))
    cuts = np.unique(np.array([_below(threshold) for threshold in thresholds], np.float32))
    return cuts, np.append(cuts, np.inf).astype(float)[:, None]


def _below(threshold: float) -> np.float32:
    """The largest float32 that passes `x <= threshold`."""
    near = np.float32(threshold)
    return near if float(near) <= threshold else np.nextafter(near, np.float32(-np.inf))


def _table(columns: Floats, tests: Sequence[tuple[int, float, int, int]], start: int, trees: int) -> Bits:
    """Which leaves of each tree [c, T] the `tests` leave where their columns (from `start`) are `columns` [c, W]."""
    left = np.full((len(columns), trees), (1 << LEAVES) - 1, np.uint16)
    for column, threshold, tree, leaves in tests:
        left[columns[:, column - start] > threshold, tree] &= np.uint16(leaves)
    return left
