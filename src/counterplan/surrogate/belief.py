"""Correct a surrogate's predictions for one person by the answers about that person.

The errors of a surrogate belong to people more than to states: if it is too optimistic about one state of a person, it
is so about most of them. The latent log odds of a person's states are therefore modelled as a Gaussian or Student's t
process around the surrogate's, and every answer about the person, favourable or not, conditions it. S answers, M
mutable features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from counterplan.errors import SettingError
from counterplan.problem.transitions import Floats, Ints

PROBIT = 1.702
"""Standard deviation of the Gaussian whose distribution function is closest to the logistic one."""
_NOISE = 1e-3
"""Variance of the noise of an observed margin, as a share of the prior variance."""
_LOCAL_LENGTH = 2.0
"""Length scale of the similarity of whole states."""
_MIN_PROBABILITY = 1e-12
_LARGEST = 1e6
_SQRT_2 = math.sqrt(2.0)


@dataclass(frozen=True)
class ErrorModel:
    """The covariance of a surrogate's errors about the states of one person.

    The correlation of two different states is ``(shared + additive * a + local * l) * exp(-decay * d)``, where `a` is
    the mean of ``exp(-distance)`` over the mutable features, `l` is ``exp(-total distance / 2)``, and `d` is the
    distance of the predicted log odds in units of `sd`.

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
    growth : float, default=0.0
        Growth of the standard deviation with the distance from the decision boundary: at a distance of z standard
        deviations it is ``sqrt(1 + (growth * z)**2)`` times as large.
    decay : float, default=0.0
        How fast the correlation of two states decreases with the distance of their predictions.
    tail : float, default=0.0
        Weight of the tails: the reciprocal of the degrees of freedom of Student's t distribution, below 0.5. With 0,
        errors are Gaussian.

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
    growth: float = 0.0
    decay: float = 0.0
    tail: float = 0.0

    def __post_init__(self) -> None:
        numbers = (self.sd, self.shared, self.additive, self.local, *self.scale, self.growth, self.decay, self.tail)
        if not (np.isfinite(numbers).all() and self.sd > 0 and min(numbers) >= 0):
            raise SettingError("an error model has a positive 'sd', and no negative shares or scales")
        if max(self.sd, self.growth, self.decay) > _LARGEST:
            raise SettingError(f"'sd', 'growth' and 'decay' of an error model are at most {_LARGEST:g}")
        if self.shared + self.additive + self.local > 1 + 1e-6:
            raise SettingError("the shares of an error model, 'shared', 'additive' and 'local', add up to 1 at most")
        if self.tail >= 0.5:
            raise SettingError(f"the 'tail' of an error model lies below 0.5, got {self.tail!r}")

    def of_features(self, indices: Ints) -> ErrorModel:
        """The model for states that consist of the features `indices` [M]."""
        return replace(self, scale=tuple(self.scale[index] for index in indices.tolist()))

    def sd_at(self, logit: Floats) -> Floats:
        """Standard deviations [n] of the errors about states with the predicted `logit` [n]."""
        spread: Floats = self.sd * np.sqrt(1 + (self.growth * logit / self.sd) ** 2)
        return spread

    def covariance(self, states: Floats, logit: Floats, others: Floats, other_logit: Floats) -> Floats:
        """The covariance [n] of the errors about two different states each, row by row.

        Parameters
        ----------
        states, others : ndarray of shape (n, M)
        logit, other_logit : ndarray of shape (n,)
            Predicted for them.
        """
        additive, local = similarity(states, others, self.scale)
        correlation: Floats = self.shared + self.additive * additive + self.local * local
        if self.decay:
            correlation *= np.exp(-self.decay * np.abs(logit - other_logit) / self.sd)
        return correlation * self.sd_at(logit) * self.sd_at(other_logit)


