"""Fit of a scorecard's entries to the predictions of a surrogate: an additive logistic model, rounded to integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterplan.distillation.scorecard_bins import NumberEffect, candidate_edges, merge_bins
from counterplan.errors import PeopleError
from counterplan.problem import Feature, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.scorecard import CardFeature
from counterplan.search.odds import sigmoid

_LARGEST_LOGIT = 8.0
_ITERATIONS = 40
_TOLERANCE = 1e-6
_LARGEST_STEP = 3.0


@dataclass(frozen=True)
class ScorecardFitSettings:
    """Settings of the fit of a scorecard.

    Parameters
    ----------
    max_bins : int, default=7
        Most bins of a number.
    max_entries : int, default=75
        Most entries in all, if the categories leave room for them.
    ridge : float, default=3.0
        Penalty on squared coefficients.
    largest : int, default=20
        The largest entry.
    smallest : int, default=2
        Features whose entries are all smaller are left out.
    """

    max_bins: int = 7
    max_entries: int = 75
    ridge: float = 3.0
    largest: int = 20
    smallest: int = 2


class FittedEntries(NamedTuple):
    """The entries of a scorecard, and the log odds of its points."""

    features: tuple[CardFeature, ...]
    slope: float
    shift: float


def fit_entries(
    problem: Problem, states: Floats, logits: Floats, features: Sequence[Feature], settings: ScorecardFitSettings
) -> FittedEntries:
    """Fit the entries of `features` to the `logits` [n] that a surrogate predicts for `states` [n, F].

    States near the decision boundary have the most weight. Numbers are fitted in many bins first, which are then merged
    where the effect is nearly constant.

    Raises
    ------
    PeopleError
        If no feature makes a difference.
    """
    target = sigmoid(np.clip(logits, -_LARGEST_LOGIT, _LARGEST_LOGIT))
    weight = 1 / (1 + np.abs(logits))
    edges = {one.index: candidate_edges(one, states[:, one.index]) for one in features if one.is_number}
    fine = _Design(features, edges, states)
    effects = fine.effects(_logistic(fine.matrix(), target, weight, settings.ridge), weight)
    categories = sum(len(one.natives) for one in features if not one.is_number)
    gaps = sum(one.missing for one in features)
    room = max(settings.max_entries - categories - gaps, 2 * len(effects))
    edges = merge_bins(effects, settings.max_bins, room) if effects else {}
    for _ in range(2):  # the second time without features of no importance
        design = _Design(features, edges, states)
        points = design.points(_logistic(design.matrix(), target, weight, settings.ridge), settings.largest)
        kept = [one for one, entries in zip(features, points, strict=True) if max(entries) >= settings.smallest]
        if len(kept) in (0, len(features)):
            break
        features = kept
    if not kept:
        raise PeopleError(
            "the surrogate predicts nearly the same for all ends of plans, so there is no card; fit it on more people"
        )
    found = tuple(design.card_feature(number, entries) for number, entries in enumerate(points))
    total = sum(one(states[:, one.feature]) for one in found)
    slope, shift = _line(np.asarray(total, float), target, weight)
    return FittedEntries(found, slope, shift)


class _Design:
    """Indicators of entries: bins and values of `features` for states."""

    def __init__(self, features: Sequence[Feature], edges: Mapping[int, tuple[float, ...]], states: Floats) -> None:
        self.features, self.edges = features, edges
        self.sizes = [
            (len(edges[one.index]) + 1 if one.is_number else len(one.natives)) + one.missing for one in features
        ]
        self.first = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        self.entry = np.stack([self._entries(number, states) for number in range(len(features))], axis=1)
        """[n, features] the entry of each state and feature."""

    def _entries(self, number: int, states: Floats) -> Ints:
        """[n] the entry of each state for one feature; that of missing values is the last."""
        feature = self.features[number]
        column = states[:, feature.index]
        missing = np.isnan(column)
        if feature.is_number:
            place = np.searchsorted(self.edges[feature.index], column, side="right")
        else:
            place = np.where(missing, 0, column).astype(np.intp)
        return np.asarray(self.first[number] + np.where(missing, self.sizes[number] - 1, place))

    def matrix(self) -> Floats:
        """[n, entries + 1] indicators, and a constant."""
        matrix = np.zeros((len(self.entry), self.first[-1] + 1))
        matrix[np.arange(len(matrix))[:, None], self.entry] = 1.0
        matrix[:, -1] = 1.0
        return matrix

    def effects(self, coefficients: Floats, weight: Floats) -> dict[int, NumberEffect]:
        """The effects of numbers, by feature."""
        repeated = np.repeat(weight, len(self.features))
        mass = np.bincount(self.entry.ravel(), repeated, minlength=self.first[-1]).astype(float)
        found = {}
        for feature, first in zip(self.features, self.first.tolist(), strict=False):
            if feature.is_number:
                bins = slice(first, first + len(self.edges[feature.index]) + 1)
                found[feature.index] = NumberEffect(np.array(self.edges[feature.index]), coefficients[bins], mass[bins])
        return found

    def points(self, coefficients: Floats, largest: int) -> list[list[int]]:
        """Entries by feature: the lowest of each is 0, as are values that no state has."""
        seen = np.bincount(self.entry.ravel(), minlength=self.first[-1]) > 0
        above = []
        for first, last in zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True):
            own, known = coefficients[first:last], seen[first:last]
            above.append(np.where(known, own - own[known].min(), 0.0))
        scale = max(float(own.max()) for own in above)
        return [np.rint(own * (largest / scale if scale > 0 else 0.0)).astype(int).tolist() for own in above]

    def card_feature(self, number: int, entries: list[int]) -> CardFeature:
        """The entries of one feature; adjacent bins with the same points are one."""
        feature = self.features[number]
        missing = entries.pop() if feature.missing else None
        edges: tuple[float, ...] = ()
        if feature.is_number:
            merged = [place for place in range(1, len(entries)) if entries[place] != entries[place - 1]]
            edges = tuple(float(self.edges[feature.index][place - 1]) for place in merged)
            entries = [entries[0], *(entries[place] for place in merged)]
        return CardFeature(feature.index, edges, tuple(entries), missing)


def _logistic(matrix: Floats, target: Floats, weight: Floats, ridge: float) -> Floats:
    """Coefficients [k] of a ridge logistic regression on probabilities; the last, a constant, has no penalty."""
    penalty = np.full(matrix.shape[1], ridge)
    penalty[-1] = _TOLERANCE
    coefficients = np.zeros(matrix.shape[1])
    for _ in range(_ITERATIONS):
        chance = sigmoid(matrix @ coefficients)
        gradient = matrix.T @ (weight * (target - chance)) - penalty * coefficients
        curvature = weight * chance * (1 - chance) + 1e-9
        step = np.linalg.solve((matrix * curvature[:, None]).T @ matrix + np.diag(penalty), gradient)
        size = float(np.abs(step).max())
        coefficients += step * min(1.0, _LARGEST_STEP / size) if size > 0 else 0.0
        if size < 1e-4:
            break
    return coefficients


def _line(points: Floats, target: Floats, weight: Floats) -> tuple[float, float]:
    """Slope and shift of the log odds of a favourable decision, given points."""
    center, scale = float(points.mean()), float(points.std())
    slope, constant = _logistic(
        np.column_stack([(points - center) / scale, np.ones(len(points))]), target, weight, 1e-3
    )
    return float(slope / scale), float(slope * center / scale - constant)
