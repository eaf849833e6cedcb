"""What is known and predicted about states of people: answers of the model, and a surrogate corrected by them."""

from __future__ import annotations

import numpy as np

from counterplan.blackbox import PersonAnswers
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.surrogate import Surrogate
from counterplan.surrogate.belief import Answers, Belief

_MOST_ANSWERS = 24
"""Answers about one person that predictions are conditioned on: the latest."""
_LARGEST = 30.0
"""Largest log odds of a surrogate that gives probabilities only."""


def same_states(states: Floats, others: Floats) -> Bools:
    """[n] where `states` [n, F] and `others` [n, F] are equal; missing values are equal to each other."""
    return np.asarray(((states == others) | (np.isnan(states) & np.isnan(others))).all(axis=-1))


def people_of(known: PersonAnswers, rows: Ints) -> PersonAnswers:
    """The answers about the people `rows` [n], in ascending order, with positions in `rows` in place of rows."""
    place = np.full(max(int(known.rows.max(initial=-1)), int(rows.max(initial=-1))) + 1, -1)
    place[rows] = np.arange(len(rows))
    mine = np.flatnonzero(place[known.rows] >= 0)
    return PersonAnswers(place[known.rows[mine]], known.states[mine], known.favourable[mine], known.scores[mine])


class PersonalSurrogate:
    """A surrogate whose predictions are corrected by the answers about each person, as the guided planner does.

    People are taken to be refused as they are, unless it is known that they are not.

    Parameters
    ----------
    problem : Problem
    surrogate : Surrogate
        Without an error model, it is not corrected.
    starts : array of shape [B, F]
        States of the people as they are.
    known : PersonAnswers
        Answers about them.
    """

    def __init__(self, problem: Problem, surrogate: Surrogate, starts: Floats, known: PersonAnswers) -> None:
        self.surrogate, self.mutable = surrogate, problem.transitions.mutable
        errors = getattr(surrogate, "errors", None)
        self.belief = None if errors is None else Belief(errors.of_features(self.mutable), len(starts))
        if self.belief is not None:
            self._condition(starts, known)

    def _condition(self, starts: Floats, known: PersonAnswers) -> None:
        link, margins = self.surrogate.link, np.full(len(known.rows), np.nan)
        if link is not None:
            margins = link.margin(known.scores)
            margins[(margins > 0) != known.favourable] = np.nan  # such as those at the threshold itself
        assumed = np.ones(len(starts), bool)
        assumed[known.rows[same_states(known.states, starts[known.rows])]] = False
        rows = np.flatnonzero(assumed)
        self._observe(rows, starts[rows], Answers(np.zeros(len(rows), bool), np.full(len(rows), np.nan)))
        first, last = (np.searchsorted(known.rows, np.arange(len(starts)), side) for side in ("left", "right"))
        first = np.maximum(first, last - _MOST_ANSWERS)
        for number in range(int((last - first).max(initial=0))):
            rows = np.flatnonzero(last - first > number)
            at = first[rows] + number
            self._observe(rows, known.states[at], Answers(known.favourable[at], margins[at]))

    def _observe(self, person: Ints, states: Floats, answers: Answers) -> None:
        assert self.belief is not None
        mutable = states[:, self.mutable]
        self.belief.observe(person, mutable, self.belief.prior(mutable, person, self.logit(states)), answers)

    def logit(self, states: Floats) -> Floats:
        """The surrogate's own log odds [n] of `states` [n, F]."""
        if hasattr(self.surrogate, "logit"):
            return self.surrogate.logit(states)
        chance = np.asarray(self.surrogate(states), float)
        with np.errstate(divide="ignore"):
            odds: Floats = np.log(chance) - np.log1p(-chance)
        return np.clip(odds, -_LARGEST, _LARGEST)

    def __call__(self, states: Floats, person: Ints) -> tuple[Floats, Floats]:
        """Expected log odds [n], and log odds of a favourable decision [n], of `states` [n, F] of `person` [n].

        The latter include the uncertainty about the former.
        """
        logit = self.logit(states)
        if self.belief is None:
            return logit, logit
        beliefs = self.belief.prior(states[:, self.mutable], person, logit)
        return beliefs.mean, self.belief.odds(person, beliefs.mean, beliefs.variance)
