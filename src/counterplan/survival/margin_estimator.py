"""Survival by the score of today's model alone: how far a state is beyond the decision boundary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from counterplan.blackbox import Answer, BlackBox
from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.survival.calibration import MARGIN_ONLY
from counterplan.survival.estimator import REMEDY, UNKNOWN, Source, SurvivalEstimator

if TYPE_CHECKING:
    from counterplan.surrogate.surrogate import Surrogate

MAX_STATED = 0.8
"""The largest chance that is stated: margins of different models are hardly comparable."""
_MAX_SPREAD = 3.0
"""Spread of margins, in log odds, that the benchmarks' models do not exceed."""
_NEEDED = f"probabilities: {REMEDY}"


class MarginEstimator(SurvivalEstimator):
    """Estimates survival by the margin of the model's score.

    Nothing tells how much retraining changes this model, so that the chances are those of the benchmark models, and no
    chance above `MAX_STATED` is stated. Margins of a model that is more certain of its decisions are scaled down.

    Parameters
    ----------
    box : BlackBox
        A model that gives scores.
    surrogate : Surrogate, optional
        A surrogate of scores, which predicts margins without queries.
    spread : float, optional
        Standard deviation of the model's margins over people and random plans.
    """

    source: ClassVar[Source] = "margin"

    portable = False

    def __init__(self, box: BlackBox, surrogate: Surrogate | None = None, spread: float | None = None) -> None:
        self._box = box
        self._scale = 1.0 if spread is None else min(1.0, _MAX_SPREAD / max(spread, _MAX_SPREAD))
        self._surrogate = surrogate if surrogate is not None and surrogate.link is not None else None
        self.sends_queries = self._surrogate is None

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
        return MAX_STATED

    def chance(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.chance`; from known scores, without queries, and NaN where none is known."""
        margins = self._margins(problem, self._box.session(problem, people).cached(states, rows))
        unknown = np.flatnonzero(np.isnan(margins))
        if self._surrogate is not None and len(unknown):
            margins[unknown] = predicted_margins(self._surrogate, states[unknown])
        return np.minimum(self._chance(margins), MAX_STATED)

    def predicted(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.predicted`; by the surrogate, or, without one, by queries."""
        if self._surrogate is not None:
            return self._chance(predicted_margins(self._surrogate, states))
        answers = self._box.session(problem, people, scores=True).answers(states, rows)
        return np.nan_to_num(self._chance(self._margins(problem, answers)))  # without a score, nothing is known to last

    def _chance(self, margins: Floats) -> Floats:
        """Chances [n] of `margins` [n], to select among states."""
        return MARGIN_ONLY.chance(self._scale * margins)

    def _margins(self, problem: Problem, answers: Sequence[Answer | None]) -> Floats:
        """Margins [n] of answers; NaN where the score is unknown, or it is not a probability and has no known scale."""
        scores = np.array([np.nan if one is None or one.score is None else one.score for one in answers], float)
        if np.isnan(scores).all():
            return scores
        if self._surrogate is not None and self._surrogate.link is not None:
            link = self._surrogate.link
            return link.margin(scores) / link.unit
        cutoff = self._box.decision(problem).cutoff_of(self._box.model)
        if not 0 < cutoff < 1 or (scores < 0).any() or (scores > 1).any():
            return np.full(len(scores), np.nan)
        from counterplan.surrogate.score_link import ScoreLink

        return ScoreLink(cutoff, probability=True).margin(scores)

    def of_states(self, states: Floats) -> Floats | None:
        """The predicted chance [n] of `states` [n, F]; None without a surrogate."""
        return None if self._surrogate is None else self._chance(predicted_margins(self._surrogate, states))


def predicted_margins(surrogate: Surrogate, states: Floats) -> Floats:
    """Margins [n] of `states` [n, F] that a surrogate of scores predicts."""
    assert surrogate.link is not None
    return surrogate.logit(states) / surrogate.link.unit