class StateBeliefs(NamedTuple):
    """Beliefs about n states, each of one person, given the S answers so far.

    Attributes
    ----------
    logit : ndarray of shape (n,)
        The surrogate's.
    mean, variance : ndarray of shape (n,)
        Of the latent log odds.
    loadings : ndarray of shape (n, S)
        Covariance with the state of each answer, given the answers before it.
    """

    logit: Floats
    mean: Floats
    variance: Floats
    loadings: Floats


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
    """Beliefs about the states of B people, conditioned on answers one after the other.

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
        self._margins, self._surprise = np.zeros(people), np.zeros(people)
        """[B] number of answers with a margin, and the sum of their squared standardized innovations."""
        self._states = np.empty((people, 0, width))
        self._logit = np.empty((people, 0))
        """[B, S] what the surrogate predicted for the answered states."""
        self._gain, self._shrinkage = np.empty((people, 0)), np.empty((people, 0))
        """[B, S] change of the mean, and of the covariance, for each unit of a state's loading."""
        self._loadings = np.empty((people, 0, 0))
        """[B, S, S] loadings of the answered states."""

    def __len__(self) -> int:
        """S, the largest number of answers about one person."""
        return self._gain.shape[1]

    def prior(self, states: Floats, person: Ints, logit: Floats) -> StateBeliefs:
        """Condition states that are new on all answers so far.

        Parameters
        ----------
        states : ndarray of shape (n, M)
        person : ndarray of shape (n,)
        logit : ndarray of shape (n,)
            The surrogate's.

        Returns
        -------
        StateBeliefs
        """
        logit = logit.astype(float)
        made = StateBeliefs(
            logit, logit.copy(), self.errors.sd_at(logit) ** 2, np.zeros((len(states), len(self)))
        )  # fmt: skip
        for answer in range(len(self)):
            rows = np.flatnonzero(self.count[person] > answer)
            self._condition(made, states, person, answer, rows)
        return made

    def update(self, states: Floats, person: Ints, beliefs: StateBeliefs) -> None:
        """Condition known `states` [n, M] of `person` [n], in place, on the latest answer about their person."""
        latest = self.count[person] - 1
        for answer in np.unique(latest).tolist():
            self._condition(beliefs, states, person, answer, np.flatnonzero(latest == answer))

    def _condition(self, beliefs: StateBeliefs, states: Floats, person: Ints, answer: int, rows: Ints) -> None:
        """Condition the states `rows`, in place, on the answer with this number about their person."""
        who = person[rows]
        covariance = self.errors.covariance(
            states[rows], beliefs.logit[rows], self._states[who, answer], self._logit[who, answer]
        )
        earlier = self._shrinkage[who, :answer] * self._loadings[who, answer, :answer]
        loading = covariance - np.einsum("ij,ij->i", earlier, beliefs.loadings[rows, :answer])
        beliefs.loadings[rows, answer] = loading
        beliefs.mean[rows] += self._gain[who, answer] * loading
        variance = beliefs.variance[rows] - self._shrinkage[who, answer] * loading**2
        beliefs.variance[rows] = np.maximum(variance, _NOISE * self.errors.sd**2)

    def observe(self, person: Ints, states: Floats, beliefs: StateBeliefs, answers: Answers) -> None:
        """Condition on one answer about each of the people `person` [n].

        Parameters
        ----------
        person : ndarray of shape (n,)
            Different people.
        states : ndarray of shape (n, M)
            The states that were answered.
        beliefs : StateBeliefs
            About these states, as `prior` returns them.
        answers : Answers
        """
        if not len(person):
            return
        at = self.count[person]
        if at.max() >= len(self):
            self._grow()
        self._states[person, at], self._logit[person, at] = states, beliefs.logit
        self._loadings[person, at, : beliefs.loadings.shape[1]] = beliefs.loadings
        noise = _NOISE * self.errors.sd**2
        gain, shrinkage = answers.update(beliefs.mean, beliefs.variance, noise)
        self._gain[person, at], self._shrinkage[person, at] = gain, shrinkage
        scored = np.isfinite(answers.margin)
        innovation = (answers.margin - beliefs.mean)[scored]
        self._surprise[person[scored]] += innovation**2 / (beliefs.variance[scored] + noise)
        self._margins[person[scored]] += 1
        self.count[person] += 1

    def _grow(self) -> None:
        self._states = np.pad(self._states, ((0, 0), (0, 1), (0, 0)))
        self._logit = np.pad(self._logit, ((0, 0), (0, 1)))
        self._gain = np.pad(self._gain, ((0, 0), (0, 1)))
        self._shrinkage = np.pad(self._shrinkage, ((0, 0), (0, 1)))
        self._loadings = np.pad(self._loadings, ((0, 0), (0, 1), (0, 1)))

    def odds(self, person: Ints, mean: Floats, variance: Floats) -> Floats:
        """Log odds [n] that states of `person` [n] are favourable.

        With heavy tails, margins far from the predicted ones widen the belief about all other states of the person.
        """
        z = mean / np.sqrt(variance)
        if not self.errors.tail:
            return PROBIT * z
        freedom = 1 / self.errors.tail
        after = freedom + self._margins[person]
        widening = (freedom - 2 + self._surprise[person]) / after  # scales have the variance of the Gaussian case
        probability = np.clip(stdtr(after, z / np.sqrt(widening)), _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
        odds: Floats = np.log(probability) - np.log1p(-probability)
        return odds


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

    def update(self, mean: Floats, variance: Floats, noise: float) -> tuple[Floats, Floats]:
        """Gain [n] and shrinkage [n] of conditioning beliefs `mean` [n], `variance` [n] on these answers.

        Margins are observed with some `noise`, a variance.
        """
        noisy = variance + noise
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
