"""Correct a surrogate's predictions for one person by the answers about that person.

The errors of a surrogate belong to people more than to states: if it is too optimistic about one state of a person, it
is so about most of them. The latent log odds of a person's states are therefore modelled as a Gaussian process around
the surrogate's, and every answer about the person, favourable or not, conditions it. S answers, M mutable features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem.transitions import Floats, Ints

PROBIT = 1.702
"""Standard deviation of the Gaussian whose distribution function is closest to the logistic one."""
_NOISE = 1e-3
"""Variance of the noise of an observed margin, as a share of the prior variance."""
_LOCAL_LENGTH = 2.0
"""Length scale of the similarity of whole states."""
_SQRT_2 = math.sqrt(2.0)


@dataclass(frozen=True)
class ErrorModel:
    """The covariance of a surrogate's errors about the states of one person.

    The correlation of two different states is ``shared + additive * a + local * l``, where `a` is the mean of
    ``exp(-distance)`` over the mutable features, and `l` is ``exp(-total distance / 2)``.

    Parameters
    ----------
    sd : float, default=1.702
        Standard deviation of the errors, in units of the logit. The default makes the probability of a positive value
        that of a calibrated logit.
    shared, additive, local : float, default=0.4, 0.2, 0.4
        Shares of the variance: common to all states of a person, to states with similar values of a feature, to similar
        states. The rest is independent.
    scale : tuple of float
        For each feature, the distance that counts as 1; 0 for categories, where different values have distance 1.

    Raises
    ------
    SettingError
        If a value is out of range.
    """

    sd: float = PROBIT
    shared: float = 0.4
    additive: float = 0.2
    local: float = 0.4
    scale: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        numbers = (self.sd, self.shared, self.additive, self.local, *self.scale)
        if not (np.isfinite(numbers).all() and self.sd > 0 and min(numbers) >= 0):
            raise SettingError("an error model has a positive 'sd', and no negative shares or scales")
        if self.shared + self.additive + self.local > 1 + 1e-6:
            raise SettingError("the shares of an error model, 'shared', 'additive' and 'local', add up to 1 at most")

    def of_features(self, indices: Ints) -> ErrorModel:
        """The model for states that consist of the features `indices` [M]."""
        return replace(self, scale=tuple(self.scale[index] for index in indices.tolist()))

    def covariance(self, states: Floats, others: Floats) -> Floats:
        """The covariance [n] of the errors about `states` [n, M] and others [n, M], row by row, if they differ."""
        additive, local = similarity(states, others, self.scale)
        correlation: Floats = self.shared + self.additive * additive + self.local * local
        return self.sd**2 * correlation


def similarity(states: Floats, others: Floats, scale: Sequence[float]) -> tuple[Floats, Floats]:
    """Similarity [n] of the features, on average, and of the whole of `states` [n, M] and `others` [n, M]."""
    additive, total = np.zeros(len(states)), np.zeros(len(states))
    for column, unit in enumerate(scale):
        distance = _distance(states[:, column], others[:, column], unit)
        additive += np.exp(-distance)
        total += np.minimum(distance, 1)
    return additive / max(1, len(scale)), np.exp(-total / _LOCAL_LENGTH)


def _distance(one: Floats, other: Floats, scale: float) -> Floats:
    """Distances [n] of the values of a feature; a missing value has distance 1 from all others."""
    missing = np.isnan(one), np.isnan(other)
    apart = (one != other).astype(float) if scale == 0 else np.abs(one - other) / scale
    return np.where(missing[0] | missing[1], (missing[0] != missing[1]).astype(float), apart)


class Belief:
    """Gaussian beliefs about the states of B people, conditioned on answers one after the other.

    Every answer is a rank-one update, which is stored, so that states which are enumerated later can be conditioned on
    earlier answers.

    Parameters
    ----------
    errors : ErrorModel
        For the M mutable features.
    people : int
        B.
    """

    def __init__(self, errors: ErrorModel, people: int) -> None:
        self.errors = errors
        width = len(errors.scale)
        self.count = np.zeros(people, np.intp)
        """[B] number of answers."""
        self._states = np.empty((people, 0, width))
        self._gain, self._shrinkage = np.empty((people, 0)), np.empty((people, 0))
        """[B, S] change of the mean, and of the covariance, for each unit of a state's loading."""
        self._loadings = np.empty((people, 0, 0))
        """[B, S, S] loadings of the answered states."""

    def __len__(self) -> int:
        """S, the largest number of answers about one person."""
        return self._gain.shape[1]

    def prior(self, states: Floats, person: Ints, logit: Floats) -> tuple[Floats, Floats, Floats]:
        """Condition states that are new on all answers so far.

        Parameters
        ----------
        states : ndarray of shape (n, M)
        person : ndarray of shape (n,)
        logit : ndarray of shape (n,)
            The surrogate's.

        Returns
        -------
        mean, variance : ndarray of shape (n,)
        loadings : ndarray of shape (n, S)
        """
        mean, variance = logit.astype(float), np.full(len(states), self.errors.sd**2)
        loadings = np.zeros((len(states), len(self)))
        for answer in range(len(self)):
            rows = np.flatnonzero(self.count[person] > answer)
            loadings[rows, answer] = self._loading(states[rows], person[rows], loadings[rows], answer)
            self._condition(mean, variance, loadings[:, answer], person, answer)
        return mean, variance, loadings

    def _loading(self, states: Floats, person: Ints, loadings: Floats, answer: int) -> Floats:
        """Covariance [n] of `states` with the state of an answer, given the answers before it."""
        covariance = self.errors.covariance(states, self._states[person, answer])
        earlier = self._shrinkage[person, :answer] * self._loadings[person, answer, :answer]
        explained: Floats = np.einsum("ij,ij->i", earlier, loadings[:, :answer])
        return covariance - explained

    def _condition(self, mean: Floats, variance: Floats, loading: Floats, person: Ints, answer: int) -> None:
        mean += self._gain[person, answer] * loading
        variance -= self._shrinkage[person, answer] * loading**2
        np.maximum(variance, _NOISE * self.errors.sd**2, out=variance)

    def observe(self, person: Ints, states: Floats, belief: tuple[Floats, Floats, Floats], answers: Answers) -> None:
        """Condition on one answer about each of the people `person` [n].

        Parameters
        ----------
        person : ndarray of shape (n,)
            Different people.
        states : ndarray of shape (n, M)
            The states that were answered.
        belief : tuple of ndarray
            Mean [n], variance [n] and loadings [n, S] of these states, as `prior` returns them.
        answers : Answers
        """
        if not len(person):
            return
        mean, variance, loadings = belief
        at = self.count[person]
        if at.max() >= len(self):
            self._grow()
        width = loadings.shape[1]
        self._states[person, at] = states
        self._loadings[person, at, :width] = loadings
        gain, shrinkage = answers.update(mean, variance, self.errors.sd)
        self._gain[person, at], self._shrinkage[person, at] = gain, shrinkage
        self.count[person] += 1

    def _grow(self) -> None:
        self._states = np.pad(self._states, ((0, 0), (0, 1), (0, 0)))
        self._gain = np.pad(self._gain, ((0, 0), (0, 1)))
        self._shrinkage = np.pad(self._shrinkage, ((0, 0), (0, 1)))
        self._loadings = np.pad(self._loadings, ((0, 0), (0, 1), (0, 1)))

    def update(
        self, states: Floats, person: Ints, mean: Floats, variance: Floats, loadings: Floats, columns: Ints
    ) -> None:
        """Condition known states, in place, on the latest answer about their person.

        Parameters
        ----------
        states : ndarray of shape (n, M)
        person : ndarray of shape (n,)
        mean, variance : ndarray of shape (n,)
        loadings : ndarray of shape (n, S)
        columns : ndarray of shape (n,)
            The number of the answer, for each state.
        """
        for answer in np.unique(columns).tolist():
            rows = np.flatnonzero(columns == answer)
            new = self._loading(states[rows], person[rows], loadings[rows], answer)
            loadings[rows, answer] = new
            part_mean, part_variance = mean[rows], variance[rows]
            self._condition(part_mean, part_variance, new, person[rows], answer)
            mean[rows], variance[rows] = part_mean, part_variance


