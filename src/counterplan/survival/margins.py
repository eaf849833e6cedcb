"""Scores of different models on one scale: log odds beyond each model's own cutoff."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterplan.blackbox import Answer
from counterplan.models.decision import Decision
from counterplan.models.protocol import Model
from counterplan.problem.transitions import Bools, Floats

MAX_MARGIN = 8.0
"""Margins are clipped to this absolute value."""
_EDGE = 1e-12
_BELOW = -1e-6
"""The largest margin of an unfavourable decision."""


def favourable_of(answers: Sequence[Answer]) -> Bools:
    """Whether each of `answers` [n] is favourable."""
    return np.array([answer.favourable for answer in answers], bool)


def score_margins(model: Model, decision: Decision, answers: Sequence[Answer]) -> Floats:
    """How far the score of each of `answers` is beyond the cutoff of `model`, in log odds.

    The margin of a probability is the difference of two logits. The margin of any other score is its distance from the
    cutoff, in units of a tenth of the cutoff's absolute value, but at least of 1. A margin has the sign of the
    decision, which may be another where labels decide: it is then next to 0.

    Parameters
    ----------
    model : Model
        The model that gave the answers.
    decision : Decision
        The rule by which they are favourable.
    answers : sequence of Answer
        n answers.

    Returns
    -------
    ndarray of float, shape (n,)
        Between -8 and 8; at least 0 where the decision is favourable, otherwise below; NaN where no score is known.
    """
    scores = np.array([np.nan if answer.score is None else answer.score for answer in answers], float)
    cutoff = decision.cutoff_of(model)
    if 0 < cutoff < 1 and not ((scores < 0) | (scores > 1)).any():
        margins = _logit(np.clip(scores, _EDGE, 1 - _EDGE)) - _logit(np.array(cutoff))
    else:
        margins = (scores - cutoff) / max(1.0, abs(cutoff) / 10)
    margins = np.clip(margins, -MAX_MARGIN, MAX_MARGIN)
    signed: Floats = np.where(favourable_of(answers), np.maximum(margins, 0.0), np.minimum(margins, _BELOW))
    return signed


def _logit(probability: Floats) -> Floats:
    odds: Floats = np.log(probability) - np.log1p(-probability)
    return odds
