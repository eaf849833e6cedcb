"""Bins of numbers for a scorecard: round edges where the effect of a number changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from counterplan.problem.encoding import quantile_cuts
from counterplan.problem.parts import Feature
from counterplan.problem.transitions import Floats, Ints

CANDIDATES = 40
"""Most candidate bins of a number."""
_RESIDUAL = 0.01
"""Bins are merged as long as they explain all but this share of the variance of the effect."""


def candidate_edges(feature: Feature, column: Floats) -> tuple[float, ...]:
    """Increasing round edges between the known values of `column` [n]."""
    return quantile_cuts(column, feature.integer, CANDIDATES)[1:]


class NumberEffect(NamedTuple):
    """The effect of a number, by candidate bin."""

    edges: Floats
    """[k]"""
    effect: Floats
    """[k + 1]"""
    weight: Floats
    """[k + 1] weight of the states in each bin."""


def merge_bins(effects: Mapping[int, NumberEffect], max_bins: int, max_entries: int) -> dict[int, tuple[float, ...]]:
    """Edges by feature, at most `max_bins` bins each and `max_entries` bins in all, that preserve effects best."""
    partitions = {index: _partitions(effect, max_bins) for index, effect in effects.items()}
    bins = {}
    for index, errors in partitions.items():
        total = errors[0][0]
        enough = [count for count, (error, _) in enumerate(errors, 1) if error <= _RESIDUAL * total]
        bins[index] = min([*enough, len(errors)])
    while sum(bins.values()) > max_entries and max(bins.values()) > 1:
        loss = {
            index: partitions[index][count - 2][0] - partitions[index][count - 1][0]
            for index, count in bins.items()
            if count > 1
        }
        bins[min(loss, key=lambda index: loss[index])] -= 1
    return {
        index: tuple(effects[index].edges[partitions[index][count - 1][1]].tolist()) for index, count in bins.items()
    }


def _partitions(effect: NumberEffect, most: int) -> list[tuple[float, Ints]]:
    """For each number of bins up to `most`: the weighted squared error of the best partition, and its edges' indices.

    By dynamic programming over the candidate bins.
    """
    size = len(effect.effect)
    weight, first, second = (
        np.concatenate([[0.0], np.cumsum(effect.weight * effect.effect**power)]) for power in (0, 1, 2)
    )

    def error(low: Ints, high: int) -> Floats:
        mass = weight[high] - weight[low]
        spread = second[high] - second[low] - (first[high] - first[low]) ** 2 / np.where(mass > 0, mass, 1.0)
        return np.asarray(np.maximum(spread, 0.0))

    best = np.full((most + 1, size + 1), np.inf)
    best[0, 0] = 0.0
    origin = np.zeros((most + 1, size + 1), np.intp)
    for count in range(1, most + 1):
        for high in range(1, size + 1):
            total = best[count - 1, :high] + error(np.arange(high), high)
            origin[count, high] = int(np.argmin(total))
            best[count, high] = total[origin[count, high]]
    found = []
    for count in range(1, min(most, size) + 1):
        edges, high = [], size
        for level in range(count, 1, -1):
            high = int(origin[level, high])
            edges.append(high - 1)
        found.append((float(best[count, size]), np.array(edges[::-1], np.intp)))
    return found
