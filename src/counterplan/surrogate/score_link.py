"""Scores of a model as margins: how far a state is beyond the decision boundary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem.transitions import Bools, Floats

MAX_MARGIN = 6.0
"""Margins are clipped to this many units of the logit, or standard deviations of the scores."""
_MIN_DISTINCT = 20
"""Fewer distinct scores than this tell hardly more than the decisions do."""
_MIN_AGREEMENT = 0.995


@dataclass(frozen=True)
class ScoreLink:
    """Converts the scores of a model to margins, which are positive where the decision is favourable.

    Parameters
    ----------
    cutoff : float
        The score from which on a decision is favourable.
    probability : bool
        Whether scores are probabilities; margins are then differences of logits.
    scale : float, default=1.0
        Scores that count as one unit, if they are no probabilities.
    unit : float, default=1.0
        Factor on the margins: makes them comparable with the logits of a surrogate.

    Raises
    ------
    SettingError
        If a value is out of range.
    """

    cutoff: float
    probability: bool
    scale: float = 1.0
    unit: float = 1.0

    def __post_init__(self) -> None:
        if not np.isfinite([self.cutoff, self.scale, self.unit]).all() or min(self.scale, self.unit) <= 0:
            raise SettingError("the cutoff of scores is a number, and their scale and unit are positive")
        if self.probability and not 0 < self.cutoff < 1:
            raise SettingError(f"the cutoff of probabilities lies between 0 and 1, got {self.cutoff!r}")

    @classmethod
    def from_answers(cls, scores: Floats, answers: Bools, cutoff: float) -> ScoreLink | None:
        """The link for `scores` [n] of states with these `answers` [n]; None if the scores are of no use.

        Scores are of no use if some are unknown, if they take few values, or if no cutoff separates the decisions. A
        model whose labels are not those at `cutoff` has one of its own, which is estimated.
        """
        if not len(scores) or not np.isfinite(scores).all() or len(np.unique(scores)) < _MIN_DISTINCT:
            return None
        if ((scores >= cutoff) == answers).mean() < _MIN_AGREEMENT:
            cutoff = _separating(scores, answers)
            if ((scores >= cutoff) == answers).mean() < _MIN_AGREEMENT:
                return None
        if 0 < cutoff < 1 and scores.min() >= 0 and scores.max() <= 1:
            inside = (scores > 1e-9) & (scores < 1 - 1e-9)
            return cls(cutoff, True) if inside.mean() > 0.5 else None
        return cls(cutoff, False, float(scores.std()))

    def with_unit(self, unit: float) -> ScoreLink:
        """The same link with another `unit`."""
        return replace(self, unit=unit)

    def margin(self, scores: Floats) -> Floats:
        """Margins [n] of `scores` [n], clipped; NaN where a score is NaN."""
        if self.probability:
            odds = _logit(np.clip(scores, 1e-12, 1 - 1e-12)) - _logit(np.array(self.cutoff))
        else:
            odds = (scores - self.cutoff) / self.scale
        clipped: Floats = self.unit * np.clip(odds, -MAX_MARGIN, MAX_MARGIN)
        return clipped

    def to_data(self) -> dict[str, Any]:
        """Plain data, the parameters by name."""
        return {"cutoff": self.cutoff, "probability": self.probability, "scale": self.scale, "unit": self.unit}


def _separating(scores: Floats, answers: Bools) -> float:
    """The cutoff between two of the `scores` [n] that agrees with most of the `answers` [n]."""
    order = np.argsort(scores, kind="stable")
    ranked, favourable = scores[order], answers[order]
    below, above = np.cumsum(~favourable)[:-1], favourable[::-1].cumsum()[::-1][1:]
    at = int(np.argmax(np.where(ranked[:-1] < ranked[1:], below + above, -1)))
    return float(ranked[at] + ranked[at + 1]) / 2


def _logit(probability: Floats) -> Floats:
    odds: Floats = np.log(probability) - np.log1p(-probability)
    return odds
