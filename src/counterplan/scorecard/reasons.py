"""Reasons for the steps of a card's own plans: the points that each of them brings.

Applicants read the sentences; they are plain on purpose.
"""

from __future__ import annotations

import numpy as np

from counterplan.plans import Coded, Reason, StepReason
from counterplan.problem.transitions import Floats, Ints
from counterplan.scorecard.scorecard import Scorecard
from counterplan.search.orders import NO_ACTION


def card_reasons(card: Scorecard, starts: Floats, actions: Ints, *, verified: bool = False) -> Coded[StepReason]:
    """The reasons of plans of a card.

    Parameters
    ----------
    card : Scorecard
    starts : array of shape [B, F]
    actions : int array of shape [B, T]
        Padded with NO_ACTION.
    verified : bool, default=False
        Whether the model confirmed the plans, whatever the number of points that they reach.

    Returns
    -------
    Coded of shape [B, T]
        The gains of the steps of a plan that is not verified add up to what the person lacks, or the most within reach.
    """
    transitions, states = card.problem.transitions, starts
    before = card.points(starts)
    lacking = np.zeros(len(starts), np.int64) if verified else np.maximum(card.needed - before, 0)
    short = np.broadcast_to(lacking[:, None], actions.shape)
    gains = np.zeros(actions.shape, np.int64)
    for t in range(actions.shape[1]):
        states = transitions.apply(states, np.where(actions[:, t] == NO_ACTION, transitions.stop, actions[:, t]))
        after = card.points(states)
        gains[:, t], before = after - before, after
    reasons: Coded[StepReason] = Coded.empty(actions.shape)
    taken = actions != NO_ACTION
    pairs, codes = np.unique(np.stack([gains[taken], short[taken]]), axis=1, return_inverse=True)
    reasons.codes[taken] = codes.ravel()
    reasons.values += [_reason(gain, lacking) for gain, lacking in pairs.T.tolist()]
    return reasons


def _reason(gain: int, short: int) -> StepReason:
    """The reason of a step that brings `gain` of the `short` points that a person lacks; 0 if none are missing."""
    if gain == 0:
        text = "it brings no points by itself, but is part of the way with the least effort"
    elif gain < 0:
        text = f"it takes {_count(-gain)} away by itself, but is part of the way with the least effort"
    elif 0 < gain < short:
        text = f"it brings {gain} of the {short} points that are missing on the card"
    else:
        text = f"it brings {_count(gain)} on the card"
    facts = {"points": gain} | ({"needed": short} if short else {})
    return text, Reason("card", "", (facts,), gain, short or None)


def _count(points: int) -> str:
    return "1 point" if points == 1 else f"{points} points"
