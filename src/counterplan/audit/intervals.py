"""Confidence intervals of shares, quantiles and differences, and tests corrected for the number of comparisons.

All functions are pure. Those of shares are vectorised over groups [G].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, gammaln, ndtr, ndtri

from counterplan.problem.transitions import Floats

ShareInterval = Callable[[npt.ArrayLike, npt.ArrayLike, float], tuple[Floats, Floats]]
"""Returns the ends of intervals of shares, by successes, trials and level."""
RESAMPLES = 4_000
"""Bootstrap samples of intervals that have no closed form."""
MOST_RESAMPLED = 100_000
"""Values beyond which a mean has a normal interval, which that of the bootstrap approaches."""
FEW_PEOPLE = 15
"""People with, or without, an outcome, below which Wilson's intervals of a share cover too rarely."""
_CHUNK = 2_000_000
"""Most numbers that are drawn at a time."""


def wilson(successes: npt.ArrayLike, trials: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson score interval of a share.

    Parameters
    ----------
    successes, trials : array-like of shape [G]
    level : float, default=0.95

    Returns
    -------
    low, high : arrays of shape [G]
        NaN where there are no trials.

    Examples
    --------
    >>> low, high = wilson([8], [10])
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.49, 0.943)
    """
    count, total = np.asarray(successes, float), np.asarray(trials, float)
    z = float(ndtri(0.5 + level / 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = count / total
        middle = (share + z**2 / (2 * total)) / (1 + z**2 / total)
        half = z * np.sqrt(share * (1 - share) / total + z**2 / (4 * total**2)) / (1 + z**2 / total)
        low = np.where(count == 0, 0.0, middle - half)
        high = np.where(count == total, 1.0, middle + half)
    known = total > 0
    return np.where(known, np.maximum(low, 0), np.nan), np.where(known, np.minimum(high, 1), np.nan)


def clopper_pearson(successes: npt.ArrayLike, trials: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Clopper and Pearson's exact interval of a share, which covers at least as often as `level` says.

    Parameters
    ----------
    successes, trials : array-like of shape [G]
    level : float, default=0.95

    Returns
    -------
    low, high : arrays of shape [G]
        NaN where there are no trials.

    Examples
    --------
    >>> low, high = clopper_pearson([8], [10])
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.444, 0.975)
    """
    count, total = np.asarray(successes, float), np.asarray(trials, float)
    others, tail = total - count, (1 - level) / 2
    low = np.where(count == 0, 0.0, betaincinv(np.maximum(count, 1), others + 1, tail))
    high = np.where(others == 0, 1.0, betaincinv(count + 1, np.maximum(others, 1), 1 - tail))
    return np.where(total > 0, low, np.nan), np.where(total > 0, high, np.nan)


def share_interval(successes: npt.ArrayLike, trials: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's interval of a share, widened to Clopper and Pearson's where few people have, or lack, the outcome.

    Wilson's intervals of 95 % cover 84 % at worst, whatever the number of people, if the share is near 0 or 1, and
    those of 99.95 % as a correction for 100 comparisons needs them, 93 %. The wider ones are taken if fewer than
    `FEW_PEOPLE` people have, or do not have, the outcome: then the worst coverage is 93 % for 10 people or more.

    Parameters
    ----------
    successes, trials : array-like of shape [G]
    level : float, default=0.95

    Returns
    -------
    low, high : arrays of shape [G]
        NaN where there are no trials.

    Examples
    --------
    >>> low, high = share_interval([8, 80], [10, 100])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.444, 0.711], [0.975, 0.867])
    """
    count, total = np.asarray(successes, float), np.asarray(trials, float)
    (low, high), (exact_low, exact_high) = wilson(count, total, level), clopper_pearson(count, total, level)
    few = np.minimum(count, total - count) < FEW_PEOPLE
    return np.where(few, np.minimum(low, exact_low), low), np.where(few, np.maximum(high, exact_high), high)


def newcombe(
    first: tuple[npt.ArrayLike, npt.ArrayLike],
    second: tuple[npt.ArrayLike, npt.ArrayLike],
    level: float = 0.95,
    interval: ShareInterval = share_interval,
) -> tuple[Floats, Floats]:
    """Newcombe's hybrid interval of the difference of two independent shares, first minus second.

    It combines the intervals of both shares; with Wilson's, it is method 10 of Newcombe (1998).

    Parameters
    ----------
    first, second : tuple of (successes, trials)
        Array-like of shape [G].
    level : float, default=0.95
    interval : callable, default=share_interval
        The interval of a share.

    Returns
    -------
    low, high : arrays of shape [G]
        NaN where a group has no trials.

    Examples
    --------
    >>> low, high = newcombe(([56], [70]), ([48], [80]), interval=wilson)
    >>> round(float(low[0]), 4), round(float(high[0]), 4)
    (0.0524, 0.3339)
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = [np.asarray(count, float) / np.asarray(total, float) for count, total in (first, second)]
    (low_1, high_1), (low_2, high_2) = interval(*first, level), interval(*second, level)
    share_1, share_2 = shares
    difference = share_1 - share_2
    low = difference - np.sqrt((share_1 - low_1) ** 2 + (high_2 - share_2) ** 2)
    high = difference + np.sqrt((high_1 - share_1) ** 2 + (share_2 - low_2) ** 2)
    return low, high


