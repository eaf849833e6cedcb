"""Intervals against the literature, against scipy, and in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from counterplan.audit.intervals import (
    clopper_pearson,
    fisher,
    holm,
    mann_whitney,
    mean_interval,
    median_difference,
    newcombe,
    quantile_interval,
    share_interval,
    wilson,
)

COUNTS = st.integers(0, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS.filter(lambda pair: pair[1] > 0), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_is_that_of_scipy(pair: tuple[int, int], level: float) -> None:
    low, high = wilson([pair[0]], [pair[1]], level)
    expected = stats.binomtest(*pair).proportion_ci(level, method="wilson")
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(COUNTS.filter(lambda pair: pair[1] > 0), st.sampled_from([0.8, 0.95, 0.99]))
def test_clopper_pearson_is_that_of_scipy(pair: tuple[int, int], level: float) -> None:
    low, high = clopper_pearson([pair[0]], [pair[1]], level)
    expected = stats.binomtest(*pair).proportion_ci(level, method="exact")
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize(("level", "least"), [(0.95, 0.93), (0.9995, 0.998)])
@pytest.mark.parametrize("people", [10, 13, 30, 51, 100])
def test_shares_are_covered_wherever_they_are(people: int, level: float, least: float) -> None:
    """Computed, not simulated: Wilson's interval alone covers 84 % of shares of 0.17 / n."""
    share, count = np.linspace(0.0005, 0.9995, 1000), np.arange(people + 1)[:, None]
    low, high = share_interval(count, np.full(count.shape, people), level)
    covered = (stats.binom.pmf(count, people, share) * ((low <= share) & (share <= high))).sum(axis=0)
    assert covered.min() >= least


def test_shares_of_many_people_have_the_interval_of_wilson() -> None:
    assert np.array_equal(share_interval([15, 40], [55, 100]), wilson([15, 40], [55, 100]))
    assert share_interval([14], [55])[0] < wilson([14], [55])[0]


def test_nobody_has_no_interval() -> None:
    assert np.isnan(wilson([0], [0])).all()
    assert np.isnan(share_interval([0], [0])).all()
    assert np.isnan(newcombe(([0], [0]), ([1], [2]))).all()
    assert np.isnan(quantile_interval(np.array([]), 0.5)).all()
    assert np.isnan(median_difference(np.array([]), np.array([1.0]))).all()
    assert np.isnan(mean_interval(np.array([1.0]))).all()
    assert np.isnan(fisher((0, 0), (1, 2)))
    assert np.isnan(mann_whitney(np.array([]), np.array([1.0])))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((10, 10), (0, 20), (0.6791, 1.0)),
    ],
)
def test_newcombe_is_that_of_the_paper(
    first: tuple[int, int], second: tuple[int, int], expected: tuple[float, float]
) -> None:
    """Newcombe 1998, Statistics in Medicine 17, table II, method 10."""
    low, high = newcombe(([first[0]], [first[1]]), ([second[0]], [second[1]]), interval=wilson)
    assert (low[0], high[0]) == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize("shares", [(0.02, 0.05), (0.5, 0.5), (0.9, 0.98), (0.05, 0.9)])
def test_differences_of_shares_are_covered_in_small_groups(shares: tuple[float, float]) -> None:
    first, second = np.meshgrid(np.arange(11), np.arange(11), indexing="ij")
    ten = np.full(first.shape, 10)
    low, high = newcombe((first, ten), (second, ten))
    chance = stats.binom.pmf(first, 10, shares[0]) * stats.binom.pmf(second, 10, shares[1])
    difference = shares[0] - shares[1]
    assert chance[(low <= difference + 1e-12) & (difference - 1e-12 <= high)].sum() >= 0.93


@given(COUNTS.filter(lambda pair: pair[1] > 0), COUNTS.filter(lambda pair: pair[1] > 0))
def test_fisher_is_that_of_scipy(first: tuple[int, int], second: tuple[int, int]) -> None:
    table = [[first[0], first[1] - first[0]], [second[0], second[1] - second[0]]]
    assert fisher(first, second) == pytest.approx(stats.fisher_exact(table).pvalue, abs=1e-9)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=20), st.lists(st.integers(0, 6), min_size=1, max_size=20))
def test_mann_whitney_is_that_of_scipy(first: list[int], second: list[int]) -> None:
    if len({*first, *second}) == 1:
        assert mann_whitney(np.array(first, float), np.array(second, float)) == 1
        return
    expected = stats.mannwhitneyu(first, second, method="asymptotic").pvalue
    assert mann_whitney(np.array(first, float), np.array(second, float)) == pytest.approx(expected, abs=1e-9)


def test_holm_corrects_for_the_comparisons_that_were_made() -> None:
    assert holm([0.01, np.nan, 0.04, 0.03])[[0, 2, 3]] == pytest.approx([0.03, 0.06, 0.06])
    assert np.isnan(holm([np.nan])[0])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]


def test_a_quantile_without_a_bound_is_open() -> None:
    few = np.arange(10.0)
    low, high = quantile_interval(few, 0.9)
    assert np.isfinite(low)
    assert high == np.inf
    assert quantile_interval(few, 0.25)[0] == -np.inf
    assert np.isfinite(quantile_interval(few, 0.5)).all()


def test_intervals_cover() -> None:
    rng = np.random.default_rng(1)
    inside, repeats = {"quantile": 0, "difference": 0, "mean": 0}, 400
    for _ in range(repeats):
        first, second = rng.lognormal(1, 1, 24), rng.lognormal(1, 1, 60)
        low, high = quantile_interval(first, 0.75)
        inside["quantile"] += low <= np.exp(1 + 0.6744898) <= high
        low, high = median_difference(first, second, rng=rng)
        inside["difference"] += low <= 0 <= high
    for _ in range(repeats // 4):
        low, high = mean_interval(rng.beta(4, 2, 30), rng=rng)
        inside["mean"] += 4 * (low <= 4 / 6 <= high)
    assert min(inside.values()) / repeats >= 0.91, inside


def test_constant_values_have_intervals_of_one_point() -> None:
    assert quantile_interval(np.full(50, 3.0), 0.5) == (3.0, 3.0)
    assert median_difference(np.full(20, 3.0), np.full(20, 1.0)) == (2.0, 2.0)


@pytest.mark.parametrize(
    "chances",
    [
        [0.568629150101524] * 19 + [0.4],
        [0.1] * 12 + [0.3] * 2,
        [0.99] * 10 + [0.2],
        [0.0] * 10 + [0.2],
        [0.7] * 20,
        [1.0] * 12,
        [0.0] * 12,
        [0.2, 0.4, 0.6, 0.8, 1.0] * 3,
        [1.0] * 120_000,
        [0.4] * 120_000 + [0.6],
    ],
)
def test_the_interval_of_a_mean_chance_contains_it_and_is_a_chance(chances: list[float]) -> None:
    low, high = mean_interval(np.array(chances))
    assert 0 <= low <= np.mean(chances) <= high <= 1
    assert low < high


@pytest.mark.parametrize(("rare", "often", "share"), [(0.4, 0.57, 0.05), (0.0, 1.0, 0.1), (0.2, 0.99, 0.15)])
def test_intervals_of_mean_chances_cover_where_few_people_differ(rare: float, often: float, share: float) -> None:
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(200):
        low, high = mean_interval(np.where(rng.random(15) < share, rare, often), rng=rng)
        inside += low <= share * rare + (1 - share) * often <= high
    assert inside >= 0.93 * 200
