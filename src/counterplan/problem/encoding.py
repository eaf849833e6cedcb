"""The binary view of a state: one column per interval of a number and per value of a category, named in words."""

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
    """Turns states [B, F] into bits [B, K]; `names` says in words what each bit means."""

    features: tuple[Feature, ...]
    cuts: tuple[tuple[float, ...], ...]
    """Per feature, where its intervals start; empty for categories and for numbers that are left out."""

    @classmethod
    def of(cls, features: Sequence[Feature], states: Floats | None = None) -> Encoding:
        """The encoding of a problem's features; `bins: auto` needs `states` [B, F] to learn its cut points from."""
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
        """What each bit says: "30,000 ≤ income < 50,000", "job = manager", "income is missing"."""
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
        """The bits [B, K] of `states` [B, F]. A number below its first cut point, or a missing value, sets none."""
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
    """Where the interval that starts at each cut point ends."""
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
    if len(inside) < most // 2:  # most people share a few numbers: cut between the distinct ones instead
        inside = sorted({*inside, *_cuts_inside(np.unique(known), integer, most)})
    return (-math.inf, *inside)


def _cuts_inside(known: Floats, integer: bool, most: int) -> list[float]:
    quantiles = np.quantile(known, np.linspace(0, 1, most + 1)[1:-1])
    span = float(known.max() - known.min())
    rounded = {_round(float(cut), span, integer) for cut in quantiles}
    return sorted(cut for cut in rounded if known.min() < cut <= known.max())


def _round(number: float, span: float, integer: bool) -> float:
    """`number` to two digits, or to as many more as tell numbers apart that lie within `span`."""
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
