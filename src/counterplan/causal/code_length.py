"""Code lengths, in nats, of the values of a column: how long their shortest simple description is.

By the principle of minimum description length, models of different kinds are compared by the length of a code for the
model and the data together. Categories are described by a uniform or a free distribution; numbers by atoms (frequent
single values) and, for the others, by the best of some distributions, of the number or its logarithm, and histograms.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from counterplan.causal.columns import DataColumn, Floats, Ints, NumberScale

FINEST = 32
"""Bins of the finest histogram; coarser ones have half as many, and so on."""
_HISTOGRAMS = int(math.log2(FINEST))
USUAL, UNUSUAL = -math.log(0.9), -math.log(0.1)
"""Code lengths of the usual and the unusual one of two choices."""
_LOG_TWO_PI_E = math.log(2 * math.pi * math.e)


def category_length(counts: Floats) -> Floats:
    """The code length [...] of categories with the counts [..., K], by a uniform or a free distribution."""
    size = counts.shape[-1]
    if size < 2:
        return np.zeros(counts.shape[:-1])
    uniform = counts.sum(axis=-1) * math.log(size) + UNUSUAL
    shorter: Floats = np.minimum(free_length(counts) + USUAL, uniform)
    return shorter


def free_length(counts: Floats) -> Floats:
    """The code length [...] of counts [..., K], as sampled from a distribution with Jeffreys' prior, Dirichlet(½)."""
    size = counts.shape[-1]
    constant = gammaln(size / 2) - size * gammaln(0.5)
    length: Floats = gammaln(counts.sum(axis=-1) + size / 2) - gammaln(counts + 0.5).sum(axis=-1) - constant
    return length


def normal_length(total: float, variance: float, resolution: float, parameters: int) -> float:
    """The code length of `total` numbers with normal errors of the `variance`, and of `parameters` parameters."""
    floor = resolution**2 / 12
    return total / 2 * (_LOG_TWO_PI_E + math.log(max(variance, floor))) + parameters / 2 * math.log(max(total, 2))


def shape_lengths(values: Floats, resolution: float) -> list[float]:
    """The code lengths of numbers by a normal, Laplace, Gumbel (either way) and uniform distribution."""
    total = len(values)
    parameters = math.log(max(total, 2))
    deviation = float(values.std())
    lengths = [normal_length(total, deviation**2, resolution, 2)]
    spread = max(float(np.abs(values - np.median(values)).mean()), resolution / (2 * math.e))
    lengths.append(total * (math.log(2 * spread) + 1) + parameters)
    scale = max(deviation * math.sqrt(6) / math.pi, resolution * math.exp(-1 - np.euler_gamma))
    for sign in (1, -1):
        standard = np.clip(sign * (values - values.mean()) / scale + np.euler_gamma, -50, None)
        lengths.append(total * math.log(scale) + float((standard + np.exp(-standard)).sum()) + parameters)
    lengths.append(total * math.log(float(np.ptp(values)) + resolution) + 2 * math.log(total + 1))
    return lengths


class ColumnCode:
    """Code lengths of the values of a column, for any of its people, by each of several families of distributions.

    A description of several groups of people names one family for all of them, and others for exceptional groups.
    """

    def __init__(self, column: DataColumn) -> None:
        self._cells, self._size = column.cells, column.size
        self._number = None if column.scale is None else _NumberCode(column.values, column.scale)

    def lengths(self, rows: Ints) -> Floats:
        """[F] The code length of the values of some people if a description names each family."""
        if self._size < 2:
            return np.zeros(1)
        if self._number is not None:
            lengths = self._number.lengths(rows)
            named: Floats = np.minimum(lengths + USUAL, lengths.min() + UNUSUAL + math.log(len(lengths)))
            return named
        counts = np.bincount(self._cells[rows], minlength=self._size).astype(float)
        return category_length(counts)[None]

    @staticmethod
    def shortest(lengths: Floats) -> float:
        """The length by the best family, with that of its name."""
        return float(lengths.min()) + math.log(len(lengths))


class _NumberCode:
    def __init__(self, values: Floats, scale: NumberScale) -> None:
        self.values, self.scale = values, scale
        self.stage = _atom_of(values, scale.atoms)
        self.histograms = [_Histogram(values, scale, np.linspace(scale.low, scale.high, FINEST + 1))]
        self.logs: Floats | None = None
        if scale.low > 0:
            self.logs = np.log(values)
            self.histograms.append(_Histogram(values, scale, np.geomspace(scale.low, scale.high, FINEST + 1)))

    def lengths(self, rows: Ints) -> Floats:
        atoms = len(self.scale.atoms)
        length = 0.0
        if atoms:
            stages = self.stage[rows]
            length = float(category_length(np.bincount(stages, minlength=atoms + 1).astype(float)))
            rows = rows[stages == atoms]
        return length + np.array(self._rest(rows))

    def _rest(self, rows: Ints) -> list[float]:
        """The code lengths of numbers that are no atoms, by each family of distributions."""
        total, scale = len(rows), self.scale
        if not total:
            return [0.0] * (6 + _HISTOGRAMS + (5 + _HISTOGRAMS) * (self.logs is not None))
        lengths = [total * math.log(scale.high - scale.low), *shape_lengths(self.values[rows], scale.resolution)]
        for histogram in self.histograms:
            lengths += histogram.lengths(rows)
        if self.logs is not None:
            logs = self.logs[rows]
            back = float(logs.sum())
            resolution = scale.resolution / math.exp(back / total)
            lengths += [length + back for length in shape_lengths(logs, resolution)]
        return lengths


class _Histogram:
    """Code lengths by histograms whose edges lie between multiples of the resolution, and are halved in number."""

    def __init__(self, values: Floats, scale: NumberScale, edges: Floats) -> None:
        multiples = np.round((edges - scale.low) / scale.resolution)
        self.widths = np.diff(multiples) * scale.resolution
        inner = scale.low + multiples[1:-1] * scale.resolution
        self.bins = np.searchsorted(inner, values, side="right")

    def lengths(self, rows: Ints) -> list[float]:
        counts = np.bincount(self.bins[rows], minlength=FINEST).astype(float)
        widths = self.widths
        lengths = []
        while len(counts) > 1:
            used = widths > 0
            lengths.append(float(free_length(counts[used])) + float(counts[used] @ np.log(widths[used])))
            counts, widths = counts.reshape(-1, 2).sum(axis=1), widths.reshape(-1, 2).sum(axis=1)
        return lengths


def _atom_of(values: Floats, atoms: Floats) -> Ints:
    """[B] The index of each value among the atoms; their number for other values."""
    stage = np.full(len(values), len(atoms), np.int64)
    for index, atom in enumerate(atoms):
        stage[values == atom] = index
    return stage