@dataclass(frozen=True)
class Answers:
    """Answers of the black box about n states.

    Parameters
    ----------
    favourable : ndarray of bool, shape (n,)
    margin : ndarray of float, shape (n,)
        Logit of the score minus that of the threshold, in the units of the surrogate; NaN where only the decision is
        known.
    """

    favourable: np.ndarray[tuple[int], np.dtype[np.bool_]]
    margin: Floats

    def update(self, mean: Floats, variance: Floats, sd: float) -> tuple[Floats, Floats]:
        """Gain [n] and shrinkage [n] of conditioning beliefs `mean` [n], `variance` [n] on these answers."""
        noisy = variance + _NOISE * sd**2
        sign, deviation = np.where(self.favourable, 1.0, -1.0), np.sqrt(variance)
        z = sign * mean / deviation
        hazard = _hazard(z)
        scored = np.isfinite(self.margin)
        gain = np.where(scored, (np.nan_to_num(self.margin) - mean) / noisy, sign * hazard / deviation)
        shrinkage = np.where(scored, 1 / noisy, hazard * (hazard + z) / variance)
        return gain, shrinkage


def _hazard(z: Floats) -> Floats:
    """The ratio [n] of the standard normal density to the distribution function at `z` [n]."""

    def ratio(x: float) -> float:
        if x < -30:
            return -x - 1 / x
        return math.exp(-x * x / 2) / math.sqrt(2 * math.pi) / (0.5 * math.erfc(-x / _SQRT_2))

    return np.array([ratio(x) for x in z.tolist()])
