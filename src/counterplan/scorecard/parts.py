"""The parts of a scorecard: the entries of each feature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import Feature
from counterplan.problem.transitions import Floats, Ints

LARGEST_ENTRY = 1_000_000
"""Upper limit of an entry, so that sums are exact in every language that a card is exported to."""


@dataclass(frozen=True)
class CardFeature:
    """The entries of one feature of a scorecard.

    Parameters
    ----------
    feature : int
        Index in `problem.features`.
    edges : tuple of float
        Of a number: k increasing edges make k + 1 bins; bin i holds ``edges[i - 1] <= x < edges[i]``. Empty for
        categories and ordered values.
    points : tuple of int
        Of a number: the points of its bins. Of a category: the points of its values, by index.
    missing : int, optional
        Points where the value is missing; given if and only if the feature may be missing.

    Raises
    ------
    SettingError
        If the entries are not integers of which the lowest is 0, or the edges do not increase.
    """

    feature: int
    edges: tuple[float, ...]
    points: tuple[int, ...]
    missing: int | None = None

    def __post_init__(self) -> None:
        entries = self.all_points
        if any(type(entry) is not int or not 0 <= entry <= LARGEST_ENTRY for entry in entries):
            raise SettingError(f"entries of a scorecard are integers from 0 to {LARGEST_ENTRY:,}; not {entries!r}")
        if min(entries, default=0) != 0:
            raise SettingError(f"the lowest entry of a feature is 0; not {min(entries)}")
        if not all(math.isfinite(edge) for edge in self.edges) or any(
            low >= high for low, high in pairwise(self.edges)
        ):
            raise SettingError(f"the edges of bins are finite numbers that increase; not {self.edges!r}")

    @property
    def all_points(self) -> tuple[int, ...]:
        """All entries, that of missing values last."""
        return self.points if self.missing is None else (*self.points, self.missing)

    def __call__(self, column: Floats) -> Ints:
        """Points [n] of the numbers of a state's `column` [n]."""
        absent = np.isnan(column)
        if self.edges or len(self.points) == 1:
            place = np.searchsorted(self.edges, column, side="right")
        else:
            place = np.where(absent, 0, column).astype(np.intp)
        table = np.array((*self.points, self.missing or 0), np.int64)
        return np.asarray(table[np.where(absent, len(self.points), place)], np.int64)

    def check(self, feature: Feature) -> None:
        """Raise SettingError unless these are entries for `feature`."""
        expected = len(self.edges) + 1 if feature.is_number else len(feature.natives)
        if self.edges and not feature.is_number:
            raise SettingError(f"'{feature.name}' is not a number and has no edges")
        if len(self.points) != expected:
            raise SettingError(f"'{feature.name}' needs {expected} entries, got {len(self.points)}")
        if (self.missing is not None) != feature.missing:
            may = "may" if feature.missing else "cannot"
            raise SettingError(f"'{feature.name}' {may} be missing; 'missing' is {self.missing!r}")
        if not any(self.all_points):
            raise SettingError(f"all entries of '{feature.name}' are 0: leave the feature out")
