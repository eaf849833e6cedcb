"""What the form of a page needs to know about people: ranges of numbers, and features that follow from others."""

from __future__ import annotations

import math

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Floats

_OUTLIERS = 0.005
"""Share of people below the range of a number, and of those above it."""
_AGREEING = 0.99
"""Least share of people whose value is the one computed from other features."""
_TOLERANCE = 1e-3
"""Largest relative difference of two numbers that count as equal."""


def value_ranges(problem: Problem, states: Floats) -> dict[str, tuple[float, float]]:
    """The range of each number in `states` [B, F] without outliers, rounded outwards to two digits of its width.

    The rounding also prevents that a range reveals the value of a person.
    """
    ranges = {}
    for feature in problem.features:
        known = states[:, feature.index]
        known = known[np.isfinite(known)]
        if feature.is_number and len(known):
            low, high = np.quantile(known, [_OUTLIERS, 1 - _OUTLIERS]).tolist()
            unit = 10.0 ** (math.floor(math.log10(high - low)) - 1) if high > low else 1.0
            unit = max(unit, 1.0) if feature.integer else unit
            outwards = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
            low, high = (float(f"{min(max(end, feature.low), feature.high):.10g}") for end in outwards)
            ranges[feature.name] = (low, high)
    return ranges


def derived_features(problem: Problem, states: Floats) -> tuple[str, ...]:
    """The features that follow from others by the causal graph, and do so in `states` [B, F] up to rounding."""
    transitions = problem.transitions
    computed = transitions.derive(states)
    names = []
    for cause in transitions.derived:
        feature, column = problem.features[cause.target], cause.target
        margin = 1.0 if feature.integer else 0.0
        equal = np.isclose(computed[:, column], states[:, column], rtol=_TOLERANCE, atol=margin, equal_nan=True)
        if not len(states) or equal.mean() >= _AGREEING:
            names.append(feature.name)
    return tuple(names)
