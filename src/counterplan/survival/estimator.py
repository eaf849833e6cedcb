"""The interface of survival estimates: the chance that a retrained model still says yes at the end of a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints

Source = Literal["refits", "committee", "margin", ""]
"""What an estimate is based on; empty if there is none."""
UNKNOWN = "Whether the model would still say yes after it is trained again is not known."
"""Sentence on plans whose survival is not stated."""
REMEDY = (
    "pass refits=[…] (--refit) with retrained models to Recourse, or fit with people whose table has the column of the "
    "outcome"
)
"""How to get a better estimate."""


class SurvivalEstimator(ABC):
    """Estimates the chance that a model trained again on such data is favourable in a state.

    Attributes
    ----------
    source : str
        What the estimate is based on: "refits", "committee" or "margin"; "" if there is none.
    refits : tuple of str
        Fingerprints of the retrained models that the estimate uses.
    portable : bool
        Whether the estimator can be sent to other processes.
    sends_queries : bool
        Whether an estimate about a state is a query of the black box.
    """

    source: ClassVar[Source]
    refits: tuple[str, ...] = ()
    portable: bool = True
    sends_queries: bool = False

    @abstractmethod
    def chance(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """Estimate the chance that `states` are favourable to a retrained model.

        Parameters
        ----------
        problem : Problem
            The problem of the states.
        people : People
            B people, refused as they are.
        states : array of shape [n, F]
            States of these people.
        rows : int array of shape [n]
            The person of each state.

        Returns
        -------
        array of shape [n]
            Chances from 0 to 1.
        """

    def prepare(self, people: People) -> SurvivalEstimator:
        """Return the estimator for plans of `people`: itself, unless it is to be calibrated on plans first."""
        return self

    def require(self, problem: Problem, people: People) -> None:  # noqa: B027 -- most estimators have no condition
        """Raise a SettingError if plans for `people` cannot be chosen by this estimate."""

    def predicted(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """Estimate the same without queries, to select among states before they are queried."""
        return self.chance(problem, people, states, rows)

    def of_states(self, states: Floats) -> Floats | None:
        """The predicted chance [n] of `states` [n, F], if it does not depend on the person; otherwise None."""
        return None

    @property
    def reason(self) -> str:
        """Why no chance is stated, as a sentence for applicants; empty if one is."""
        return ""

    def falls_short(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Bools:
        """Whether the chance of each of `states` [n, F] includes that changes fall short."""
        return np.zeros(len(states), bool)

    @property
    def largest(self) -> float:
        """The largest chance that is ever stated: below 1 if something is subtracted."""
        return 1.0


class NoEstimate(SurvivalEstimator):
    """States no chance.

    Parameters
    ----------
    reason : str
        Why, as a sentence for applicants.
    remedy : str
        How to get an estimate, for engineers.
    """

    source: ClassVar[Source] = ""

    def __init__(self, reason: str, remedy: str) -> None:
        self._reason, self.remedy = reason, remedy

    @property
    def reason(self) -> str:
        """Why no chance is stated."""
        return self._reason

    def chance(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """NaN [n]."""
        return np.full(len(states), np.nan)

    def require(self, problem: Problem, people: People) -> None:
        """See `SurvivalEstimator.require`."""
        raise SettingError(f"there is no estimate of survival to plan with: {self.remedy}")