def fisher(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Two-sided p-value of Fisher's exact test that two shares are equal.

    Parameters
    ----------
    first, second : tuple of (successes, trials)

    Returns
    -------
    float
        NaN if a group is empty.

    Examples
    --------
    >>> round(fisher((8, 10), (1, 6)), 4)
    0.035
    """
    (a, n), (c, m) = first, second
    if not n or not m:
        return np.nan
    successes = a + c
    counts = np.arange(max(0, successes - m), min(n, successes) + 1)
    log_chance = _log_choose(n, counts) + _log_choose(m, successes - counts)
    chance = np.exp(log_chance - log_chance.max())
    observed = chance[a - counts[0]]
    return float(min(1.0, chance[chance <= observed * (1 + 1e-7)].sum() / chance.sum()))


def _log_choose(total: int, chosen: npt.NDArray[np.integer]) -> Floats:
    result: Floats = gammaln(total + 1) - gammaln(chosen + 1) - gammaln(total - chosen + 1)
    return result


def mann_whitney(first: Floats, second: Floats) -> float:
    """Two-sided p-value of the Mann–Whitney test, by its normal approximation with corrections for ties and continuity.

    Parameters
    ----------
    first, second : arrays of shape [n] and [m]

    Returns
    -------
    float
        NaN if a sample is empty.
    """
    n, m = len(first), len(second)
    if not n or not m:
        return np.nan
    _, place, counts = np.unique(np.concatenate([first, second]), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[place]
    statistic = ranks[:n].sum() - n * (n + 1) / 2
    total = n + m
    ties = float((counts.astype(float) ** 3 - counts).sum()) / (total * (total - 1)) if total > 1 else 0.0
    variance = n * m / 12 * (total + 1 - ties)
    if variance <= 0:
        return 1.0
    score = max(0.0, abs(statistic - n * m / 2) - 0.5) / np.sqrt(variance)
    return float(min(1.0, 2 * ndtr(-score)))


def share_higher(first: Floats, second: Floats) -> float:
    """Share of pairs in which the value of the first sample is the higher one; ties count half.

    Parameters
    ----------
    first, second : arrays of shape [n] and [m]

    Returns
    -------
    float
        NaN if a sample is empty. The Mann–Whitney test is about its difference from one half.

    Examples
    --------
    >>> share_higher(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.875
    """
    if not len(first) or not len(second):
        return np.nan
    ordered = np.sort(second)
    below, not_above = (np.searchsorted(ordered, first, side=side) for side in ("left", "right"))
    return float((below + not_above).mean() / (2 * len(second)))


def holm(p_values: npt.ArrayLike) -> Floats:
    """Holm's adjusted p-values; NaN is not a comparison.

    Parameters
    ----------
    p_values : array-like of shape [m]

    Returns
    -------
    array of shape [m]
        Those of at most 1 - level control the chance of any false difference.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, float)
    adjusted = np.full(given.shape, np.nan)
    known = np.flatnonzero(~np.isnan(given))
    order = known[np.argsort(given[known], kind="stable")]
    factors = len(known) - np.arange(len(known))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(given[order] * factors))
    return adjusted


