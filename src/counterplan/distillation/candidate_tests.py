"""Candidate tests of trees: thresholds, values of categories, and whether a value is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from counterplan.problem import Feature
from counterplan.problem.transitions import Floats
from counterplan.program.parts import Test


def candidate_tests(features: Sequence[Feature], states: Floats, max_thresholds: int) -> list[Test]:
    """The tests that distinguish some of `states` [n, F], with at most `max_thresholds` for a number."""
    tests: list[Test] = []
    for feature in features:
        column = states[:, feature.index]
        known = np.unique(column[~np.isnan(column)])
        if feature.is_number:
            cuts = thresholds(known, column, feature.integer, max_thresholds)
            tests += [Test(feature.index, at_least=cut) for cut in cuts]
        else:
            if feature.kind == "ordered":
                tests += [Test(feature.index, at_least=float(rank)) for rank in known[1:]]
            if len(known) > 1:
                tests += [Test(feature.index, among=(int(value),)) for value in known]
        if len(known) and np.isnan(column).any():
            tests.append(Test(feature.index))
    return tests


def thresholds(known: Floats, column: Floats, integer: bool, most: int) -> list[float]:
    """Round numbers between the distinct values `known`; if these are many, between quantiles of `column` [n]."""
    if len(known) < 2:
        return []
    ends = known
    if len(known) - 1 > most:
        ends = np.unique(np.quantile(column[~np.isnan(column)], np.linspace(0, 1, most + 1)))
    cuts = [roundest(float(low), float(high), integer) for low, high in pairwise(ends)]
    return sorted({cut for cut in cuts if known[0] < cut <= known[-1]})


def roundest(low: float, high: float, integer: bool) -> float:
    """The number with the fewest digits in (low, high], and the closest to the middle among these."""
    middle = (low + high) / 2
    for digits in range(-12, 13):
        scale = 10.0**digits
        scaled = middle * scale
        if not math.isfinite(scaled):
            break
        for rounding in (round, math.ceil, math.floor):
            cut = math.copysign(rounding(scaled), scaled) / scale
            if low < cut <= high and (not integer or cut.is_integer()):
                return cut
    return high


def digits_of(number: float) -> int:
    """The number of significant digits."""
    return len(f"{abs(number):.12g}".replace(".", "").strip("0"))


def digits_in(test: Test, feature: Feature) -> int:
    """The number of digits in the threshold of a test; a rank is written as a name and has none."""
    return digits_of(test.at_least) if feature.is_number and test.at_least is not None else 0
