"""How the values of a feature go with favourable outcomes, among the people of a table."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from counterplan.problem.transitions import Bools, Floats

CLEAR_AREA = 0.05
CLEAR_DEVIATIONS = 3.0
COPY = 0.99
"""A feature that separates the outcomes at least this well is likely a copy of the outcome."""
ENOUGH_PEOPLE = 20
"""With fewer people of either outcome, nothing is inferred."""


class Association(NamedTuple):
    """How a feature goes with favourable outcomes."""

    strength: float
    """From 0 to 1; comparable between numbers and categories."""
    area: float = 0.5
    """The chance that a person with a favourable outcome has a larger value than one without (numbers and ranks)."""
    clear: bool = False
    """Whether the direction is beyond chance, and not small."""

    @property
    def raises(self) -> bool:
        """Whether larger values go with favourable outcomes."""
        return self.area > 0.5

    @property
    def is_copy(self) -> bool:
        """Whether the feature is likely a copy of the outcome."""
        return self.strength >= 2 * COPY - 1


def of_ranks(column: Floats, favourable: Bools) -> Association:
    """The association of a number, or of the ranks of an ordered category, [B] with outcomes [B]; NaN is left out."""
    known = ~np.isnan(column)
    good, bad = int((known & favourable).sum()), int((known & ~favourable).sum())
    if min(good, bad) < ENOUGH_PEOPLE:
        return Association(0.0)
    ranks = rankdata(column[known])
    area = (ranks[favourable[known]].sum() - good * (good + 1) / 2) / (good * bad)
    deviations = abs(area - 0.5) / math.sqrt((good + bad + 1) / (12 * good * bad))
    clear = abs(area - 0.5) >= CLEAR_AREA and deviations >= CLEAR_DEVIATIONS
    return Association(2 * abs(area - 0.5), float(area), bool(clear))


def of_categories(column: Floats, favourable: Bools) -> Association:
    """The association of a category [B] (indices of values) with outcomes [B]: that of its favourable shares."""
    known = ~np.isnan(column)
    codes = column[known].astype(np.intp)
    if min(int(favourable[known].sum()), int((~favourable[known]).sum())) < ENOUGH_PEOPLE:
        return Association(0.0)
    counts = np.bincount(codes)
    overall = favourable[known].mean()
    shares = (np.bincount(codes, favourable[known]) + 5 * overall) / (counts + 5)
    return Association(of_ranks(shares[codes], favourable[known]).strength)
