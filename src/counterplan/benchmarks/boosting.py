"""Boosted trees as the black box of a benchmark: trained with scikit-learn, stored and evaluated as NumPy arrays.

For each feature, the thresholds of all trees divide its values into bins. A bit mask for each bin and tree marks the
leaves that a value in that bin can still reach; the leaf of a state is the first one in the conjunction of its masks
(the QuickScorer algorithm, Lucchese et al., 2015).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from counterplan.benchmarks.models import Recipe, TrainedModel
from counterplan.problem import Feature, Problem
from counterplan.problem.transitions import Bools, Floats, Ints

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

MAX_LEAVES = 16
_CHUNK = 4_096
"""States evaluated at a time, so that intermediate arrays remain in the processor's cache."""
_NUMBERS = np.arange(2**MAX_LEAVES)
_FIRST_BIT = (np.frexp(_NUMBERS & -_NUMBERS)[1] - 1).astype(np.int8)
"""The position of the lowest set bit of each 16-bit number, -1 for 0."""
_ALL = np.uint16(2**MAX_LEAVES - 1)
Masks = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class BoostedTrees:
    """The decision function of T trees with at most L leaves over the F features of a state.

    Attributes
    ----------
    baseline : float
        The decision before the first tree.
    leaves : numpy.ndarray of shape (T, L)
        The value of each leaf, from left to right.
    thresholds : tuple of F arrays
        The sorted thresholds of each feature; of a category its values 0, 1, ….
    masks : tuple of F arrays of shape (bins, T)
        The leaves that remain for each bin: one more than thresholds, and a last one for missing values.
    """

    baseline: float
    leaves: Floats
    thresholds: tuple[Floats, ...]
    masks: tuple[Masks, ...]

    @classmethod
    def from_estimator(cls, estimator: Any, features: tuple[Feature, ...]) -> BoostedTrees:
        """Extract the trees of a fitted HistGradientBoostingClassifier with two classes.

        Parameters
        ----------
        estimator : HistGradientBoostingClassifier
            Fitted on the output of `with_categories`, or on states if it has no categorical features.
        features : tuple of Feature
            The features of its states.
        """
        order, codes = _encoding(estimator, features)
        trees = [_splits(trees[0], order) for trees in estimator._predictors]
        leaves = np.zeros((len(trees), MAX_LEAVES))
        thresholds, masks = [], []
        for i in range(len(features)):
            numbers = {split.threshold for splits, _ in trees for split in splits if split.feature == i}
            marks = np.array(sorted(numbers)) if i not in codes else np.arange(float(len(codes[i])))
            mask = np.full((len(marks) + 2, len(trees)), _ALL, np.uint16)
            for row, (splits, values) in enumerate(trees):
                leaves[row, : len(values)] = values
                for split in splits:
                    if split.feature == i:
                        mask[~split.goes_left(marks, codes.get(i)), row] &= _ALL ^ np.uint16(split.left_leaves)
            thresholds.append(marks)
            masks.append(mask)
        return cls(float(np.ravel(estimator._baseline_prediction)[0]), leaves, tuple(thresholds), tuple(masks))

    def decision(self, states: Floats) -> Floats:
        """The log odds [B] of `states` [B, F], bit for bit those of the estimator."""
        parts = [self._decision(states[i : i + _CHUNK]) for i in range(0, len(states), _CHUNK)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _decision(self, states: Floats) -> Floats:
        reached = np.full((len(states), len(self.leaves)), _ALL, np.uint16)
        for column, thresholds, masks in zip(states.T, self.thresholds, self.masks, strict=True):
            bins = np.where(np.isnan(column), len(masks) - 1, np.searchsorted(thresholds, column))
            reached &= masks.take(bins, axis=0)
        values = self.leaves.take(_FIRST_BIT.take(reached) + MAX_LEAVES * np.arange(len(self.leaves)))
        total = np.full(len(states), self.baseline)
        for column in values.T:  # in the order of the trees: a sum over an axis may have another rounding error
            total += column
        return total

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Serialize to arrays by name."""
        named: dict[str, npt.NDArray[Any]] = {"baseline": np.array(self.baseline), "leaves": self.leaves}
        for i, (thresholds, masks) in enumerate(zip(self.thresholds, self.masks, strict=True)):
            named |= {f"thresholds_{i}": thresholds, f"masks_{i}": masks}
        return named

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> BoostedTrees:
        """The inverse of `to_arrays`."""
        count = sum(name.startswith("masks_") for name in arrays)
        thresholds = tuple(arrays[f"thresholds_{i}"] for i in range(count))
        masks = tuple(arrays[f"masks_{i}"] for i in range(count))
        return cls(float(arrays["baseline"]), arrays["leaves"], thresholds, masks)

    def fits(self, problem: Problem) -> bool:
        """Whether shapes and values are valid for `problem`."""
        count = len(self.leaves)
        bins = [len(thresholds) + 2 for thresholds in self.thresholds]
        return (
            len(self.thresholds) == len(problem.features)
            and self.leaves.shape == (count, MAX_LEAVES)
            and [masks.shape for masks in self.masks] == [(number, count) for number in bins]
            and all(masks.dtype == np.uint16 for masks in self.masks)
            and bool(np.isfinite(self.leaves).all() and np.isfinite(self.baseline))
            and all(bool((np.diff(thresholds) > 0).all()) for thresholds in self.thresholds)
        )


class BoostedModel(TrainedModel):
    """Boosted trees on states; `bias` is added to the log odds."""

    def __init__(self, problem: Problem, trees: BoostedTrees, *, bias: float = 0.0, threshold: float = 0.5) -> None:
        super().__init__(problem, threshold=threshold)
        self.trees = trees
        self.bias = bias
        parts = [*trees.to_arrays().values(), np.array([bias, threshold])]
        digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
        self.name = f"{self.name} ({digest[:8]})"  # cached outputs belong to one model

    def score(self, states: Floats) -> Floats:
        """The probability [B] that `states` [B, F] are favourable."""
        chance: Floats = 1 / (1 + np.exp(-self.trees.decision(states) - self.bias))
        return chance

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The trained parameters by name."""
        return self.trees.to_arrays()


@dataclass(frozen=True)
class BoostingRecipe(Recipe):
    """Hyperparameters of a benchmark's boosted trees, and the decision threshold on their scores."""

    threshold: float = 0.5
    """The least probability of the favourable outcome that a favourable decision requires."""
    trees: int = 100
    leaves: int = 8
    rate: float = 0.1
    least: int = 20
    """The least number of people in a leaf."""
    kind = "Boosting"

    def estimator(self, seed: int) -> HistGradientBoostingClassifier:
        """The unfitted classifier; it takes categories and missing values as they are."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            learning_rate=self.rate,
            max_iter=self.trees,
            max_leaf_nodes=self.leaves,
            min_samples_leaf=self.least,
            categorical_features="from_dtype",
            early_stopping=False,
            random_state=seed,
        )

    def fit(self, problem: Problem, states: Floats, favourable: Bools, seed: int) -> BoostedModel:
        """Train on `states` [B, F] with outcomes `favourable` [B]; deterministic for a seed."""
        with threadpool_limits(1):  # sums over several threads have other rounding errors
            estimator = self.estimator(seed).fit(with_categories(problem.features, states), favourable)
        return self._model(problem, BoostedTrees.from_estimator(estimator, problem.features))

    def restore(self, problem: Problem, arrays: dict[str, npt.NDArray[Any]]) -> BoostedModel | None:
        """The model with the parameters `arrays`; None if they are invalid."""
        trees = BoostedTrees.from_arrays(arrays)
        return self._model(problem, trees) if trees.fits(problem) and len(trees.leaves) == self.trees else None

    def _model(self, problem: Problem, trees: BoostedTrees) -> BoostedModel:
        return BoostedModel(problem, trees, threshold=self.threshold)


def with_categories(features: Sequence[Feature], states: Floats) -> pd.DataFrame:
    """Convert `states` [B, F] to a table of floats and pandas categoricals."""
    return pd.DataFrame({feature.name: _typed(feature, states[:, feature.index]) for feature in features})


def _typed(feature: Feature, column: Floats) -> Floats | pd.Categorical[str]:
    if feature.is_number:
        return column
    codes = np.where(np.isnan(column), -1, column).astype(np.intp)
    return pd.Categorical.from_codes(codes, categories=pd.Index(feature.values))


@dataclass(frozen=True)
class _Split:
    """An inner node of a tree."""

    feature: int
    left_leaves: int
    """Bit mask of the leaves of the left child's subtree."""
    missing_left: bool
    threshold: float
    left_codes: frozenset[int] | None
    """The codes of the categories that go left; None for a number."""

    def goes_left(self, thresholds: Floats, codes: Sequence[int | None] | None) -> Bools:
        """Whether each bin [len(thresholds) + 2] goes left; the last one is for missing values.

        `codes` are those of the values of a category, None for values that were not in the training data.
        """
        left = np.full(len(thresholds) + 2, self.missing_left)
        if self.left_codes is None or codes is None:
            left[:-1] = np.arange(len(thresholds) + 1) <= np.searchsorted(thresholds, self.threshold)
        else:
            for value, code in enumerate(codes):
                if code is not None:
                    left[value] = code in self.left_codes
        return left


def _splits(tree: Any, order: Ints) -> tuple[list[_Split], Floats]:
    """The inner nodes of a tree of scikit-learn, and the values [L] of its leaves from left to right."""
    nodes, splits, values = tree.nodes, [], []

    def visit(index: int) -> int:
        """Append a subtree; returns the bit mask of its leaves."""
        node = nodes[index]
        if node["is_leaf"]:
            values.append(node["value"])
            return 1 << (len(values) - 1)
        left, right = visit(int(node["left"])), visit(int(node["right"]))
        codes = _bits(tree.raw_left_cat_bitsets[node["bitset_idx"]]) if node["is_categorical"] else None
        feature, missing_left = int(order[node["feature_idx"]]), bool(node["missing_go_to_left"])
        splits.append(_Split(feature, left, missing_left, float(node["num_threshold"]), codes))
        return left | right

    visit(0)
    return splits, np.array(values, np.float64)


def _bits(words: npt.NDArray[np.uint32]) -> frozenset[int]:
    """The positions of the set bits of a bit set in words of 32 bits."""
    return frozenset(32 * i + bit for i, word in enumerate(words.tolist()) for bit in range(32) if word >> bit & 1)


def _encoding(estimator: Any, features: Sequence[Feature]) -> tuple[Ints, dict[int, list[int | None]]]:
    """The feature of each of the estimator's columns, and the codes of the values of each categorical feature.

    The estimator moves categorical features to the front and encodes the values of its training data in their order.
    """
    if estimator.is_categorical_ is None:
        return np.arange(len(features)), {}
    categorical = np.flatnonzero(estimator.is_categorical_)
    known = estimator._preprocessor.named_transformers_["encoder"].categories_
    codes: dict[int, list[int | None]] = {}
    for feature, categories in zip(categorical.tolist(), known, strict=True):
        code = {value: i for i, value in enumerate(categories)}
        codes[feature] = [code.get(value) for value in features[feature].values]
    return np.concatenate([categorical, np.flatnonzero(~estimator.is_categorical_)]), codes
