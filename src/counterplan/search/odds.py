"""Log odds and probabilities."""

from __future__ import annotations

import numpy as np

from counterplan.problem.transitions import Floats

_SMALLEST = 1e-9


def sigmoid(logits: Floats) -> Floats:
    """Probabilities of logits."""
    probability: Floats = 0.5 * (np.tanh(0.5 * logits) + 1)
    return probability


def lasting_odds(odds: Floats, chance: Floats, power: float = 1.0) -> Floats:
    """Log odds [n] that states are favourable and stay so.

    Parameters
    ----------
    odds : array of shape [n]
        Log odds that they are favourable.
    chance : array of shape [n]
        The chance that favourable ones stay so.
    power : float, default=1.0
        Exponent of the chance.

    Returns
    -------
    array of shape [n]
    """
    both = -np.logaddexp(0, -odds) + power * np.log(np.maximum(chance, _SMALLEST))
    return np.asarray(both - np.log(np.maximum(-np.expm1(both), _SMALLEST)))
