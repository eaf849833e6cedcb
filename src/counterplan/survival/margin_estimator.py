"""Survival by the score of today's model alone: how far a state is beyond the decision boundary."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplan.blackbox import BlackBox
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.surrogate.surrogate import Surrogate
from counterplan.survival.calibration import MARGIN_ONLY
from counterplan.survival.estimator import Source, SurvivalEstimator
from counterplan.survival.margins import favourable_of, score_margins


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

    def __init__(self, box: BlackBox, surrogate: Surrogate | None = None) -> None:
        self._box = box
        self._surrogate = surrogate if surrogate is not None and surrogate.link is not None else None
        self.queries = self._surrogate is None
        self.portable = False

    @property
    def reason(self) -> str:
        """Why no chance is stated."""
        return "Whether the model would still say yes after it is trained again is not known."

    def chance(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.chance`; from known scores, without queries, and NaN where none is known."""
        session = self._box.session(problem, people, scores=True)
        answers = session.cached(states, rows)
        margins = np.full(len(rows), np.nan)
        known = np.flatnonzero([answer is not None and answer.score is not None for answer in answers])
        if len(known):
            scored = [answer for answer in answers if answer is not None and answer.score is not None]
            margins[known] = score_margins(self._box.model, session.decision, scored)
        unknown = np.flatnonzero(np.isnan(margins))
        if self._surrogate is not None and len(unknown):
            margins[unknown] = predicted_margins(self._surrogate, states[unknown])
        return MARGIN_ONLY.chance(margins)

    def predicted(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.predicted`; by the surrogate, or, without one, by queries."""
        if self._surrogate is not None:
            return MARGIN_ONLY.chance(predicted_margins(self._surrogate, states))
        session = self._box.session(problem, people, scores=True)
        answers = session.answers(states, rows)
        margins = score_margins(self._box.model, session.decision, answers)
        decided = np.where(favourable_of(answers), 0.0, -np.inf)
        return MARGIN_ONLY.chance(np.where(np.isnan(margins), decided, margins))

    def of_states(self, states: Floats) -> Floats | None:
        """The predicted chance [n] of `states` [n, F]; None without a surrogate."""
        return None if self._surrogate is None else MARGIN_ONLY.chance(predicted_margins(self._surrogate, states))


def predicted_margins(surrogate: Surrogate, states: Floats) -> Floats:
    """Margins [n] of `states` [n, F] that a surrogate of scores predicts."""
    assert surrogate.link is not None
    return surrogate.logit(states) / surrogate.link.unit
