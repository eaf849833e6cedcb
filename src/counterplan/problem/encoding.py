"""Binary encoding of states: one column per interval of a number and per value of a category, with names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from counterplan.errors import ProblemError
from counterplan.problem.parts import Feature, format_number
from counterplan.problem.transitions import Bools, Floats

AUTO_BINS = 6


@dataclass(frozen=True)
class Encoding:
    """Encodes states [B, F] as bits [B, K]; `names` describes each bit."""

    features: tuple[Feature, ...]
    cuts: tuple[tuple[float, ...], ...]
    """The lower bounds of each feature's intervals; empty for categories and for numbers that are left out."""

    @classmethod
    def of(cls, features: Sequence[Feature], states: Floats | None = None) -> Encoding:
        """Create the encoding of features; the cut points of `bins: auto` are learned from `states` [B, F]."""
        cuts: list[tuple[float, ...]] = []
        for feature in features:
            if not feature.is_number:
                cuts.append(())
            elif feature.bins is not None:
                cuts.append(feature.bins)
            elif states is None:
                raise ProblemError(
                    f"features.{feature.name}.bins: 'auto' learns cut points from data; "
                    "hand in people, or write the bins"
                )
            else:
                cuts.append(quantile_cuts(states[:, feature.index], feature.integer))
        return cls(tuple(features), tuple(cuts))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def names(self) -> list[str]:
        """The meaning of each bit: "30,000 ≤ income < 50,000", "job = manager", "income is missing"."""
        names: list[str] = []
        for feature, cuts in zip(self.features, self.cuts, strict=True):
            if feature.is_number:
                names += [_interval(feature, low, high) for low, high in zip(cuts, _ends(cuts), strict=True)]
            else:
                names += [f"{feature.name} = {value}" for value in feature.values]
            if feature.missing and (cuts or not feature.is_number):
                names.append(f"{feature.name} is missing")
        return names

    def __call__(self, states: Floats) -> Bools:
        """The bits [B, K] of `states` [B, F]; none for a number below its first cut point or a missing value."""
        blocks: list[Bools] = []
        for feature, cuts in zip(self.features, self.cuts, strict=True):
            column = states[:, feature.index, None]
            if feature.is_number:
                blocks.append((column >= np.array(cuts)) & (column < np.array(_ends(cuts))))
            else:
                blocks.append(column == np.arange(len(feature.natives)))
            if feature.missing and (cuts or not feature.is_number):
                blocks.append(np.isnan(column))
        return np.concatenate(blocks, axis=1)


def _ends(cuts: tuple[float, ...]) -> tuple[float, ...]:
    """The upper bound of the interval that starts at each cut point."""
    return (*cuts[1:], math.inf)[: len(cuts)]


def check_cuts(features: Sequence[Feature], cuts: Sequence[Sequence[float]]) -> None:
    """Raise ValueError unless there are increasing cut points for every number, and none for other features."""
    if len(cuts) != len(features):
        raise ValueError(f"there are {len(features)} features, and cut points for {len(cuts)}")
    for feature, points in zip(features, cuts, strict=True):
        if points and not feature.is_number:
            raise ValueError(f"'{feature.name}' is not a number and has no cut points")
        if any(math.isnan(point) for point in points) or any(not low < high for low, high in pairwise(points)):
            raise ValueError(f"the cut points of '{feature.name}' do not increase")


def quantile_cuts(column: Floats, integer: bool, most: int = AUTO_BINS) -> tuple[float, ...]:
    """Cut points at quantiles of `column` [B], rounded to two digits, the first one -∞."""
    known = column[np.isfinite(column)]
    if not len(known):
        return (-math.inf,)
    inside = _cuts_inside(known, integer, most)
    if len(inside) < most // 2:  # few distinct numbers dominate: use quantiles of the distinct ones
        inside = sorted({*inside, *_cuts_inside(np.unique(known), integer, most)})
    return (-math.inf, *inside)


def _cuts_inside(known: Floats, integer: bool, most: int) -> list[float]:
    quantiles = np.quantile(known, np.linspace(0, 1, most + 1)[1:-1])
    span = float(known.max() - known.min())
    rounded = {round_cut(float(cut), span, integer) for cut in quantiles}
    return sorted(cut for cut in rounded if known.min() < cut <= known.max())


def round_cut(number: float, span: float, integer: bool) -> float:
    """Round `number` to two digits, or to as many as distinguish numbers within `span`."""
    size = min(abs(number) or span, span) or 1.0
    digits = min(1 - math.floor(math.log10(size)), 15)
    return float(np.round(number, min(digits, 0) if integer else digits))


def _interval(feature: Feature, low: float, high: float) -> str:
    name = feature.name
    if math.isinf(low) and math.isinf(high):
        return f"{name} is known"
    if math.isinf(low):
        return f"{name} < {format_number(high)}"
    if math.isinf(high):
        return f"{name} ≥ {format_number(low)}"
    if feature.integer and high - low == 1 and low.is_integer():
        return f"{name} = {format_number(low)}"
    return f"{format_number(low)} ≤ {name} < {format_number(high)}"
