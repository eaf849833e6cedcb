"""Calibration of logits to the chance that a retrained model decides favourably."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem.transitions import Bools, Floats
from counterplan.surrogate.surrogate import sigmoid


@dataclass(frozen=True)
class LogisticCalibration:
    """Chances ``sigmoid(slope * logit + shift) - overstatement``, clipped to [0, 1].

    Parameters
    ----------
    slope, shift : float
        Of the logistic regression of answers on logits.
    overstatement : float, default=0.0
        By how much chances at the ends of plans are overstated: plans select the states whose chance is overestimated.

    Examples
    --------
    >>> import numpy as np
    >>> LogisticCalibration(1.0, 0.0, 0.1).chance(np.array([-9.0, 0.0, 9.0])).round(2).tolist()
    [0.0, 0.4, 0.9]
    """

    slope: float
    shift: float
    overstatement: float = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite([self.slope, self.shift, self.overstatement]).all() or self.slope < 0:
            raise SettingError("a calibration has three finite numbers, and its slope is not negative")

    @classmethod
    def fit(cls, logits: Floats, answers: Bools, overstatement: float = 0.0) -> LogisticCalibration:
        """Fit to `logits` [n] and today's `answers` [n] at states that were not selected by looking at the model.

        Parameters
        ----------
        logits : ndarray of shape (n,)
        answers : ndarray of shape (n,)
            Whether the model's decision is favourable.
        overstatement : float, default=0.0

        Returns
        -------
        LogisticCalibration

        Raises
        ------
        SettingError
            If there is not one answer for each logit, or there is none.
        """
        logits, answers = np.asarray(logits, float), np.asarray(answers, bool)
        if logits.ndim != 1 or logits.shape != answers.shape or not len(logits) or not np.isfinite(logits).all():
            raise SettingError(f"a calibration needs one answer for each logit, got {len(logits):,} logits")
        slope, shift = _regression(logits, answers)
        return cls(max(0.0, slope), shift, overstatement)

    def chance(self, logits: Floats) -> Floats:
        """The chance [n] of `logits` [n]."""
        chance: Floats = np.clip(sigmoid(self.slope * logits + self.shift) - self.overstatement, 0.0, 1.0)
        return chance


_PENALTY = 0.5
"""Of squared deviations from slope 1 and shift 0, in units of answers: it bounds the fit of separable answers."""


def _regression(logits: Floats, answers: Bools, steps: int = 50) -> tuple[float, float]:
    """Slope and shift of a penalized logistic regression, by Newton's method."""
    x = np.stack([logits, np.ones(len(logits))], axis=1)
    prior, weights = np.array([1.0, 0.0]), np.array([1.0, 0.0])
    for _ in range(steps):
        chance = sigmoid(x @ weights)
        gradient = x.T @ (chance - answers) + _PENALTY * (weights - prior)
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + _PENALTY * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-10:
            break
    return float(weights[0]), float(weights[1])
