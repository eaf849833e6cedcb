"""Candidate queries: states with their person, cost and predicted probability."""

from __future__ import annotations

import numpy as np

from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.frontier import Frontier, Labels


class Pool:
    """Enumerated states of B people that may be cheaper than their best plan."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._parts: list[Labels] = []
        self._count = 0
        self._person = np.empty(0, np.intp)
        self._cost = np.empty(0)
        self._odds = np.empty(0)
        self._probability = np.empty(0)
        self._open = np.empty(0, bool)

    def __len__(self) -> int:
        return self._count

    @property
    def person(self) -> Ints:
        """[n] row of the person."""
        return self._person[: self._count]

    @property
    def cost(self) -> Floats:
        """[n] cost of the path to the state."""
        return self._cost[: self._count]

    @property
    def odds(self) -> Floats:
        """[n] log odds according to the surrogate."""
        return self._odds[: self._count]

    @property
    def probability(self) -> Floats:
        """[n] probability according to the surrogate."""
        return self._probability[: self._count]

    @property
    def open(self) -> Bools:
        """[n] whether the state was not queried yet."""
        return self._open[: self._count]

    def add(self, labels: Labels, odds: Floats) -> None:
        """Add states with the log odds [n] that they are favourable."""
        self._parts.append(labels)
        end = self._count + len(labels)
        if end > len(self._cost):
            for name in ("_person", "_cost", "_odds", "_probability", "_open"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.empty(2 * end - len(old), old.dtype)]))
        new = slice(self._count, end)
        self._person[new], self._cost[new] = labels.person, labels.cost * self._frontier.unit
        self._odds[new], self._probability[new], self._open[new] = odds, 1 / (1 + np.exp(-odds)), True
        self._count = end

    def labels(self, at: Ints) -> Labels:
        """Labels of the states `at` [n]."""
        if len(self._parts) > 1:
            self._parts = [Labels.join(self._parts)]
        return self._parts[0].take(at)

    def best(self, score: Floats) -> Ints:
        """The state with the highest `score` [n] of each person, if above −∞; ties are broken by cost."""
        person = self.person
        top = np.full(len(self._frontier.starts), -np.inf)
        np.maximum.at(top, person, score)
        at = np.flatnonzero((score == top[person]) & (score > -np.inf))
        at = at[np.lexsort((at, self.cost[at], person[at]))]
        return at[np.unique(person[at], return_index=True)[1]]

    def drop(self, cost: Floats) -> None:
        """Remove queried states and those not cheaper than the plan at `cost` [B], if they are the majority."""
        keep = np.flatnonzero(self.open & (self.cost < cost[self.person]))
        if 2 * len(keep) < self._count:
            self._parts = [self.labels(keep)]
            for name in ("_person", "_cost", "_odds", "_probability", "_open"):
                getattr(self, name)[: len(keep)] = getattr(self, name)[keep]
            self._count = len(keep)
