"""Calibration of a committee's logits to the chance that a retrained model decides favourably.

Today's model is one draw from the models that training on such data gives, so its answers calibrate the committee, as
long as the states were not selected by looking at the model. With decisions only, that is a logistic regression. With
scores, the committee predicts the margin of today's model with some error; a part of it is common to all models of
that kind, so today's margin is evidence about retrained models as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem.transitions import Bools, Floats
from counterplan.search.odds import sigmoid

_MAX_NUMBER = 1e6
"""Largest absolute value of the parameters of a calibration."""


def _check(slope: float, shift: float, overstatement: float) -> None:
    """Raise a SettingError unless these are sensible parameters of a calibration."""
    if not (0 <= slope <= _MAX_NUMBER and abs(shift) <= _MAX_NUMBER and 0 <= overstatement < 1):
        raise SettingError(
            f"a calibration has a slope from 0 to {_MAX_NUMBER:g}, a shift of at most that size, and an overstatement "
            "from 0 to 1"
        )


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
    >>> calibration = LogisticCalibration(1.0, 0.0, 0.1)
    >>> calibration.chance(np.array([-9.0, 0.0, 9.0])).round(2).tolist()
    [0.0, 0.4, 0.9]
    """

    slope: float
    shift: float
    overstatement: float = 0.0

    def __post_init__(self) -> None:
        _check(self.slope, self.shift, self.overstatement)

    @classmethod
    def fit(cls, logits: Floats, answers: Bools, overstatement: float = 0.0) -> LogisticCalibration:
        """Fit to `logits` [n] and today's `answers` [n] at states that were not selected by looking at the model.

        Parameters
        ----------
        logits : ndarray of shape (n,)
            Logits of the committee.
        answers : ndarray of shape (n,)
            Whether the model's decision is favourable.
        overstatement : float, default=0.0
            As for the class.

        Returns
        -------
        LogisticCalibration
            The fitted calibration.

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


SHARED = 0.3
"""The share of the variance of a committee's error that is common to today's and to retrained models.

On the benchmarks it is about 0 (german), 0.5 (adult) and 0.6 (taiwan); too large a share overstates chances.
"""
OVERSTATEMENT = 0.02
"""Subtracted from these chances: the largest mean overstatement on the benchmarks, rounded up."""
_MIN_ERROR = 1e-3
_MAX_SHARED = 0.999
_NEAR = 0.9
"""The error is that of this share of the states: those far from the decision boundary have other errors."""
_ITERATIONS = 4
"""Of the regression, whose weights are larger near the decision boundary."""


@dataclass(frozen=True)
class MarginCalibration:
    """Chances by a committee and by the margin of today's model.

    The margin of a model is modelled as ``slope * logit + shift + error``. Today's and a retrained model share a part
    of the error; given today's margin, the chance is that of a positive margin of the retrained model.

    Parameters
    ----------
    slope, shift : float
        Of the regression of margins on logits.
    error : float
        Its standard error.
    shared : float, default=0.3
        The share of the error's variance that is common to today's model and to retrained ones, below 1.
    overstatement : float, default=0.02
        Subtracted from chances.

    Examples
    --------
    >>> import numpy as np
    >>> calibration = MarginCalibration(1.0, 0.0, 1.0)
    >>> calibration.chance(np.array([1.0, 1.0]), np.array([0.1, 3.0])).round(2).tolist()
    [0.76, 0.93]
    """

    slope: float
    shift: float
    error: float
    shared: float = SHARED
    overstatement: float = OVERSTATEMENT

    def __post_init__(self) -> None:
        _check(self.slope, self.shift, self.overstatement)
        if not _MIN_ERROR <= self.error <= _MAX_NUMBER or not 0 <= self.shared <= _MAX_SHARED:
            raise SettingError(f"a calibration has an error of at least {_MIN_ERROR} and a shared part below 1")

    @classmethod
    def fit(
        cls, logits: Floats, margins: Floats, shared: float = SHARED, overstatement: float = OVERSTATEMENT
    ) -> MarginCalibration:
        """Fit to `logits` [n] and today's `margins` [n] at states that were not selected by looking at the model.

        Parameters
        ----------
        logits : ndarray of shape (n,)
            Logits of the committee.
        margins : ndarray of shape (n,)
            Differences of log odds from the threshold: positive where the decision is favourable.
        shared, overstatement : float
            As for the class.

        Returns
        -------
        MarginCalibration
            The fitted calibration.

        Raises
        ------
        SettingError
            If there is not one margin for each logit, or there are fewer than three.
        """
        logits, margins = np.asarray(logits, float), np.asarray(margins, float)
        finite = np.isfinite(logits).all() and np.isfinite(margins).all()
        if logits.ndim != 1 or logits.shape != margins.shape or len(logits) < 3 or not finite:
            raise SettingError(f"a calibration needs one margin for each logit, got {len(logits):,} logits")
        slope, shift, weight = 0.0, 0.0, np.full(len(logits), 1 / len(logits))
        for _ in range(_ITERATIONS):
            slope, shift = _line(logits, margins, weight)
            distance = np.abs(slope * logits + shift)  # of predictions: selecting by the margins themselves is biased
            weight = 1 / (1 + distance / max(_MIN_ERROR, float(distance.std()))) ** 2
            weight /= weight.sum()
        near = distance <= np.quantile(distance, _NEAR)
        squares = (margins - slope * logits - shift)[near] ** 2
        error = max(_MIN_ERROR, float(np.sqrt(np.average(squares, weights=weight[near]))))
        return cls(slope, shift, error, shared, overstatement)

    def chance(self, logits: Floats, margins: Floats | None = None) -> Floats:
        """The chance [n] of `logits` [n], where today's model has the `margins` [n], if these are known."""
        from scipy.special import ndtr  # imported on use: programs do without it

        expected, shared = self.slope * logits + self.shift, 0.0
        if margins is not None:
            shared = self.shared
            expected = (1 - shared) * expected + shared * margins
        units = expected / (self.error * np.sqrt(1 - shared**2))
        chance: Floats = np.clip(ndtr(units) - self.overstatement, 0.0, 1.0)
        return chance


def _line(logits: Floats, margins: Floats, weight: Floats) -> tuple[float, float]:
    """Slope, at least 0, and shift of the regression of `margins` [n] with `weight` [n], whose sum is 1."""
    center, level = float(weight @ logits), float(weight @ margins)
    spread = float(weight @ (logits - center) ** 2)
    slope = max(0.0, float(weight @ ((logits - center) * (margins - level))) / spread) if spread else 0.0
    return slope, level - slope * center


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


MARGIN_ONLY = LogisticCalibration(1.5, -0.4)
"""Of margins alone, where no outcomes are known: it understates on german and taiwan, hardly overstates on adult."""
