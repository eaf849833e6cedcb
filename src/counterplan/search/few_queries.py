"""Which states to query if only a few queries about a person are allowed.

The log odds of a person's states are wrong by an error that the states share and an independent one each, both
Gaussian. Given the shared error, answers are independent, so that the expected cost of the best policy of queries is
computed by dynamic programming over a grid of shared errors. K candidates, G errors on the grid, M beliefs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from counterplan.errors import SettingError
from counterplan.problem.transitions import Floats, Ints

_PROBIT = 1.702
"""Standard deviation of the Gaussian whose distribution function is closest to the logistic one."""
_GRID = np.linspace(-3.0, 3.0, 31)
"""Shared errors, in standard deviations."""
_LIKELY = 0.5
_CERTAIN = 0.995
"""More certain states are never better than one of this probability that costs less."""
_UNLIKELY = 0.003
_LOGITS = np.linspace(-20.0, 20.0, 401)
"""Log odds among which the one with a given probability is searched for."""


@dataclass(frozen=True)
class FewQueries:
    """A policy of queries about one person that minimizes the expected cost of the best plan confirmed.

    Parameters
    ----------
    shared : float, default=0.8
        Share of the variance of errors that all states of a person have in common.
    failure_cost : float, default=4.0
        What having no plan costs, in costs of the cheapest likely state.
    query_cost : float, default=0.01
        What a query costs, in the same unit.
    lookahead : int, default=3
        Number of queries planned ahead; later ones are not foreseen.
    max_candidates : int, default=30
        Most states considered for one query.

    Raises
    ------
    SettingError
        If a value is out of range.
    """

    shared: float = 0.8
    failure_cost: float = 4.0
    query_cost: float = 0.01
    lookahead: int = 3
    max_candidates: int = 30

    def __post_init__(self) -> None:
        if not 0 <= self.shared < 1:
            raise SettingError(f"'shared' is a share of variance, from 0 and below 1; not {self.shared!r}")
        if not (self.failure_cost > 1 and self.query_cost >= 0):
            raise SettingError("'failure_cost' is above 1, and 'query_cost' is not negative")
        if self.lookahead < 1 or self.max_candidates < 1:
            raise SettingError("'lookahead' and 'max_candidates' are integers, 1 or more")

    @cached_property
    def _errors(self) -> Floats:
        """[G] shared errors, in log odds."""
        return math.sqrt(self.shared) * _PROBIT * _GRID

    @cached_property
    def _own_sd(self) -> float:
        """Standard deviation of the independent errors."""
        return math.sqrt(1 - self.shared) * _PROBIT

    def chances(self, logits: Floats) -> Floats:
        """Probabilities [n, G] that states with these `logits` [n] are favourable, for each shared error."""
        return np.asarray(ndtr((logits[:, None] + self._errors) / self._own_sd))

    def refused(self, logits: Floats) -> Floats:
        """Beliefs [n, G] about people whose states with these `logits` [n] are refused: weights of shared errors."""
        weights = np.exp(-(_GRID**2) / 2) * (1 - self.chances(logits))
        weights = np.maximum(weights, np.finfo(float).tiny)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def likely(self, beliefs: Floats) -> Floats:
        """Least log odds [n] of states that are more likely favourable than not, given `beliefs` [n, G]."""
        return self._logits_of(_LIKELY, beliefs)

    def certain(self, beliefs: Floats) -> Floats:
        """Least log odds [n] of states that are favourable with near certainty, given `beliefs` [n, G]."""
        return self._logits_of(_CERTAIN, beliefs)

    def _logits_of(self, chance: float, beliefs: Floats) -> Floats:
        """Log odds [n] at which the probability of a favourable answer reaches `chance`."""
        reached = self.chances(_LOGITS) @ beliefs.T >= chance
        return np.asarray(np.where(reached.any(axis=0), _LOGITS[np.argmax(reached, axis=0)], np.inf))

    def select(
        self, cost: Floats, logits: Floats, belief: Floats, *, best: float, reference: float, left: int
    ) -> int | None:
        """The candidate to query next, or None if no query is worth its cost.

        Parameters
        ----------
        cost, logits : arrays of shape [n]
            Candidates that were not queried.
        belief : array of shape [G]
        best : float
            Cost of the best plan confirmed; infinite if there is none.
        reference : float
            Cost of the cheapest likely state, or of the most likely one if there is none.
        left : int
            Number of queries left.
        """
        chosen = undominated(cost, logits)
        chance = self.chances(logits[chosen])
        useful = (chance @ belief >= _UNLIKELY) & (cost[chosen] < best)
        chosen, chance = chosen[useful], chance[useful]
        if len(chosen) > self.max_candidates:
            spread = np.linspace(0, len(chosen) - 1, self.max_candidates).astype(np.intp)
            chosen, chance = chosen[spread], chance[spread]
        if not len(chosen):
            return None
        current = best
        if math.isinf(best):
            current = self.failure_cost * reference
            if current <= cost[chosen[0]]:
                current = 2 * float(cost[chosen[-1]]) + 1
        tree = _Policy(cost[chosen], chance, self.query_cost * reference)
        values = tree.query_values(belief[None], np.array([current]), min(left, self.lookahead))[0]
        at = int(np.argmin(values))
        if not math.isfinite(best):
            return int(chosen[at])
        return int(chosen[at]) if values[at] < best else None

    def updated(self, belief: Floats, logit: float, favourable: bool) -> Floats:
        """The belief [G] after an answer about a state with this `logit`."""
        chance = self.chances(np.array([logit]))[0]
        weights = np.maximum(belief * (chance if favourable else 1 - chance), np.finfo(float).tiny)
        return np.asarray(weights / weights.sum())


def undominated(cost: Floats, logits: Floats) -> Ints:
    """Indices, in order of cost, of the states with larger log odds than every state that costs no more."""
    order = np.lexsort((np.arange(len(cost)), -logits, cost))
    ranked = logits[order]
    larger = np.ones(len(order), bool)
    larger[1:] = ranked[1:] > np.maximum.accumulate(ranked)[:-1]
    return np.asarray(order[larger])


@dataclass(frozen=True)
class _Policy:
    """Expected costs of policies over K candidates with `cost` [K] and `chance` [K, G].

    Beliefs are not normalized: weights [M, G] sum up to the probability of the answers that lead to them, and values
    are expected costs times that probability.
    """

    cost: Floats
    chance: Floats
    query_cost: float

    def query_values(self, weights: Floats, current: Floats, left: int) -> Floats:
        """Values [M, K] of querying each candidate with `left` queries, if the best plan costs `current` [M]."""
        mass = weights.sum(axis=1, keepdims=True)
        saving = np.maximum(current[:, None] - self.cost, 0.0)
        if left == 1:
            return np.asarray((current[:, None] + self.query_cost) * mass - (weights @ self.chance.T) * saving)
        count, people = len(self.cost), len(weights)
        yes = weights[:, None] * self.chance
        no = weights[:, None] - yes
        after = np.minimum(self.cost, current[:, None])
        shape = (people * count, -1)
        candidate = np.tile(np.arange(count), people)
        favoured = self.values(yes.reshape(shape), after.reshape(-1), left - 1)
        refused = self.values(no.reshape(shape), np.repeat(current, count), left - 1, candidate)
        return np.asarray(self.query_cost * mass + (favoured + refused).reshape(people, count))

    def values(self, weights: Floats, current: Floats, left: int, queried: Ints | None = None) -> Floats:
        """Values [M] of the best policy with `left` queries; the candidates `queried` [M] were refused just now."""
        values = self.query_values(weights, current, left)
        if queried is not None:
            values[np.arange(len(values)), queried] = np.inf
        return np.asarray(np.minimum(values.min(axis=1), current * weights.sum(axis=1)))
