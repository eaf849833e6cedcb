"""Candidate queries: states with their person, cost and predicted probability."""

from __future__ import annotations

import numpy as np

from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.frontier import Frontier, Labels
from counterplan.surrogate.belief import Answers, Belief, ErrorModel, StateBeliefs

_BELIEFS = ("_logit", "_mean", "_variance", "_loadings")
"""Columns with the fields of `StateBeliefs`."""
_COLUMNS = ("_person", "_cost", "_chance", "_odds", "_probability", "_open", *_BELIEFS)


class Pool:
    """Enumerated states of B people that may be cheaper than their best plan.

    Parameters
    ----------
    frontier : Frontier
    errors : ErrorModel, optional
        For all features. If given, states are conditioned on the answers about their person.
    belief : Belief, optional
        What is known about the same people, in place of `errors`.
    """

    def __init__(self, frontier: Frontier, errors: ErrorModel | None = None, *, belief: Belief | None = None) -> None:
        self._frontier = frontier
        people = len(frontier.starts)
        if errors is not None:
            belief = Belief(errors.of_features(frontier.mutable), people)
        self._belief = belief
        self._parts: list[Labels] = []
        self._count = 0
        self._person = np.empty(0, np.intp)
        self._cost = np.empty(0)
        self._chance = np.empty(0)
        self._odds = np.empty(0)
        self._probability = np.empty(0)
        self._open = np.empty(0, bool)
        self._logit, self._mean, self._variance, self._loadings = (
            np.empty(0),
            np.empty(0),
            np.empty(0),
            np.empty((0, 0 if belief is None else len(belief))),
        )

    @property
    def belief(self) -> Belief | None:
        """What is known about the people; None if states are not conditioned."""
        return self._belief

    def __len__(self) -> int:
        return self._count

    @property
    def conditioned(self) -> bool:
        """Whether states are conditioned on the answers about their person."""
        return self._belief is not None

    @property
    def person(self) -> Ints:
        """[n] row of the person."""
        return self._person[: self._count]

    @property
    def cost(self) -> Floats:
        """[n] cost of the path to the state."""
        return self._cost[: self._count]

    @property
    def chance(self) -> Floats:
        """[n] chance that the state stays favourable; NaN if it was not estimated."""
        return self._chance[: self._count]

    @property
    def odds(self) -> Floats:
        """[n] log odds according to the surrogate and the answers about the person."""
        return self._odds[: self._count]

    @property
    def probability(self) -> Floats:
        """[n] probability according to the surrogate and the answers about the person."""
        return self._probability[: self._count]

    @property
    def open(self) -> Bools:
        """[n] whether the state was not queried yet."""
        return self._open[: self._count]

    def add(self, labels: Labels, odds: Floats, chance: Floats | float = np.nan) -> None:
        """Add states with the surrogate's log odds [n] that they are favourable, and the chance [n] to stay so."""
        self._parts.append(labels)
        end = self._count + len(labels)
        if end > len(self._cost):
            for name in _COLUMNS:
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.empty((2 * end - len(old), *old.shape[1:]), old.dtype)]))
        new = slice(self._count, end)
        self._person[new], self._cost[new] = labels.person, labels.cost * self._frontier.unit
        self._chance[new] = chance
        self._open[new] = True
        self._count = end
        if self._belief is None:
            self._set_odds(new, odds)
        else:
            self._set_beliefs(new, self._belief.prior(labels.states, labels.person, odds))

    def _set_odds(self, rows: slice | Ints, odds: Floats) -> None:
        self._odds[rows], self._probability[rows] = odds, 1 / (1 + np.exp(-odds))

    def _set_beliefs(self, rows: slice | Ints, beliefs: StateBeliefs) -> None:
        assert self._belief is not None
        for name, column in zip(_BELIEFS, beliefs, strict=True):
            getattr(self, name)[rows] = column
        self._set_odds(rows, self._belief.odds(self._person[rows], beliefs.mean, beliefs.variance))

    def _beliefs(self, rows: Ints) -> StateBeliefs:
        """Beliefs about the states `rows` [n], copied."""
        return StateBeliefs(*(getattr(self, name)[rows] for name in _BELIEFS))

    def observe_starts(self, logit: Floats, answers: Answers) -> None:
        """Condition on the answers about the people as they are [B], with the surrogate's `logit` [B]."""
        if self._belief is not None:
            states = self._frontier.starts[:, self._frontier.mutable]
            person = np.arange(len(states))
            self._belief.observe(person, states, self._belief.prior(states, person, logit), answers)
            self._add_loadings()

    def observe(self, at: Ints, answers: Answers) -> None:
        """Condition the states of the people concerned on the answers about the states `at` [n], one of each."""
        belief = self._belief
        if belief is None or not len(at):
            return
        people, states = self.person[at], self._all_labels().states
        belief.observe(people, states[at], self._beliefs(at), answers)
        self._add_loadings()
        concerned = np.zeros(len(belief.count), bool)
        concerned[people] = True
        rows = np.flatnonzero(concerned[self.person])
        beliefs = self._beliefs(rows)
        belief.update(states[rows], self.person[rows], beliefs)
        self._set_beliefs(rows, beliefs)

    def _add_loadings(self) -> None:
        """Make room for the loadings of another answer."""
        assert self._belief is not None
        missing = len(self._belief) - self._loadings.shape[1]
        self._loadings = np.pad(self._loadings, ((0, 0), (0, missing)))

    def _all_labels(self) -> Labels:
        if len(self._parts) > 1:
            self._parts = [Labels.join(self._parts)]
        return self._parts[0]

    def labels(self, at: Ints) -> Labels:
        """Labels of the states `at` [n]."""
        return self._all_labels().take(at)

    def best(self, score: Floats, part: slice = slice(None)) -> Ints:
        """The state with the highest `score` [n] of each person in a `part`, if above −∞; ties are broken by cost."""
        person, cost = self.person[part], self.cost[part]
        top = np.full(len(self._frontier.starts), -np.inf)
        np.maximum.at(top, person, score)
        at = np.flatnonzero((score == top[person]) & (score > -np.inf))
        at = at[np.lexsort((at, cost[at], person[at]))]
        return at[np.unique(person[at], return_index=True)[1]] + (part.start or 0)

    def keep(self, useful: Bools) -> None:
        """Remove queried states and those that are not `useful` [n], if they are the majority."""
        keep = np.flatnonzero(self.open & useful)
        if 2 * len(keep) < self._count:
            self._parts = [self.labels(keep)]
            for name in _COLUMNS:
                getattr(self, name)[: len(keep)] = getattr(self, name)[keep]
            self._count = len(keep)
