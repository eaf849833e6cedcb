"""The scorecard: an additive model of integers, with the number of points that a plan must reach."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import PeopleTable, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.program.model_card import ModelCard
from counterplan.scorecard import io
from counterplan.scorecard.parts import CardFeature


@dataclass(frozen=True, repr=False)
class Scorecard:
    """An additive card of integers: the points of a person, and the points that are enough.

    Points are summed over the features. A plan whose final state has `needed` points or more is likely to lead to a
    favourable decision; the log odds of that are ``slope * points - shift``.

    Parameters
    ----------
    problem : Problem
        The problem that the card plans for.
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
    >>> income = CardFeature(0, (500.0, 1000.0), (0, 7, 20))
    >>> card = Scorecard(problem, (income,), needed=20, slope=0.5, shift=8.0)
    >>> states = problem.states([{"income": 400}, {"income": 500}, {"income": 1200}])
    >>> card.points(states).tolist()
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

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a card from a file. Nothing in the file is executed.

        Parameters
        ----------
        path : str or Path
            A card.json.

        Returns
        -------
        Scorecard
            The card, with the problem that it was made for.

        Raises
        ------
        StorageError
            If the file cannot be read or is damaged; the message names the place.
        ProblemError
            If the problem in the file is invalid.

        Examples
        --------
        >>> from counterplan import Scorecard, benchmarks
        >>> from counterplan.scorecard import CardFeature
        >>> german = benchmarks.load("german")
        >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
        >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
        >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
        >>> card.save("card.json")
        >>> Scorecard.load("card.json")
        Scorecard('german': 2 features, 13 entries)
        """
        return cls(*io.load(path))

    def save(self, path: str | Path) -> None:
        """Save the card to a file, whole or not at all; equal cards give equal files.

        Parameters
        ----------
        path : str or Path
            The file, which `load` reads.

        Raises
        ------
        StorageError
            If the file cannot be written.
        SettingError
            If the model card holds something other than plain data.

        Examples
        --------
        >>> from counterplan import Scorecard, benchmarks
        >>> from counterplan.scorecard import CardFeature
        >>> german = benchmarks.load("german")
        >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
        >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
        >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
        >>> card.save("card.json")
        """
        io.save(self, path)

    def export(self, path: str | Path) -> None:
        """Write the card as a page, a Python module, a drawing or its own file, whole or not at all.

        Parameters
        ----------
        path : str or Path
            The extension names the format: .html, .py, .svg or .json.

        Raises
        ------
        SettingError
            If the extension is another one.
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> from counterplan import Scorecard, benchmarks
        >>> from counterplan.scorecard import CardFeature
        >>> german = benchmarks.load("german")
        >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
        >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
        >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
        >>> for name in ("card.html", "card.py", "card.svg"):
        ...     card.export(name)
        """
        from counterplan.scorecard.export import export

        export(self, path)

    def to_text(self) -> str:
        """The card as a table that fits one page: features, their values, and the points of these.

        Returns
        -------
        str
            Several lines of plain text.

        Examples
        --------
        >>> from counterplan import Scorecard, benchmarks
        >>> from counterplan.scorecard import CardFeature
        >>> german = benchmarks.load("german")
        >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
        >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
        >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
        >>> print(card.to_text())
        German Credit: points
        Add up the points of your values. With 8 points or more, the decision should be favourable.
        <BLANKLINE>
        your savings             unknown or none   0    moderate          5    rich             10
                                 little            0    quite rich        8
        the purpose of the loan  business                  0    furniture or equipment    0
                                 car                       0    radio or TV               0
                                 domestic appliances       0    repairs                   0
                                 education                 0    holidays or other things  8
        <BLANKLINE>
        No points for your sex.
        Nothing of this is checked with the model that decides: have a plan checked before you rely on it.
        """
        from counterplan.scorecard.text import card_text

        return card_text(self)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"Scorecard({self.problem.name!r}: {len(self.features)} features, {self.entries} entries)"

    def _repr_html_(self) -> str:
        from counterplan.scorecard.export.display import to_display

        return to_display(self)

    @property
    def entries(self) -> int:
        """Number of entries in all features."""
        return sum(len(one.all_points) for one in self.features)

    @property
    def even(self) -> int:
        """The fewest points with which a favourable decision is as likely as not; `needed` if that takes more."""
        even = self.shift / self.slope
        return math.ceil(even) if even < self.needed else self.needed

    def parts(self, states: Floats | PeopleTable) -> Ints:
        """Points by feature.

        Parameters
        ----------
        states : array of shape [n, F], or table of people
            The people, as states or as a table.

        Returns
        -------
        int array of shape [n, len(features)]
            The points of each person for each feature of the card.

        Examples
        --------
        >>> from counterplan import Scorecard, benchmarks
        >>> from counterplan.scorecard import CardFeature
        >>> german = benchmarks.load("german")
        >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
        >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
        >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
        >>> card.parts(german.refused_test.iloc[[4, 5]])
        array([[0, 0],
               [8, 0]])
        """
        states = states if isinstance(states, np.ndarray) else self.problem.read(states).states
        parts = np.zeros((len(states), len(self.features)), np.int64)
        for place, one in enumerate(self.features):
            parts[:, place] = one(states[:, one.feature])
        return parts

    def points(self, states: Floats | PeopleTable) -> Ints:
        """Points in all.

        Parameters
        ----------
        states : array of shape [n, F], or table of people
            The people, as states or as a table.

        Returns
        -------
        int array of shape [n]
            The sum of the points of each person.

        Examples
        --------
        >>> from counterplan import Scorecard, benchmarks
        >>> from counterplan.scorecard import CardFeature
        >>> german = benchmarks.load("german")
        >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
        >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
        >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
        >>> card.points(german.refused_test.head(5))
        array([ 0,  0,  0, 10,  0])
        """
        return np.asarray(self.parts(states).sum(axis=1))

    def required(self, starts: Floats) -> Ints:
        """Points that plans of refused people must reach: `needed`, and more than they have.

        Parameters
        ----------
        starts : array of shape [n, F]
            The states in which the people are.

        Returns
        -------
        int array of shape [n]
            Points for each person.

        Examples
        --------
        >>> from counterplan import Scorecard, benchmarks
        >>> from counterplan.scorecard import CardFeature
        >>> german = benchmarks.load("german")
        >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
        >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
        >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
        >>> card.required(german.problem.read(german.refused_test.head(5)).states)
        array([ 8,  8,  8, 11,  8])
        """
        return np.asarray(np.maximum(self.needed, self.points(starts) + 1))

    def acceptable(self, starts: Floats) -> Ints:
        """Points that plans must have where `required` is out of reach: a favourable decision is as likely as not.

        Parameters
        ----------
        starts : array of shape [n, F]
            The states in which the people are.

        Returns
        -------
        int array of shape [n]
            At most `required`, and more than people have.

        Examples
        --------
        >>> from counterplan import Scorecard, benchmarks
        >>> from counterplan.scorecard import CardFeature
        >>> german = benchmarks.load("german")
        >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
        >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
        >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
        >>> card.acceptable(german.problem.read(german.refused_test.head(5)).states)
        array([ 6,  6,  6, 11,  6])
        """
        return np.asarray(np.clip(self.even, self.points(starts) + 1, self.required(starts)))

    def logit(self, states: Floats | PeopleTable) -> Floats:
        """Log odds of a favourable decision.

        Parameters
        ----------
        states : array of shape [n, F], or table of people
            The people, as states or as a table.

        Returns
        -------
        array of shape [n]
            ``slope * points - shift`` for each person.

        Examples
        --------
        >>> from counterplan import Scorecard, benchmarks
        >>> from counterplan.scorecard import CardFeature
        >>> german = benchmarks.load("german")
        >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
        >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
        >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
        >>> card.logit(german.refused_test.head(5))
        array([-3., -3., -3.,  2., -3.])
        """
        return np.asarray(self.slope * self.points(states) - self.shift)
