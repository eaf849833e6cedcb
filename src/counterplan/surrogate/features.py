"""Input features of a surrogate's networks: scaled numbers, cut-point, one-hot and missing indicators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from counterplan.errors import SettingError
from counterplan.problem import Feature, Problem
from counterplan.problem.encoding import check_cuts, quantile_cuts
from counterplan.problem.transitions import Floats

Single = npt.NDArray[np.float32]
CUTS = 8
"""Cut points of a number that are learned from data; more if it has few distinct values."""
_SOFT_CLIP = 3.0
"""Numbers are compressed from about this many standard deviations on, strictly monotonically."""


@dataclass(frozen=True)
class StateFeatures:
    """Transforms states [n, F] into network inputs, float32 [n, D].

    Parameters
    ----------
    features : tuple of Feature
        The problem's features.
    mean, scale : tuple of float
        Per feature: mean and standard deviation of a number; 0 and 1 for others.
    cuts : tuple of tuple of float
        Per feature: increasing cut points of a number, each of which becomes an indicator; none for others.

    Raises
    ------
    SettingError, ValueError
        If the lengths do not belong together, or cut points do not increase.
    """

    features: tuple[Feature, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    cuts: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        for name, numbers in (("mean", self.mean), ("scale", self.scale), ("cuts", self.cuts)):
            if len(numbers) != len(self.features):
                raise SettingError(f"'{name}' has another number of features ({len(numbers)}) than the problem")
        if np.isnan(self.mean).any() or not (np.array(self.scale) > 0).all():
            raise SettingError("'mean' and 'scale' are numbers, and the latter are positive")
        check_cuts(self.features, self.cuts)

    @classmethod
    def from_states(cls, problem: Problem, states: Floats, cuts: int = CUTS) -> StateFeatures:
        """Estimate scales and cut points from `states` [n, F] and from the numbers that one action makes of them."""
        mean, scale, places = [], [], []
        for feature in problem.features:
            column = states[:, feature.index]
            known = column[np.isfinite(column)] if feature.is_number else np.empty(0)
            mean.append(float(known.mean()) if len(known) else 0.0)
            scale.append((float(known.std()) if len(known) else 0.0) or 1.0)
            places.append(_cuts(feature, _reached(problem, feature, known), cuts) if feature.is_number else ())
        return cls(problem.features, tuple(mean), tuple(scale), tuple(places))

    @cached_property
    def spans(self) -> tuple[slice, ...]:
        """The columns of each feature: number and indicators, rank and one-hot, or one-hot; then the missing one."""
        spans, start = [], 0
        for feature, cuts in zip(self.features, self.cuts, strict=True):
            width = len(cuts) + len(feature.natives) + (feature.kind != "category") + feature.missing
            spans.append(slice(start, start + width))
            start += width
        return tuple(spans)

    def __len__(self) -> int:
        return self.spans[-1].stop if self.spans else 0

    @cached_property
    def _marks(self) -> tuple[Floats, ...]:
        """Per feature, the numbers its indicators compare with [c, 1]: cut points, or the indices of values."""
        pairs = zip(self.features, self.cuts, strict=True)
        marks = (cuts if feature.is_number else range(len(feature.natives)) for feature, cuts in pairs)
        return tuple(np.array(places, float)[:, None] for places in marks)

    def __call__(self, states: Floats) -> Single:
        """The columns [n, D] of `states` [n, F]; a missing value sets only its missing indicator."""
        columns = np.empty((len(self), len(states)), np.float32)  # column by column, which is faster
        for feature, span, marks in zip(self.features, self.spans, self._marks, strict=True):
            column, block = np.ascontiguousarray(states[:, feature.index]), columns[span]
            indicators = block[feature.kind != "category" :][: len(marks)]
            indicators[:] = column >= marks if feature.is_number else column == marks
            if feature.is_number:
                scaled = (column - self.mean[feature.index]) / self.scale[feature.index]
                block[0] = _SOFT_CLIP * np.arcsinh(_finite(scaled) / _SOFT_CLIP)
            elif feature.kind == "ordered":
                block[0] = _finite(column) / max(len(marks) - 1, 1)
            if feature.missing:
                block[-1] = np.isnan(column)
        return columns.T

    def to_data(self) -> dict[str, Any]:
        """Plain data that `from_data` reads back."""
        return {"mean": list(self.mean), "spread": list(self.scale), "cuts": [list(cuts) for cuts in self.cuts]}

    @classmethod
    def from_data(cls, problem: Problem, data: Mapping[str, Any]) -> StateFeatures:
        """The inverse of `to_data`."""
        mean, scale = (tuple(float(number) for number in data[name]) for name in ("mean", "spread"))
        cuts = tuple(tuple(float(cut) for cut in cuts) for cuts in data["cuts"])
        return cls(problem.features, mean, scale, cuts)


def _finite(numbers: Floats) -> Floats:
    """`np.nan_to_num`, which is slow, only where it changes something."""
    return numbers if np.isfinite(numbers).all() else np.nan_to_num(numbers)


def _reached(problem: Problem, feature: Feature, known: Floats) -> Floats:
    """The numbers `known` [n] of a feature, and those that one action makes of them."""
    reached = [known]
    for function in problem.transitions.functions:
        if function.target == feature.index:
            after = (known[:, None] + function.arguments if function.adds else function.arguments).ravel()
            reached.append(after[(after >= feature.low) & (after <= feature.high)])
    return np.concatenate(reached)


def _cuts(feature: Feature, values: Floats, most: int) -> tuple[float, ...]:
    """Between all distinct `values` [n] if they are few, else at their quantiles; and at the problem's own bins."""
    distinct = np.unique(values)
    if len(distinct) <= 2 * most:
        inside = [float(low + high) / 2 for low, high in pairwise(distinct)]
    else:
        inside = list(quantile_cuts(values, feature.integer, most)[1:])
    bins = [cut for cut in feature.bins or () if len(distinct) and distinct[0] < cut <= distinct[-1]]
    return tuple(sorted({*inside, *bins}))
