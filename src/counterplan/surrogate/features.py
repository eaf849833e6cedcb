"""What a surrogate's networks see of a state: numbers, cut points, ranks, values, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from counterplan.problem import Feature, Problem
from counterplan.problem.encoding import quantile_cuts
from counterplan.problem.transitions import Floats

Single = npt.NDArray[np.float32]
CUTS = 8
"""Cut points of a number that are learned from data; more if it has few distinct values."""
NEAR = 3.0
"""From about so many spreads off the mean, numbers are squashed, but no two of them become one."""


@dataclass(frozen=True)
class StateFeatures:
    """Turns states [n, F] into what networks learn from, float32 [n, D]."""

    features: tuple[Feature, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    cuts: tuple[tuple[float, ...], ...]
    """Per feature, as are the cut points of its bits; 0, 1 and none for a category."""

    @classmethod
    def of(cls, problem: Problem, states: Floats, cuts: int = CUTS) -> StateFeatures:
        """A view with scales and cut points for numbers like those in `states` [n, F] and those that plans reach."""
        mean, spread, places = [], [], []
        for feature in problem.features:
            column = states[:, feature.index]
            known = column[np.isfinite(column)] if feature.is_number else np.empty(0)
            mean.append(float(known.mean()) if len(known) else 0.0)
            spread.append((float(known.std()) if len(known) else 0.0) or 1.0)
            places.append(_cuts(feature, _reached(problem, feature, known), cuts) if feature.is_number else ())
        return cls(problem.features, tuple(mean), tuple(spread), tuple(places))

    @cached_property
    def spans(self) -> tuple[slice, ...]:
        """The columns of each feature: number and bits, rank and values, or values; then whether it is missing."""
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
        """Per feature, what its bits compare with [c, 1]: cut points, or the indices of values."""
        pairs = zip(self.features, self.cuts, strict=True)
        marks = (cuts if feature.is_number else range(len(feature.natives)) for feature, cuts in pairs)
        return tuple(np.array(places, float)[:, None] for places in marks)

    def __call__(self, states: Floats) -> Single:
        """The columns [n, D] of `states` [n, F]. Where a value is missing, all of its columns but that bit are 0."""
        view = np.empty((len(self), len(states)), np.float32)  # column by column, which is faster
        for feature, span, marks in zip(self.features, self.spans, self._marks, strict=True):
            column, block = np.ascontiguousarray(states[:, feature.index]), view[span]
            bits = block[feature.kind != "category" :][: len(marks)]
            bits[:] = column >= marks if feature.is_number else column == marks
            if feature.is_number:
                scaled = (column - self.mean[feature.index]) / self.spread[feature.index]
                block[0] = NEAR * np.arcsinh(np.nan_to_num(scaled) / NEAR)
            elif feature.kind == "ordered":
                block[0] = np.nan_to_num(column) / max(len(marks) - 1, 1)
            if feature.missing:
                block[-1] = np.isnan(column)
        return view.T

    def to_data(self) -> dict[str, Any]:
        """Plain data that `from_data` reads back."""
        return {"mean": list(self.mean), "spread": list(self.spread), "cuts": [list(cuts) for cuts in self.cuts]}

    @classmethod
    def from_data(cls, problem: Problem, data: Mapping[str, Any]) -> StateFeatures:
        """The view that `to_data` wrote."""
        mean, spread = (tuple(float(number) for number in data[name]) for name in ("mean", "spread"))
        cuts = tuple(tuple(float(cut) for cut in cuts) for cuts in data["cuts"])
        if not len(mean) == len(spread) == len(cuts) == len(problem.features):
            raise ValueError("the view has another number of features than the problem")
        return cls(problem.features, mean, spread, cuts)


def _reached(problem: Problem, feature: Feature, known: Floats) -> Floats:
    """The numbers `known` [n] of a feature, and those that one action makes of them."""
    reached = [known]
    for function in problem.transitions.functions:
        if function.target == feature.index:
            after = (known[:, None] + function.arguments if function.adds else function.arguments).ravel()
            reached.append(after[(after >= feature.low) & (after <= feature.high)])
    return np.concatenate(reached)


def _cuts(feature: Feature, values: Floats, most: int) -> tuple[float, ...]:
    """Between all distinct `values` [n] if they are few, else at their quantiles; and where the file has its bins."""
    distinct = np.unique(values)
    if len(distinct) <= 2 * most:
        inside = [float(low + high) / 2 for low, high in pairwise(distinct)]
    else:
        inside = list(quantile_cuts(values, feature.integer, most)[1:])
    written = [cut for cut in feature.bins or () if len(distinct) and distinct[0] < cut <= distinct[-1]]
    return tuple(sorted({*inside, *written}))
