"""Reasons for the steps of a card's own plans: the points that each of them brings.

Applicants read the sentences; they are plain on purpose.
"""

from __future__ import annotations

import numpy as np

from counterplan.plans import Coded, Reason, StepReason
from counterplan.problem.transitions import Floats, Ints
from counterplan.scorecard.scorecard import Scorecard
from counterplan.search.orders import NO_ACTION


def card_reasons(card: Scorecard, starts: Floats, actions: Ints) -> Coded[StepReason]:
    """The reasons of plans that reach enough points.

    Parameters
    ----------
    card : Scorecard
    starts : array of shape [B, F]
    actions : int array of shape [B, T]
        Padded with NO_ACTION.

    Returns
    -------
    Coded of shape [B, T]
        The gains of a plan's steps add up to at least what the person lacks.
    """
    transitions, states = card.problem.transitions, starts
    before = card.points(starts)
    short = np.broadcast_to((card.required(starts) - before)[:, None], actions.shape)
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
    """The reason of a step that brings `gain` of the `short` points that a person lacks."""
    if gain > 0:
        text = f"it brings {gain} of the {short} points that are missing on the card"
    elif gain == 0:
        text = "it brings no points itself, but the steps after it depend on it"
    else:
        text = f"it takes {-gain} points away, but the steps after it depend on it"
    return text, Reason("card", "", ({"points": gain, "needed": short},), gain, short)