def quantile_interval(values: Floats, quantile: float, level: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval of a quantile, computed exactly instead of by resampling.

    A quantile of a bootstrap sample is an order statistic of the sample, whose position follows a beta distribution.
    The interval is between the percentiles of this distribution, each moved outwards by one order statistic, because
    the percentiles alone cover too rarely in small samples.

    Parameters
    ----------
    values : array of shape [n]
    quantile : float
        Above 0 and below 1.
    level : float, default=0.95

    Returns
    -------
    low, high : float
        Infinite on a side where so few values give no bound; NaN without values.

    Examples
    --------
    >>> quantile_interval(np.arange(1.0, 101.0), 0.5)
    (40.0, 61.0)
    """
    n, tail = len(values), (1 - level) / 2
    if not n:
        return np.nan, np.nan
    ordered = np.sort(values)
    place = n * quantile + 0.5
    first, last = (int(np.ceil(n * betaincinv(place, n + 1 - place, chance))) for chance in (tail, 1 - tail))
    first, last = first - 1, last + 1
    low = -np.inf if first < 1 or (1 - quantile) ** n > tail else float(ordered[first - 1])
    high = np.inf if last > n or quantile**n > tail else float(ordered[last - 1])
    return low, high


def median_difference(
    first: Floats, second: Floats, level: float = 0.95, rng: np.random.Generator | None = None
) -> tuple[float, float]:
    """Bootstrap interval of the difference of two medians, first minus second.

    Bootstrap medians are drawn from their exact distribution, as in `quantile_interval`, and the interval is between
    percentiles of their differences.

    Parameters
    ----------
    first, second : arrays of shape [n] and [m]
    level : float, default=0.95
    rng : numpy.random.Generator, optional

    Returns
    -------
    low, high : float
        NaN if a sample is empty.
    """
    if not len(first) or not len(second):
        return np.nan, np.nan
    rng = rng or np.random.default_rng(0)
    differences = _bootstrap_medians(first, rng) - _bootstrap_medians(second, rng)
    tail = (1 - level) / 2
    low, high = np.quantile(differences, tail, method="lower"), np.quantile(differences, 1 - tail, method="higher")
    return float(low), float(high)


def _bootstrap_medians(values: Floats, rng: np.random.Generator) -> Floats:
    """Medians [RESAMPLES] of bootstrap samples of `values` [n]."""
    n = len(values)
    place = np.ceil(n * rng.beta((n + 1) / 2, (n + 1) / 2, RESAMPLES)).astype(np.intp) - 1
    medians: Floats = np.sort(values)[place]
    return medians


def mean_interval(values: Floats, level: float = 0.95, rng: np.random.Generator | None = None) -> tuple[float, float]:
    """Interval of the mean of chances: of the studentised bootstrap; of many chances, the normal interval.

    If more than 1 % of the bootstrap samples consist of a single value, too few people differ for a bootstrap. The
    interval is then that of Clopper and Pearson with the sum of the chances as the number of successes, because no
    values from 0 to 1 vary more than outcomes of the same mean.

    Parameters
    ----------
    values : array of shape [n]
        Chances, from 0 to 1.
    level : float, default=0.95
    rng : numpy.random.Generator, optional

    Returns
    -------
    low, high : float
        From 0 to 1; NaN with fewer than two values.
    """
    n = len(values)
    if n < 2:
        return np.nan, np.nan
    mean, error_of_mean = float(values.mean()), float(values.std(ddof=1)) / np.sqrt(n)
    tail = (1 - level) / 2
    if n > MOST_RESAMPLED and (np.unique(values, return_counts=True)[1].max() / n) ** n > 0.01:
        return _clopper_pearson_ends(n * mean, n, tail)
    if n > MOST_RESAMPLED:
        half = float(ndtri(0.5 + level / 2)) * error_of_mean
        return max(0.0, mean - half), min(1.0, mean + half)
    rng = rng or np.random.default_rng(0)
    scores: list[Floats] = []
    for count in _portions(n):
        drawn = values[rng.integers(0, n, (count, n))]
        varied = drawn.max(axis=1) > drawn.min(axis=1)
        error = drawn[varied].std(axis=1, ddof=1) / np.sqrt(n)
        scores.append((drawn[varied].mean(axis=1) - mean) / error)
    studentised = np.concatenate(scores)
    if len(studentised) < 0.99 * RESAMPLES:
        low, high = _clopper_pearson_ends(n * mean, n, tail)
    else:
        low, high = (mean - float(score) * error_of_mean for score in np.quantile(studentised, [1 - tail, tail]))
    return max(0.0, low), min(1.0, high)


def _clopper_pearson_ends(successes: float, trials: int, tail: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a mean of values from 0 to 1 whose sum, `successes`, need not be whole."""
    others = trials - successes
    low = float(betaincinv(successes, others + 1, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, others, 1 - tail)) if others > 0 else 1.0
    return low, high


def _portions(n: int) -> list[int]:
    """Numbers of bootstrap samples of `n` values to draw at a time."""
    most = max(1, _CHUNK // n)
    return [most] * (RESAMPLES // most) + ([RESAMPLES % most] if RESAMPLES % most else [])
