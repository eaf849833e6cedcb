"""Survival by the score of today's model alone: how far a state is beyond the decision boundary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from counterplan.blackbox import Answer, BlackBox
from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.surrogate.score_link import ScoreLink
from counterplan.surrogate.surrogate import Surrogate
from counterplan.survival.calibration import MARGIN_ONLY
from counterplan.survival.estimator import Source, SurvivalEstimator

UNKNOWN = "Whether the model would still say yes after it is trained again is not known."
"""Sentence on plans whose survival is not stated."""
REMEDY = (
    "pass refits=[…] (--refit) with retrained models to Recourse, or fit with people whose table has the column of the "
    "outcome"
)
"""How to get a better estimate."""
_NEEDED = f"probabilities: {REMEDY}"


class MarginEstimator(SurvivalEstimator):
    """Estimates survival by the margin of the model's score.

    Nothing tells how much retraining changes this model, so that the chances are those of the benchmark models.

    Parameters
    ----------
    box : BlackBox
        A model that gives scores.
    surrogate : Surrogate, optional
        A surrogate of scores, which predicts margins without queries.
    """

    source: ClassVar[Source] = "margin"

    portable = False

    def __init__(self, box: BlackBox, surrogate: Surrogate | None = None) -> None:
        self._box = box
        self._surrogate = surrogate if surrogate is not None and surrogate.link is not None else None
        self.queries = self._surrogate is None

    @property
    def reason(self) -> str:
        """Why no chance is stated, where the score is not known."""
        return UNKNOWN

    def require(self, problem: Problem, people: People) -> None:
        """See `SurvivalEstimator.require`; without a surrogate, a person is queried as they are."""
        if self._surrogate is not None or not len(people):
            return
        answers = self._box.session(problem, people, scores=True).answers(people.states[:1], np.zeros(1, np.intp))
        if np.isnan(self._margins(problem, answers)).all():
            raise SettingError(f"there is no estimate of survival to plan with, because the model gives no {_NEEDED}")

    @property
    def largest(self) -> float:
        """See `SurvivalEstimator.largest`."""
        return 1 - MARGIN_ONLY.overstatement

    def chance(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.chance`; from known scores, without queries, and NaN where none is known."""
        margins = self._margins(problem, self._box.session(problem, people).cached(states, rows))
        unknown = np.flatnonzero(np.isnan(margins))
        if self._surrogate is not None and len(unknown):
            margins[unknown] = predicted_margins(self._surrogate, states[unknown])
        return MARGIN_ONLY.chance(margins)

    def predicted(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.predicted`; by the surrogate, or, without one, by queries."""
        if self._surrogate is not None:
            return MARGIN_ONLY.chance(predicted_margins(self._surrogate, states))
        answers = self._box.session(problem, people, scores=True).answers(states, rows)
        return MARGIN_ONLY.chance(np.nan_to_num(self._margins(problem, answers)))

    def _margins(self, problem: Problem, answers: Sequence[Answer | None]) -> Floats:
        """Margins [n] of answers; NaN where the score is unknown, or it is not a probability and has no known scale."""
        scores = np.array([np.nan if one is None or one.score is None else one.score for one in answers], float)
        if self._surrogate is not None and self._surrogate.link is not None:
            link = self._surrogate.link
            return link.margin(scores) / link.unit
        cutoff = self._box.decision(problem).cutoff_of(self._box.model)
        if not 0 < cutoff < 1 or (scores < 0).any() or (scores > 1).any():
            return np.full(len(scores), np.nan)
        return ScoreLink(cutoff, probability=True).margin(scores)

    def of_states(self, states: Floats) -> Floats | None:
        """The predicted chance [n] of `states` [n, F]; None without a surrogate."""
        return None if self._surrogate is None else MARGIN_ONLY.chance(predicted_margins(self._surrogate, states))


def predicted_margins(surrogate: Surrogate, states: Floats) -> Floats:
    """Margins [n] of `states` [n, F] that a surrogate of scores predicts."""
    assert surrogate.link is not None
    return surrogate.logit(states) / surrogate.link.unit
