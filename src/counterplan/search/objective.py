"""The objective of plans that are to last: cost, and the chance that the end stays favourable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterplan.problem.transitions import Floats, Ints

_TOLERANCE = 1e-9
"""A chance this much below the one demanded still meets it."""
_PRECISION = 0.01
"""Chances that differ by less count as equal, if none is sufficient."""


@dataclass(frozen=True)
class Objective:
    """What a plan minimizes: cost + `weight` × least cost × (1 − chance), or the cost of a sufficient chance.

    No value is below the cost of its plan, so that an enumeration in order of cost bounds the values to come.

    Parameters
    ----------
    chance : callable
        The chance [n] that the ends `states` [n, F] of plans of the people `rows` [n] stay favourable.
    weight : float
        Weight of the chance, in multiples of the least cost. Not used with `at_least`.
    at_least : float, optional
        The chance that a plan is to have. Plans that have it are ordered by cost; all others come after them, by
        chance in hundredths: smaller differences are not worth any cost.
    of_states : callable, optional
        The chance [n] of `states` [n, F], if it does not depend on the person.
    """

    chance: Callable[[Floats, Ints], Floats]
    weight: float = 0.0
    at_least: float | None = None
    of_states: Callable[[Floats], Floats] | None = None

    def values(self, cost: Floats, chance: Floats, least: Floats, ceiling: Floats) -> Floats:
        """Values [n] of plans.

        Parameters
        ----------
        cost, chance : arrays of shape [n]
            Of the plans.
        least : array of shape [n]
            The least cost of a favourable plan of the same person.
        ceiling : array of shape [n]
            A number that no plan of the same person exceeds in cost.

        Returns
        -------
        array of shape [n]
        """
        if self.at_least is None:
            return np.asarray(cost + self.weight * least * (1 - chance))
        stated = np.floor(chance / _PRECISION + _TOLERANCE) * _PRECISION
        return np.where(self.is_met(chance), cost, ceiling * (2 - stated))

    def is_met(self, chance: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Whether each chance [n] is the one demanded, or more; False if none is."""
        if self.at_least is None:
            return np.zeros(len(chance), bool)
        return np.asarray(chance >= self.at_least - _TOLERANCE)
