"""The scorecard: an additive model of integers, with the number of points that a plan must reach."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import Feature, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.program.model_card import ModelCard

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


@dataclass(frozen=True)
class Scorecard:
    """An additive card of integers: the points of a person, and the points that are enough.

    Points are summed over the features. A plan whose final state has `needed` points or more is likely to lead to a
    favourable decision; the log odds of that are ``slope * points - shift``.

    Parameters
    ----------
    problem : Problem
    features : tuple of CardFeature
        In the order of the problem's features; those without an entry above 0 are left out.
    needed : int
        Points that a plan must reach if no query is sent.
    slope, shift : float
        Log odds of a favourable decision: ``slope * points - shift``.
    model_card : ModelCard, optional
        How the card was made, how it performed on people held out, and its limitations.

    Raises
    ------
    SettingError
        If entries do not belong to the problem's features, or a number is out of range.

    Examples
    --------
    >>> from counterplan import Problem
    >>> from counterplan.scorecard import CardFeature, Scorecard
    >>> problem = Problem.from_dict({
    ...     "counterplan": 1,
    ...     "name": "loan",
    ...     "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
    ...     "max_actions": 2,
    ...     "features": {"income": {"kind": "number", "minimum": 0, "bins": [0, 1000]}},
    ...     "functions": {"EARN": {"add": "income", "arguments": [100, 200], "cost": 1}},
    ... })
    >>> card = Scorecard(problem, (CardFeature(0, (500.0, 1000.0), (0, 7, 20)),), needed=20, slope=0.5, shift=8.0)
    >>> card.points(problem.states([{"income": 400}, {"income": 500}, {"income": 1200}])).tolist()
    [0, 7, 20]
    >>> card.entries
    3
    """

    problem: Problem
    features: tuple[CardFeature, ...]
    needed: int
    slope: float
    shift: float
    model_card: ModelCard = field(default_factory=ModelCard)

    def __post_init__(self) -> None:
        indices = [one.feature for one in self.features]
        known = range(len(self.problem.features))
        if any(type(index) is not int or index not in known for index in indices):
            raise SettingError(f"a scorecard of '{self.problem.name}' names features by index; not {indices!r}")
        if any(first >= second for first, second in pairwise(indices)):
            raise SettingError(f"the features of a scorecard are in the order of the problem, each once; not {indices}")
        for one in self.features:
            one.check(self.problem.features[one.feature])
        if type(self.needed) is not int:
            raise SettingError(f"'needed' is an integer; not {self.needed!r}")
        if not (math.isfinite(self.slope) and self.slope > 0 and math.isfinite(self.shift)):
            raise SettingError(f"'slope' is above 0 and 'shift' is finite; not {self.slope!r} and {self.shift!r}")

    @property
    def entries(self) -> int:
        """Number of entries in all features."""
        return sum(len(one.all_points) for one in self.features)

    def parts(self, states: Floats) -> Ints:
        """Points by feature.

        Parameters
        ----------
        states : array of shape [n, F]

        Returns
        -------
        int array of shape [n, len(features)]
        """
        parts = np.zeros((len(states), len(self.features)), np.int64)
        for place, one in enumerate(self.features):
            parts[:, place] = one(states[:, one.feature])
        return parts

    def points(self, states: Floats) -> Ints:
        """Points in all.

        Parameters
        ----------
        states : array of shape [n, F]

        Returns
        -------
        int array of shape [n]
        """
        return np.asarray(self.parts(states).sum(axis=1))

    def logit(self, states: Floats) -> Floats:
        """Log odds of a favourable decision.

        Parameters
        ----------
        states : array of shape [n, F]

        Returns
        -------
        array of shape [n]
        """
        return np.asarray(self.slope * self.points(states) - self.shift)
