"""Conditional independence tests of causal-learn for columns of any kind.

The test is the chi-squared test on groups of values, within strata of people who are alike in what is conditioned on.
It needs no order of categories, finds dependences that are not monotone, and ignores the scale of a number.
Strata of a number are not quantiles, inside which both columns may still vary with it, but leaves of a tree
(`counterplan.causal.trees`) that describes one of the two columns: within a leaf that column no longer depends on what
is conditioned on, so that it is independent of the other column if and only if it is within leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, ncx2

from counterplan.causal.columns import GROUPS, DataColumn, Ints
from counterplan.causal.trees import describe
from counterplan.errors import SettingError

SMALL_EFFECT = 0.1
"""Cohen's w of a small effect: dependences below it are no reason for doubt."""
LEAST_VARIATION = 0.1
"""A column that varies less within strata, as a share, is taken for determined by what is conditioned on."""
EXPECTED = 5
"""Mean number of people in a cell of a table of counts, at least."""


@dataclass(frozen=True)
class IndependenceTest:
    """The result of a conditional independence test.

    Attributes
    ----------
    p_value : float
    effect : float
        Cohen's w, without what is expected of independent columns.
    count : int
        The number of people.
    degrees : int
        The degrees of freedom; 0 if there is nothing to test.
    given : tuple of str
        The columns that are conditioned on.
    variation : float
        The share of the variation (Gini impurity) of either column, the smaller, that remains within strata.
    """

    p_value: float
    effect: float
    count: int
    degrees: int
    given: tuple[str, ...] = ()
    variation: float = 1.0

    @property
    def informative(self) -> bool:
        """Whether there is something to test: neither column is determined by what is conditioned on."""
        return self.degrees > 0 and self.variation >= LEAST_VARIATION

    def dependent(self, alpha: float) -> bool:
        """Whether a dependence was found that is not negligible."""
        return self.p_value <= alpha and self.effect >= SMALL_EFFECT

    def power(self, alpha: float, effect: float = SMALL_EFFECT) -> float:
        """The probability to find a dependence of the given effect."""
        if not self.informative:
            return 0.0
        threshold = chi2.isf(alpha, self.degrees)
        return float(ncx2.sf(threshold, self.degrees, self.count * effect**2))


def load_test() -> Any:
    """The chi-squared test of causal-learn, `CIT(data, "chisq")`.

    Raises
    ------
    SettingError
        If causal-learn is not installed.
    """
    try:
        from causallearn.utils.cit import CIT
    except ImportError as error:
        raise SettingError(
            "questioning a causal graph needs causal-learn; pip install 'counterplan[causal]'"
        ) from error
    return CIT


def independence_test(first: DataColumn, second: DataColumn, given: Sequence[DataColumn] = ()) -> IndependenceTest:
    """Test whether two columns are independent given others, among the people who have all of these values.

    Of the two stratifications, by a tree for either column, the one with less evidence of a dependence counts.
    """
    names = tuple(column.name for column in given)
    known = np.logical_and.reduce([column.cells >= 0 for column in (first, second, *given)])
    first, second = first.take(known), second.take(known)
    given = [column.take(known) for column in given]
    if not given:
        return _test(first, second, np.zeros(len(first.cells), np.int64), names)
    results = [_test(first, second, describe(column, given).leaves, names) for column in (first, second)]
    return max(results, key=lambda result: result.p_value)


def _test(first: DataColumn, second: DataColumn, strata: Ints, names: tuple[str, ...]) -> IndependenceTest:
    """The chi-squared test within strata [B]."""
    count = len(strata)
    layers = int(strata.max(initial=0)) + 1
    most = int(np.clip(np.sqrt(count / (EXPECTED * layers)), 2, 10 * GROUPS))
    rows = np.column_stack([_coarse(first, most), _coarse(second, most), strata])
    table = np.zeros((layers, int(rows[:, 0].max(initial=0)) + 1, int(rows[:, 1].max(initial=0)) + 1))
    np.add.at(table, (strata, rows[:, 0], rows[:, 1]), 1.0)
    rows_used, columns_used = (table.sum(axis=2) > 0).sum(axis=1), (table.sum(axis=1) > 0).sum(axis=1)
    degrees = int(((rows_used - 1).clip(0) * (columns_used - 1).clip(0)).sum())
    if not degrees:
        return IndependenceTest(1.0, 0.0, count, 0, names)
    p_value = float(load_test()(rows, "chisq")(0, 1, [2] if layers > 1 else []))
    excess = _statistic(table) - degrees
    effect = float(np.sqrt(max(excess, 0.0) / count))
    return IndependenceTest(p_value, effect, count, degrees, names, min(_variation(table), _variation(table.mT)))


def _variation(table: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """The share of the Gini impurity of X in counts [S, X, Y] that remains within strata."""
    layers = table.sum(axis=2)
    sizes = np.maximum(layers.sum(axis=1), 1)
    whole = layers.sum(axis=0) / layers.sum()
    within = float((sizes - (layers**2).sum(axis=1) / sizes).sum()) / float(layers.sum())
    return within / max(1 - float((whole**2).sum()), 1e-12)


def _statistic(table: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """The chi-squared statistic of counts [S, X, Y] within strata."""
    total = table.sum(axis=(1, 2), keepdims=True)
    expected = table.sum(axis=2, keepdims=True) * table.sum(axis=1, keepdims=True) / np.maximum(total, 1)
    used = expected > 0
    return float(((table - expected)[used] ** 2 / expected[used]).sum())


def _coarse(column: DataColumn, most: int) -> Ints:
    """[B] The group of each person, at most `most` of them: neighbours are merged, or rare categories pooled."""
    groups = column.groups[column.cells]
    counts = np.bincount(groups, minlength=column.group_count)
    if len(counts) <= most:
        return groups
    if column.ordered:
        middle = np.cumsum(counts) - counts / 2
        merged = (middle * most / max(counts.sum(), 1)).astype(np.int64).clip(0, most - 1)
    else:
        merged = np.full(len(counts), most - 1)
        merged[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(most - 1)
    coarse: Ints = merged[groups]
    return coarse
