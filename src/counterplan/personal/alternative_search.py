"""Search for alternatives: plans with other functions that lower the expected least cost over personal weights.

Costs of plans are known without queries, and so is what an alternative would gain: the expected reduction of the least
cost. Candidates are therefore enumerated first, and queried in order of gain. If chances are known, a query goes to the
candidate with the largest ``gain - λ / chance``, Weitzman's reservation value for a query that costs λ. G functions, S
draws of weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from counterplan.personal.alternatives import Alternatives
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.frontier import Frontier, Labels
from counterplan.search.orders import NO_ACTION, costs_by_function
from counterplan.search.schedule import schedule

Query = Callable[[Floats, Ints], tuple[Bools, Bools]]
"""Answers [n] about states [n, F] of the people `rows` [n], and which of them are known [n]."""
_TINY = 1e-9
_MIN_CHANCE = 1e-6


class Chances(Protocol):
    """Chances that candidates are favourable, which answers may change."""

    learns: bool
    """Whether answers change the chances of other candidates."""

    def add(self, labels: Labels, states: Floats) -> None:
        """Append candidates, with their full states [n, F]."""

    def values(self) -> Floats:
        """[n] the chances of all candidates, in the order in which they were added."""

    def observe(self, at: Ints, states: Floats, favourable: Bools) -> None:
        """Condition on answers about the candidates `at` [n]; at most one of each person if chances are learned."""


class NoChances:
    """Nothing is known before a query: candidates are queried in order of gain."""

    learns = False

    def __init__(self) -> None:
        self._count = 0

    def add(self, labels: Labels, states: Floats) -> None:
        """See `Chances.add`."""
        self._count += len(labels)

    def values(self) -> Floats:
        """See `Chances.values`."""
        return np.ones(self._count)

    def observe(self, at: Ints, states: Floats, favourable: Bools) -> None:
        """See `Chances.observe`."""


@dataclass(frozen=True)
class QueryLimits:
    """What alternatives may cost in queries.

    Parameters
    ----------
    query_cost : float, default=0
        Cost of a query, relative to the cost of the cheapest plan.
    min_chance : float, default=0
        Candidates with a smaller chance are not queried.
    per_alternative : int, optional
        Most queries for one alternative; None for no limit.
    confidence : float, optional
        Without queries: accept candidates with this chance as they are. None: query.
    """

    query_cost: float = 0.0
    min_chance: float = 0.0
    per_alternative: int | None = None
    confidence: float | None = None


@dataclass
class _Person:
    """Candidates of one person, and the plans chosen so far."""

    least: Floats
    """[S] least cost of the chosen plans for each draw."""
    first_cost: float
    chosen_functions: list[int]
    """Sets of functions of the chosen plans, as bits."""
    chosen: list[int] = field(default_factory=list)
    """Candidates that were chosen."""
    at: Ints = field(default_factory=lambda: np.empty(0, np.intp))
    """[n] the candidates: their positions among those of all people."""
    open: Bools = field(default_factory=lambda: np.empty(0, bool))
    favourable: Bools = field(default_factory=lambda: np.empty(0, bool))
    gain: Floats = field(default_factory=lambda: np.empty(0))
    queries: int = 0
    """Queries for the alternative that is searched for."""


class AlternativeSearch:
    """Search for alternatives to the cheapest plans of B people.

    Parameters
    ----------
    frontier : Frontier
        Of the B people, not advanced yet.
    settings : Alternatives
    actions : int array of shape [B, T]
        The cheapest plan of each person; people without one are left out.
    query : callable
        Answers queries.
    rows : int array of shape [B]
        The people's rows for `query`.
    chances : Chances
        No candidates were added yet.
    limits : QueryLimits
    max_states : int
        Most states enumerated for one person.
    max_queries : int array of shape [B]
        Most queries about each person.
    propose : callable, optional
        Labels of further candidates of the people [n] with more states than that.

    Attributes
    ----------
    queries : int array of shape [B]
        Queries about each person.
    """

    def __init__(
        self,
        frontier: Frontier,
        settings: Alternatives,
        actions: Ints,
        query: Query,
        rows: Ints,
        chances: Chances,
        limits: QueryLimits,
        *,
        max_states: int,
        max_queries: Ints,
        propose: Callable[[Ints], Labels] | None = None,
    ) -> None:
        self.frontier, self.settings, self.query, self.rows = frontier, settings, query, rows
        self.chances, self.limits, self.propose = chances, limits, propose
        self.max_states, self.max_queries = max_states, max_queries
        self.queries = np.zeros(len(rows), np.intp)
        self._transitions = frontier.transitions
        self._draws = settings.weights(len(self._transitions.functions))
        self._parts: list[tuple[Labels, Floats, npt.NDArray[np.object_]]] = []
        self._labels: Labels | None = None
        self._costs = np.empty((0, self._draws.shape[1]))
        """[n, G + 1] costs of the candidates by function, and that of their time."""
        self._functions = np.empty(0, object)
        """[n] sets of functions of the candidates, as bits."""
        everybody = np.arange(len(rows))
        self._time_cost = np.zeros(len(rows))
        """[B] cost of a unit of time."""
        total = self._costs_of(everybody, actions).sum(axis=1)
        if frontier.problem.time_unit and settings.time_value:
            duration = schedule(self._transitions, frontier.starts, actions).makespan
            value = settings.time_value * total
            self._time_cost = np.divide(value, duration, out=np.zeros(len(rows)), where=duration > 0)
        costs = self._costs_of(everybody, actions)
        functions = self._function_sets(actions)
        self._people = [
            _Person(self._draws @ own, float(cost), [used]) if used else None
            for own, cost, used in zip(costs, total, functions.tolist(), strict=True)
        ]
        self._first_functions, self._least_cost = functions, total * (1 - _TINY)
        """[B] functions, as bits, and cost of the cheapest plans."""

    def run(self) -> list[Ints]:
        """Search; return the alternatives [n, T] of each person, in the order in which they were chosen."""
        self._enumerate()
        active = [number for number, person in enumerate(self._people) if person is not None]
        while active:
            selected = {number: self._select(number) for number in active}
            active = self._observe({number: places for number, places in selected.items() if len(places)})
        nothing = np.empty((0, self.frontier.problem.max_actions), np.intp)
        if self._labels is None:
            return [nothing for _ in self._people]
        return [
            nothing if person is None else self.frontier.actions(self._labels.take(np.array(person.chosen, np.intp)))
            for person in self._people
        ]

    def _costs_of(self, person: Ints, actions: Ints) -> Floats:
        """Costs [n, G + 1] by function, and that of time, of plans `actions` [n, T] of the people `person` [n]."""
        weights, starts = self.frontier.costs.weights, self.frontier.starts[person]
        own = None if weights is None else weights[person]
        time_cost = self._time_cost[person]
        if time_cost.any():
            time_cost = time_cost * schedule(self._transitions, starts, actions).makespan
        return np.column_stack([costs_by_function(self._transitions, starts, actions, own), time_cost])

    def _function_sets(self, actions: Ints) -> npt.NDArray[np.object_]:
        """[n] the functions of plans `actions` [n, T] as bits of Python integers, which have no limit."""
        functions = np.where(actions == NO_ACTION, -1, self._transitions.function_of[actions])
        used = np.sort(functions, axis=1)
        different, code = np.unique(used, axis=0, return_inverse=True)
        bits = [sum(1 << one for one in set(row) if one >= 0) for row in different.tolist()]
        return np.array([*bits, None], object)[code.ravel()]

    def _enumerate(self) -> None:
        """Collect the candidates: states within the largest cost that may be worth being an alternative."""
        frontier = self.frontier
        most = np.array([-1.0 if one is None else self.settings.max_ratio * one.first_cost for one in self._people])
        most += _TINY * np.maximum(most, 1.0)
        states = np.zeros(len(most), np.intp)
        frontier.active = most >= 0
        truncated = np.zeros(len(most), bool)
        while frontier.active.any():
            frontier.limit = np.maximum(self.max_states - states, 1)
            labels = frontier.advance()
            if labels is None:
                break
            states += np.bincount(labels.person, minlength=len(states))
            self._add(labels, most)
            active = frontier.active & (frontier.lower_bound <= most)
            truncated |= active & (frontier.truncated | (states >= self.max_states))
            frontier.active = active & ~truncated
        if self.propose is not None and truncated.any():
            labels = self.propose(np.flatnonzero(truncated))
            self._add(labels.where(~frontier.look_up(labels.key)[0] & frontier.within(labels)), most)
        self._assign()

    def _add(self, labels: Labels, most: Floats) -> None:
        """Store the labels that cost at most `most` [B] and may lower the expected least cost enough."""
        cost = labels.cost * np.float64(self.frontier.unit)
        labels = labels.where((cost <= most[labels.person]) & (cost >= self._least_cost[labels.person]))
        if not len(labels):
            return
        actions = self.frontier.actions(labels)
        functions = self._function_sets(actions)
        other = functions != self._first_functions[labels.person]
        labels, actions, functions = labels.where(other), actions[other], functions[other]
        order = np.lexsort((self._preference(labels), labels.person))
        labels, actions, functions = labels.take(order), actions[order], functions[order]
        costs = self._costs_of(labels.person, actions)
        worth = np.zeros(len(labels), bool)
        for number in np.unique(labels.person).tolist():
            own = np.flatnonzero(labels.person == number)
            person = self._people[number]
            assert person is not None
            worth[own] = self._gain(person, costs[own]) >= self._min_gain(person)
        labels = labels.where(worth)
        if len(labels):
            self.chances.add(labels, self.frontier.full_states(labels))
            self._parts.append((labels, costs[worth], functions[worth]))

    def _preference(self, labels: Labels) -> Ints:
        """[n] rank of labels: lower cost, then fewer steps, then file order."""
        rank = np.empty(len(labels), np.intp)
        rank[self.frontier.order(labels)] = np.arange(len(labels))
        return rank

    def _assign(self) -> None:
        """Join the candidates, and give each person their own."""
        if self._parts:
            labels, costs, functions = zip(*self._parts, strict=True)
            self._labels = Labels.join(list(labels))
            self._costs, self._functions = np.concatenate(costs), np.concatenate(functions)
        for number, person in enumerate(self._people):
            if person is None:
                continue
            at = np.empty(0, np.intp) if self._labels is None else np.flatnonzero(self._labels.person == number)
            person.at = at
            person.open, person.favourable = np.ones(len(at), bool), np.zeros(len(at), bool)
            person.gain = self._gain(person, self._costs[at])

    def _gain(self, person: _Person, costs: Floats) -> Floats:
        """[n] by how much plans with `costs` [n, G + 1] lower the expected least cost."""
        gain: Floats = np.maximum(person.least - costs @ self._draws.T, 0.0).mean(axis=1)
        return gain

    def _min_gain(self, person: _Person) -> float:
        return max(self.settings.min_gain * person.first_cost, _TINY)

    def _select(self, number: int) -> Ints:
        """The candidates of a person to query next, after choosing alternatives as long as no query is worth its cost.

        None if all alternatives were chosen. Several only if answers do not change the chances of others: their number
        grows with that of the queries before, so that at most a quarter of the queries are not needed.
        """
        person = self._people[number]
        assert person is not None
        while len(person.chosen) + 1 < self.settings.count and len(person.at):
            gain = np.where(person.gain >= self._min_gain(person), person.gain, -np.inf)
            chance = self.chances.values()[person.at]
            accepted = person.favourable
            if self.limits.confidence is not None:
                accepted = chance >= self.limits.confidence
            known = np.where(accepted, gain, -np.inf)
            index = self._indices(person, number, gain, chance)
            if index.max() > known.max():
                most = 1 if self.chances.learns else 1 + person.queries // 4
                most = min(most, int(self.max_queries[number] - self.queries[number]))
                if self.limits.per_alternative is not None:
                    most = min(most, self.limits.per_alternative - person.queries)
                places = np.argsort(-index, kind="stable")[:most]
                return np.asarray(places[index[places] > known.max()])
            if not np.isfinite(known.max()):
                break
            self._choose(person, int(known.argmax()))
        return np.empty(0, np.intp)

    def _indices(self, person: _Person, number: int, gain: Floats, chance: Floats) -> Floats:
        """[n] reservation value of a query about each candidate; −∞ where none may be sent.

        Candidates that are worth less than their queries come last, the likeliest first.
        """
        limits = self.limits
        spent = limits.per_alternative is not None and person.queries >= limits.per_alternative
        if limits.confidence is not None or spent or self.queries[number] >= self.max_queries[number]:
            return np.full(len(gain), -np.inf)
        index = gain - limits.query_cost * person.first_cost / np.maximum(chance, _MIN_CHANCE)
        index = np.where(index > 0, index, _TINY * chance)
        return np.where(person.open & np.isfinite(gain) & (chance >= limits.min_chance), index, -np.inf)

    def _choose(self, person: _Person, candidate: int) -> None:
        """Make a candidate the next alternative; others with the same functions are no alternatives any more."""
        at = person.at[candidate]
        person.chosen.append(int(at))
        person.chosen_functions.append(self._functions[at])
        person.least = np.minimum(person.least, self._draws @ self._costs[at])
        person.gain = self._gain(person, self._costs[person.at])
        person.gain[np.isin(self._functions[person.at].astype(object), person.chosen_functions)] = 0.0
        person.queries = 0

    def _observe(self, selected: dict[int, Ints]) -> list[int]:
        """Query the candidates `selected` by person; return the people to go on with."""
        if not selected:
            return []
        assert self._labels is not None
        numbers = np.repeat(np.array([*selected], np.intp), [len(places) for places in selected.values()])
        chosen = np.concatenate([*selected.values()])
        at = np.array([self._candidate(*pair) for pair in zip(numbers.tolist(), chosen.tolist(), strict=True)], np.intp)
        states = self.frontier.full_states(self._labels.take(at))
        favourable, known = self.query(states, self.rows[numbers])
        self.chances.observe(at[known], states[known], favourable[known])
        np.add.at(self.queries, numbers[known], 1)
        for number, places in selected.items():
            person, own = self._people[number], numbers == number
            assert person is not None
            person.open[places], person.favourable[places] = False, favourable[own]
            person.queries += int(known[own].sum())
            if not known[own].all():  # the budget is spent
                self.max_queries = self.max_queries.copy()
                self.max_queries[number] = 0
        return list(selected)

    def _candidate(self, number: int, place: int) -> int:
        """Position, among the candidates of all people, of one of a person."""
        person = self._people[number]
        assert person is not None
        return int(person.at[place])
