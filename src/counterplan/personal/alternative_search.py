"""Search for alternatives: plans with other functions that lower the expected least cost over personal weights.

A candidate is the cheapest plan to a state with one set of functions; where durations count, also a faster one. Costs
of plans are known without queries, and so is what an alternative would gain: the expected reduction of the least cost.
Candidates are therefore enumerated first, and queried in order of gain. If chances are known, a query goes to the
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
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.frontier import Frontier, Labels, Longs
from counterplan.search.orders import NO_ACTION, costs_by_function, rollout
from counterplan.search.schedule import schedule
from counterplan.search.timed_frontier import TimedFrontier

Codes = npt.NDArray[np.int8]
Query = Callable[[Floats, Ints], tuple[Bools, Bools]]
"""Answers [n] about states [n, F] of the people `rows` [n], and which of them are known [n]."""
Known = Callable[[Floats, Ints], Codes]
"""What is known without a query about states [n, F] of the people `rows` [n]: 1 favourable, 0 not, -1 unknown."""
UNKNOWN = -1
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


def candidate_frontier(
    problem: Problem,
    starts: Floats,
    allowed: Bools,
    cost_weights: Floats | None,
    deadline: float | None,
    settings: Alternatives,
) -> Frontier:
    """A frontier of candidates: states by set of functions and, where durations count, by duration.

    Parameters
    ----------
    problem : Problem
    starts : array of shape [B, F]
    allowed : bool array of shape [B, A]
    cost_weights : array of shape [B, A] or None
    deadline : float or None
        Longest duration of a plan.
    settings : Alternatives

    Returns
    -------
    Frontier
    """
    durations_count = bool(problem.time_unit) and settings.draws is None and settings.time_value > 0
    if deadline is None and not durations_count:
        return Frontier(problem, starts, allowed, cost_weights, by_functions=True)
    latest = np.inf if deadline is None else deadline
    return TimedFrontier(
        *(problem, starts, allowed, cost_weights),
        deadline=latest,
        every_duration=durations_count,
        by_functions=True,
    )


@dataclass(frozen=True)
class _Candidates:
    """Candidates of all people."""

    labels: Labels
    costs: Floats
    """[n, G + 1] costs by function, and that of time."""
    functions: npt.NDArray[np.object_]
    """[n] sets of functions, as bits."""
    states: Longs
    """[n] keys of the states, without functions."""
    known: Codes
    """[n] what was known about the states before the search."""

    @staticmethod
    def join(parts: list[_Candidates]) -> _Candidates:
        names = ("costs", "functions", "states", "known")
        joined = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        return _Candidates(Labels.join([part.labels for part in parts]), *joined)


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
        Of the B people, not advanced yet; see `candidate_frontier`.
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
    known : callable, optional
        Answers that are known before, which are not queried again.

    Attributes
    ----------
    queries : int array of shape [B]
        Queries about each person.
    incomplete : bool array of shape [B]
        Whether `max_states` or `max_queries` ended the search for a person, so that there may be other alternatives.
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
        known: Known | None = None,
    ) -> None:
        self.frontier, self.settings, self.query, self.rows = frontier, settings, query, rows
        self.chances, self.limits, self.propose, self.known = chances, limits, propose, known
        self.max_states, self.max_queries = max_states, max_queries
        self.queries = np.zeros(len(rows), np.intp)
        self.incomplete = np.zeros(len(rows), bool)
        self._transitions = frontier.transitions
        self._draws = settings.weights(len(self._transitions.functions))
        self._parts: list[_Candidates] = []
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
            _Person(self._draws @ own, float(cost), [used])
            for own, cost, used in zip(costs, total, functions.tolist(), strict=True)
        ]
        self._first_functions, self._least_cost = functions, total * (1 - _TINY)
        """[B] functions, as bits, and cost of the cheapest plans."""
        self._first_states = frontier.state_keys(everybody, rollout(self._transitions, frontier.starts, actions)[0])
        """[B] keys of their final states."""
        none = frontier.initial().take(slice(0))
        self._candidates = _Candidates(none, costs[:0], functions[:0], none.key, np.empty(0, np.int8))

    def run(self) -> list[Ints]:
        """Search; return the alternatives [n, T] of each person, in the order in which they were chosen."""
        self._enumerate()
        active = [*range(len(self._people))]
        while active:
            selected = {number: self._select(number) for number in active}
            active = self._observe({number: places for number, places in selected.items() if len(places)})
        labels = self._candidates.labels
        return [self.frontier.actions(labels.take(np.array(person.chosen, np.intp))) for person in self._people]

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
        frontier.active = self._first_functions != 0
        first_cost = np.array([person.first_cost for person in self._people])
        most = self.settings.max_ratio * first_cost
        most += _TINY * np.maximum(most, 1.0)
        states = np.zeros(len(most), np.intp)
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
        self.incomplete |= truncated
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
        labels = labels.take(np.lexsort((self._preference(labels), labels.person)))
        actions = self.frontier.actions(labels)
        functions = self._function_sets(actions)
        other = functions != self._first_functions[labels.person]
        labels, actions, functions = labels.where(other), actions[other], functions[other]
        costs, worth = self._costs_of(labels.person, actions), np.zeros(len(labels), bool)
        for number in np.unique(labels.person).tolist():
            own, person = labels.person == number, self._people[number]
            worth[own] = self._gain(person, costs[own]) >= self._min_gain(person)
        if worth.any():
            labels = labels.where(worth)
            states = self.frontier.full_states(labels)
            self.chances.add(labels, states)
            keys = self.frontier.state_keys(labels.person, states)
            known = np.full(len(labels), UNKNOWN, np.int8)
            if self.known is not None:
                known = self.known(states, self.rows[labels.person])
            self._parts.append(_Candidates(labels, costs[worth], functions[worth], keys, known))

    def _preference(self, labels: Labels) -> Ints:
        """[n] rank of labels: lower cost, then fewer steps, then file order."""
        rank = np.empty(len(labels), np.intp)
        rank[self.frontier.order(labels)] = np.arange(len(labels))
        return rank

    def _assign(self) -> None:
        """Join the candidates, and give each person their own; those that end like the first plan are favourable."""
        if not self._parts:
            return
        self._candidates = candidates = _Candidates.join(self._parts)
        for number, person in enumerate(self._people):
            person.at = np.flatnonzero(candidates.labels.person == number)
            known = candidates.known[person.at]
            person.favourable = (candidates.states[person.at] == self._first_states[number]) | (known == 1)
            person.open = ~person.favourable & (known == UNKNOWN)
            person.gain = self._gain(person, candidates.costs[person.at])

    def _gain(self, person: _Person, costs: Floats) -> Floats:
        """[n] by how much plans with `costs` [n, G + 1] lower the expected least cost."""
        gain: Floats = np.maximum(person.least - costs @ self._draws.T, 0.0).mean(axis=1)
        return gain

    def _min_gain(self, person: _Person) -> float:
        return max(self.settings.min_gain * person.first_cost, _TINY)

    def _select(self, number: int) -> Ints:
        """The candidates of a person to query next, after choosing alternatives as long as no query is worth its cost.

        Empty if all alternatives were chosen. Several only if answers do not change the chances of others: their
        number grows with that of the queries before, so that at most a quarter of the queries are not needed.
        """
        person, states = self._people[number], self._candidates.states
        while len(person.chosen) + 1 < self.settings.count and len(person.at):
            gain = np.where(person.gain >= self._min_gain(person), person.gain, -np.inf)
            chance = self.chances.values()[person.at]
            accepted = person.favourable
            if self.limits.confidence is not None:
                accepted = accepted | (chance >= self.limits.confidence)
            known = np.where(accepted, gain, -np.inf)
            index = self._indices(person, number, gain, chance)
            if index.max() > known.max():
                most = 1 if self.chances.learns else 1 + person.queries // 4
                most = min(most, int(self.max_queries[number] - self.queries[number]))
                if self.limits.per_alternative is not None:
                    most = min(most, self.limits.per_alternative - person.queries)
                places = np.argsort(-index, kind="stable")[: int((index > known.max()).sum())]
                first_of_state = np.sort(np.unique(states[person.at[places]], return_index=True)[1])
                return np.asarray(places[first_of_state[:most]])
            if self.limits.confidence is None and self.queries[number] >= self.max_queries[number]:
                likely = person.open & (chance >= self.limits.min_chance)
                self.incomplete[number] |= bool((likely & (gain > known.max())).any())
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
        candidates = self._candidates
        person.chosen_functions.append(candidates.functions[at])
        person.least = np.minimum(person.least, self._draws @ candidates.costs[at])
        person.gain = self._gain(person, candidates.costs[person.at])
        person.gain[np.isin(candidates.functions[person.at].astype(object), person.chosen_functions)] = 0.0
        person.queries = 0

    def _observe(self, selected: dict[int, Ints]) -> list[int]:
        """Query the candidates `selected` by person; return the people to go on with."""
        if not selected:
            return []
        candidates = self._candidates
        numbers = np.repeat(np.array([*selected], np.intp), [len(places) for places in selected.values()])
        at = np.concatenate([self._people[number].at[places] for number, places in selected.items()])
        states = self.frontier.full_states(candidates.labels.take(at))
        favourable, known = self.query(states, self.rows[numbers])
        self.chances.observe(at[known], states[known], favourable[known])
        np.add.at(self.queries, numbers[known], 1)
        for number in selected:
            person, own = self._people[number], numbers == number
            keys, queried = candidates.states[person.at], candidates.states[at[own]]
            person.open[np.isin(keys, queried)] = False
            person.favourable[np.isin(keys, queried[favourable[own]])] = True
            person.queries += int(known[own].sum())
            if not known[own].all():  # the budget is spent
                self.max_queries = self.max_queries.copy()
                self.max_queries[number] = 0
        return list(selected)
