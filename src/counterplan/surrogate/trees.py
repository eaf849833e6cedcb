"""Boosted trees: fitted by scikit-learn, stored and evaluated as plain arrays.

Each tree has at most 16 leaves, numbered from the left, so a set of leaves is a bit mask of 16 bits. A test that fails
excludes the leaves on its left, hence the tests on one feature exclude a set that depends on that feature alone; it is
tabulated for each interval of the feature's values. The intersection over all features determines the leaf of a state:
the first one that is left. T trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from counterplan.errors import SettingError
from counterplan.problem import Feature
from counterplan.problem.transitions import Floats, Ints

Single = npt.NDArray[np.float32]
Bits = npt.NDArray[np.uint16]
LEAVES = 16
_ALL = (1 << LEAVES) - 1
"""The set of all leaves."""
MISSING = np.float32(-1e30)
"""A missing value is less than all others."""
_COMBINATIONS = 256
"""Most combinations of intervals in one table."""
_SETS = np.arange(1 << LEAVES)
_FIRST = np.frexp(np.maximum(_SETS & -_SETS, 1))[1].astype(np.uint8) - 1
"""The first leaf in each set of leaves."""


def tree_inputs(features: Sequence[Feature], states: Floats) -> Single:
    """Inputs of the trees [n, P]: numbers and ranks unchanged, categories one-hot."""
    blocks = []
    for feature in features:
        column = _known(states[:, feature.index])[:, None]
        blocks.append(column == _values(feature) if feature.kind == "category" else column)
    return np.concatenate(blocks, axis=1, dtype=np.float32)


def _known(values: Floats) -> Single:
    """Numbers of any shape as inputs of the trees."""
    known: Single = values.astype(np.float32)
    known[np.isnan(values)] = MISSING
    return known


def _values(feature: Feature) -> Single:
    """The values of a category: missing, then the indices."""
    return np.array([MISSING, *range(len(feature.natives))], np.float32)[not feature.missing :]


class GrownTree(NamedTuple):
    """A tree of N nodes as scikit-learn grew it: a number passes to the left if it is at most the threshold."""

    left: Ints
    """[N] the left child, −1 in a leaf."""
    right: Ints
    """[N]"""
    feature: Ints
    """[N] the column of `tree_inputs`."""
    threshold: Floats
    """[N]"""
    value: Floats
    """[N] the output of a leaf."""


def gradient_boosted(model: Any) -> list[GrownTree]:
    """The trees of a fitted GradientBoostingClassifier with ``init="zero"``."""
    trees = (estimator.tree_ for estimator in model.estimators_[:, 0])
    return [
        GrownTree(
            tree.children_left,
            tree.children_right,
            tree.feature,
            tree.threshold,
            tree.value[:, 0, 0] * model.learning_rate,
        )
        for tree in trees
    ]


def histogram_boosted(model: Any) -> list[GrownTree]:
    """The trees of a fitted HistGradientBoostingRegressor without categorical columns; the first one has the mean."""
    trees = []
    for (predictor,) in model._predictors:
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(bool)
        left = np.where(leaf, -1, nodes["left"].astype(np.intp))
        right, feature = nodes["right"].astype(np.intp), nodes["feature_idx"].astype(np.intp)
        trees.append(GrownTree(left, right, feature, nodes["num_threshold"], nodes["value"].astype(float)))
    base = float(np.ravel(model._baseline_prediction)[0])
    return [trees[0]._replace(value=trees[0].value + base), *trees[1:]]


@dataclass(frozen=True)
class Trees:
    """The sum of T trees.

    Parameters
    ----------
    features : tuple of int
        Indices of the features that are tested, increasing.
    cuts : tuple of ndarray of shape (c,)
        Per tested feature: increasing upper bounds of its intervals, float32; a number on a bound lies below it.
    remaining : tuple of ndarray of shape (c + 1, T)
        Per tested feature: the leaves that its tests leave in each interval, uint16 masks.
    values : ndarray of shape (T, 16)
        Output of each leaf, float32.

    Raises
    ------
    SettingError
        If the arrays do not belong together.
    """

    features: tuple[int, ...]
    cuts: tuple[Single, ...]
    remaining: tuple[Bits, ...]
    values: Single

    def __post_init__(self) -> None:
        values = self.values
        if values.ndim != 2 or values.shape[1] != LEAVES or not len(values) or values.dtype != np.float32:
            raise SettingError(f"the leaves are a float32 array of shape (T, {LEAVES}), got {values.shape}")
        if not len(self.features) == len(self.cuts) == len(self.remaining) or min(self.features, default=0) < 0:
            raise SettingError("every feature that the trees test has cut points and leaves")
        for index, cuts, remaining in zip(self.features, self.cuts, self.remaining, strict=True):
            if cuts.ndim != 1 or cuts.dtype != np.float32 or not (cuts[:-1] < cuts[1:]).all() or np.isnan(cuts).any():
                raise SettingError(f"the cut points of the trees for feature {index} do not increase")
            if remaining.shape != (len(cuts) + 1, len(values)) or remaining.dtype != np.uint16:
                raise SettingError(f"the leaves of the trees for feature {index} do not match its cut points")

    @classmethod
    def mean_of(cls, features: Sequence[Feature], forests: Sequence[Sequence[GrownTree]]) -> Trees:
        """The mean of several `forests`, each a sum of trees that were grown on `tree_inputs`."""
        grown = [tree for forest in forests for tree in forest]
        values = np.zeros((len(grown), LEAVES), np.float32)
        tests: list[tuple[int, float, int, int]] = []
        for t, tree in enumerate(grown):
            leaves = _leaves(tree, t, tests)
            values[t, : len(leaves)] = tree.value[leaves] / len(forests)
        used: list[tuple[int, Single, Bits]] = []
        start = 0
        for feature in features:
            width = len(_values(feature)) if feature.kind == "category" else 1
            own = [test for test in tests if start <= test[0] < start + width]
            if own:
                cuts, columns = _intervals(feature, [threshold for _, threshold, *_ in own])
                used.append((feature.index, cuts, _table(columns, own, start, len(grown))))
            start += width
        indices, cut_points, remaining = zip(*used, strict=True) if used else ((), (), ())
        return cls(indices, cut_points, remaining, values)

    @classmethod
    def constant(cls, value: float) -> Trees:
        """One tree with one leaf."""
        return cls((), (), (), np.full((1, LEAVES), value, np.float32))

    def __call__(self, states: Floats) -> Single:
        """The sum of the trees' outputs [n] for `states` [n, F]."""
        result: Single = self._outputs(states).sum(axis=1)
        return result

    def per_forest(self, states: Floats, forests: int) -> Single:
        """The output [G, n] of each of the `forests` that these trees are the mean of, for `states` [n, F]."""
        outputs = self._outputs(states).reshape(len(states), forests, len(self.values) // forests)
        result: Single = forests * outputs.sum(axis=2).T
        return result

    def _outputs(self, states: Floats) -> Single:
        """The output of each tree [n, T]."""
        if not self.features:
            return np.repeat(self.values[None, :, 0], len(states), axis=0)
        known = _known(states.T[list(self.features)])
        intervals = [np.searchsorted(cuts, column) for cuts, column in zip(self.cuts, known, strict=True)]
        leaves: Bits | None = None
        for group, remaining in self._joint:
            place = intervals[group[0]]
            for member in group[1:]:
                place = place * len(self.remaining[member]) + intervals[member]
            rows = remaining.take(place, axis=0)
            leaves = rows if leaves is None else np.bitwise_and(leaves, rows, out=leaves)
        assert leaves is not None
        leaf = _FIRST.take(leaves) + np.arange(0, self.values.size, LEAVES)
        outputs: Single = self.values.ravel().take(leaf)
        return outputs

    @cached_property
    def _joint(self) -> list[tuple[list[int], Bits]]:
        """Groups of tested features (positions in `features`) with the leaves left in each combination of intervals.

        Combined tables need fewer lookups for each state; they stay small enough for the processor's cache.
        """
        groups: list[tuple[list[int], Bits]] = []
        for member in sorted(range(len(self.features)), key=lambda i: len(self.remaining[i])):
            remaining = self.remaining[member]
            if groups and len(groups[-1][1]) * len(remaining) <= _COMBINATIONS:
                before, table = groups[-1]
                joint = (table[:, None] & remaining).reshape(-1, len(self.values))
                groups[-1] = ([*before, member], joint)
            else:
                groups.append(([member], remaining))
        return groups

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Named arrays that `from_arrays` reads back."""
        arrays: dict[str, npt.NDArray[Any]] = {"values": self.values}
        for index, cuts, remaining in zip(self.features, self.cuts, self.remaining, strict=True):
            arrays |= {f"{index}.cuts": cuts, f"{index}.left": remaining}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Trees:
        """The inverse of `to_arrays`."""
        used = sorted(int(name.removesuffix(".cuts")) for name in arrays if name.endswith(".cuts"))
        cuts = tuple(arrays[f"{index}.cuts"] for index in used)
        return cls(tuple(used), cuts, tuple(arrays[f"{index}.left"] for index in used), arrays["values"])


def _leaves(tree: GrownTree, number: int, tests: list[tuple[int, float, int, int]]) -> list[int]:
    """The leaves of `tree` from left to right; appends its tests (column, threshold, tree, leaves if it fails)."""

    def below(node: int, first: int) -> list[int]:
        if tree.left[node] < 0:
            return [node]
        before = below(tree.left[node], first)
        excluded = ((1 << len(before)) - 1) << first
        tests.append((int(tree.feature[node]), float(tree.threshold[node]), number, _ALL & ~excluded))
        return before + below(tree.right[node], first + len(before))

    return below(0, 0)


def _intervals(feature: Feature, thresholds: Sequence[float]) -> tuple[Single, Floats]:
    """Upper bounds [c] of the intervals that the tests on a feature distinguish, and its columns [c + 1, W] in each."""
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
    """The leaves of each tree [c, T] that `tests` leave where their columns (from `start`) are `columns` [c, W]."""
    remaining = np.full((len(columns), trees), _ALL, np.uint16)
    for column, threshold, tree, leaves in tests:
        remaining[columns[:, column - start] > threshold, tree] &= np.uint16(leaves)
    return remaining
