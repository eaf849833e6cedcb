"""Exact search for the plan with the least value of an objective that never is below the cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplan.blackbox import QueryBudgetExceeded
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.frontier import Frontier, Labels
from counterplan.search.objective import Objective

Oracle = Callable[[Floats, Ints], Bools]
"""Whether states [n, F] of the people `rows` [n] are favourable."""


class ObjectiveSearch:
    """Improve the cheapest plans of B people until they have the least value of an objective.

    States are enumerated in order of cost, which is a lower bound on their value, and the one with the least value is
    queried as soon as no state to come can have a smaller one. The first favourable one is optimal.

    Parameters
    ----------
    frontier : Frontier
        Of the B people, not advanced yet.
    objective : Objective
    oracle : callable
        Answers queries.
    rows : int array of shape [B]
        The people's rows for the oracle.
    least : array of shape [B]
        The cost of each person's cheapest plan, which is known to be favourable.
    max_states : int
        Most states enumerated for one person.
    max_queries : int array of shape [B]
        Most queries about each person.
    estimates_are_queries : bool
        Whether the chance of a state is a query, too.

    Attributes
    ----------
    queries : int array of shape [B]
        Queries about each person.
    proved : bool array of shape [B]
        Whether the plan is proved to be optimal.
    """

    def __init__(
        self,
        frontier: Frontier,
        objective: Objective,
        oracle: Oracle,
        rows: Ints,
        least: Floats,
        *,
        max_states: int,
        max_queries: Ints,
        estimates_are_queries: bool = False,
    ) -> None:
        self.frontier, self.objective, self.oracle, self.rows, self.least = frontier, objective, oracle, rows, least
        self.max_states, self.max_queries = max_states, max_queries
        self.estimates_are_queries = estimates_are_queries
        count = len(rows)
        self.ceiling = frontier.costs.ceiling(count, frontier.problem.max_actions)
        self.queries = np.zeros(count, np.intp)
        self.proved = np.zeros(count, bool)
        self.improved = np.zeros(count, bool)
        """[B] whether another plan than the cheapest one is better."""
        self.best: list[Labels | None] = [None] * count
        """[B] the better plans."""
        self._active = np.ones(count, bool)
        self._best_value = np.full(count, np.inf)
        self._bound = np.zeros(count)
        self._enumerated = np.zeros(count, np.intp)
        self._open_value = np.full(count, np.inf)
        """[B] the least value of a state that may be queried, or that of the best plan."""
        self._complete = np.ones(count, bool)
        """[B] whether the chance of every enumerated state was estimated."""
        self._labels: Labels | None = None
        self._value = np.empty(0)
        self._spent = False

    def run(self, chance: Floats) -> None:
        """Search, given the `chance` [B] of the ends of the cheapest plans."""
        self._best_value = self.objective.values(self.least, chance, self.least, self.ceiling)
        self._open_value = self._best_value.copy()
        while self._active.any() and not self._spent:
            self._expand()
            if not self._spent:
                self._query()

    def _full(self) -> Bools:
        return self._enumerated >= self.max_states

    def _expand(self) -> None:
        """Enumerate states until none to come can have the least value."""
        frontier = self.frontier
        frontier.finished = ~self._active
        needed = self._active & (self._bound < self._open_value) & ~self._full()
        frontier.active = needed
        frontier.resume()
        while frontier.active.any():
            frontier.limit = np.maximum(self.max_states - self._enumerated, 1)
            labels = frontier.advance()
            active = frontier.active
            self._bound[active] = np.maximum(self._bound[active], frontier.lower_bound[active])
            if labels is None:
                self._bound[active] = np.inf
                return
            self._add(labels)
            if self._spent:
                return
            frontier.active = active & (self._bound < self._open_value) & ~self._full()

    def _add(self, labels: Labels) -> None:
        """Estimate the chance of new states; those that may be better than the best plan can be queried."""
        cost: Floats = labels.cost * np.float64(self.frontier.unit)
        person = labels.person
        self._enumerated += np.bincount(person, minlength=len(self.rows))
        # Cheaper states than the cheapest plan are known to be unfavourable.
        useful = (cost >= self.least[person] - self.frontier.unit / 2) & (cost < self._best_value[person])
        if self.estimates_are_queries:
            useful &= self._within_budget(person, useful)
        labels = labels.where(useful)
        if not len(labels):
            return
        person, cost = labels.person, cost[useful]
        try:
            chance = self.objective.chance(self.frontier.full_states(labels), self.rows[person])
        except QueryBudgetExceeded:
            self._spent = True
            return
        if self.estimates_are_queries:  # states at the least cost were queried with the cheapest plan
            new = person[cost > self.least[person] + self.frontier.unit / 2]
            self.queries += np.bincount(new, minlength=len(self.rows))
        value = self.objective.values(cost, chance, self.least[person], self.ceiling[person])
        better = value < self._best_value[person]
        labels, value = labels.take(better), value[better]
        self._labels = labels if self._labels is None else Labels.join([self._labels, labels])
        self._value = np.concatenate([self._value, value])
        np.minimum.at(self._open_value, labels.person, value)

    def _within_budget(self, person: Ints, useful: Bools) -> Bools:
        """Which of the `useful` [n] entries of `person` [n], in order, are within the number of queries of each."""
        rows = np.flatnonzero(useful)
        rows = rows[np.argsort(person[rows], kind="stable")]
        nth = np.arange(len(rows)) - np.searchsorted(person[rows], person[rows])
        inside = nth < (self.max_queries - self.queries)[person[rows]]
        self._complete[person[rows[~inside]]] = False
        within = np.zeros(len(person), bool)
        within[rows[inside]] = True
        return within

    def _query(self) -> None:
        """Query each person's state of the least value; people whose best plan is better than all others are done."""
        at = self._first()
        labels = self._labels
        person = np.empty(0, np.intp) if labels is None else labels.person[at]
        waiting = np.zeros(len(self.rows), bool)
        waiting[person] = True
        complete = self._bound >= self._best_value
        self._finish(np.flatnonzero(self._active & ~waiting), complete)
        if labels is None or not len(at):
            return
        affordable = self.estimates_are_queries | (self.queries[person] < self.max_queries[person])
        self._finish(person[~affordable], np.zeros(len(self.rows), bool))
        at, person = at[affordable], person[affordable]
        if not len(at):
            return
        states, known = self.frontier.full_states(labels.take(at)), np.ones(len(at), bool)
        try:
            favourable = self.oracle(states, self.rows[person])
        except QueryBudgetExceeded as stop:
            favourable, known = stop.answers, stop.known
            self._spent = True
        if not self.estimates_are_queries:
            self.queries[person[known]] += 1
        value = self._value[at]
        for place, one in zip(at[favourable].tolist(), person[favourable].tolist(), strict=True):
            self.best[one] = labels.take(slice(place, place + 1))
        done = person[favourable]
        self.improved[done] = True
        self._best_value[done] = value[favourable]
        # The bound may be below the value if not all states could be enumerated.
        self._finish(done, self._bound >= self._best_value)
        keep = np.ones(len(labels), bool)
        keep[at[known]] = False
        keep &= self._active[labels.person]
        self._labels, self._value = labels.take(keep), self._value[keep]
        self._open_value = self._best_value.copy()
        np.minimum.at(self._open_value, self._labels.person, self._value)

    def _first(self) -> Ints:
        """The open state of the least value of each active person; ties by cost, then as `Frontier.order`."""
        labels = self._labels
        if labels is None:
            return np.empty(0, np.intp)
        rows = np.flatnonzero(self._active[labels.person] & (self._value < self._best_value[labels.person]))
        least = np.full(len(self.rows), np.inf)
        np.minimum.at(least, labels.person[rows], self._value[rows])
        rows = rows[self._value[rows] == least[labels.person[rows]]]
        rows = rows[self.frontier.order(labels.take(rows))]
        first: Ints = np.unique(labels.person[rows], return_index=True)[1]
        return np.asarray(rows[first])

    def _finish(self, people: Ints, proved: Bools) -> None:
        self._active[people] = False
        self.proved[people] = proved[people] & self._complete[people]
