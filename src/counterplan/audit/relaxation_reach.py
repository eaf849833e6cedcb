"""Breadth-first enumeration of the states that people can reach, and of those that a relaxation adds.

What a relaxation adds is reached through a *new* action: one that only the relaxed problem makes legal, taken in a
state that the person could reach before. All other new states follow from these. So a relaxation is searched from the
new actions on, and states that were reachable before are neither expanded nor queried again, unless they are reached
with fewer actions.

Actions of a function that is independent of the relaxed function are left out directly after a new action. Taken
before it, they lead to the same state, with as many actions, through states that were reachable before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from counterplan.blackbox import QueryBudgetExceeded
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints, Transitions
from counterplan.search.orders import NO_ACTION
from counterplan.search.state_keys import StateKeys

Longs = npt.NDArray[np.int64]
Ask = Callable[[Floats, Ints], Bools]
"""Returns whether states [n, F] of people [n] are favourable."""
ActionsOf = Callable[[Floats, "Reached"], tuple[Ints, Ints]]
"""Returns the actions to take in states [n, F]: rows [m], in ascending order, and an action for each."""

HELPED, NOT_HELPED, UNKNOWN = 1, 0, -1
"""A favourable state was found; it is proved that there is none; neither."""
_BATCH_SIZE = 2**20
"""States × actions expanded together, which bounds the memory of intermediate arrays."""
_WAVES = (32, 256, 2_048)
"""States of one person that are queried together at first, and in later calls; then all the others."""


@dataclass
class Reached:
    """States of B people, each once, at the fewest actions that lead to it.

    States are numbered in order of the number of actions; the first B are the people as they are.
    """

    person: Ints
    """[n]"""
    states: Floats
    """[n, M] the mutable features."""
    key: Longs
    """[n] the keys of the states."""
    depth: Ints
    """[n] the fewest actions that lead to it."""
    parent: Ints
    """[n] the number of the state before the last action; -1 for people as they are."""
    action: Ints
    """[n] the last action; -1 for people as they are."""

    def __len__(self) -> int:
        return len(self.person)

    def take(self, rows: Ints) -> Reached:
        """The states at `rows`."""
        return Reached(*(getattr(self, one.name)[rows] for one in fields(self)))

    @staticmethod
    def join(parts: Sequence[Reached]) -> Reached:
        """Concatenate states."""
        columns = zip(*([getattr(part, one.name) for one in fields(part)] for part in parts), strict=True)
        return Reached(*(np.concatenate(column) for column in columns))


class _Nodes:
    """A growing list of states of a problem, with the fewest actions known for each.

    People with more than `limit` states, apart from those that the list begins with, are not expanded any further.
    """

    def __init__(self, problem: Problem, starts: Floats, limit: int, reached: Reached | None = None) -> None:
        self.transitions = problem.transitions
        self.mutable = problem.transitions.mutable
        self.starts, self.limit = starts, limit
        self.state_keys = StateKeys(problem, starts)
        self.count = np.zeros(len(starts), np.intp)
        """[B] the states of each person that were added."""
        if reached is None:
            people, none = np.arange(len(starts)), np.full(len(starts), -1)
            zeros = np.zeros(len(starts), np.intp)
            reached = Reached(people, starts[:, self.mutable], zeros, zeros, none, none)
        key = self.state_keys(reached.person, self.full(reached))
        self._parts = [replace(reached, key=key)]
        order = np.argsort(key, kind="stable")
        self.keys, self.depths = key[order], reached.depth[order]

    @classmethod
    def after(cls, problem: Problem, relaxed: Problem, starts: Floats, limit: int, reached: Reached) -> _Nodes:
        """Begin in `relaxed` with the states that were `reached` in `problem`."""
        mutable = relaxed.transitions.mutable
        states = starts[:, mutable][reached.person]
        states[:, np.searchsorted(mutable, problem.transitions.mutable)] = reached.states
        spans = zip(relaxed.transitions.spans, problem.transitions.spans, strict=False)
        pieces = [np.arange(new.start, new.start + old.stop - old.start) for new, old in spans]
        renumbered = np.concatenate([*pieces, [-1]]).astype(np.intp)  # the last one, -1, stays
        return cls(relaxed, starts, limit, replace(reached, states=states, action=renumbered[reached.action]))

    @property
    def all(self) -> Reached:
        """All states."""
        if len(self._parts) > 1:
            self._parts = [Reached.join(self._parts)]
        return self._parts[0]

    def full(self, states: Reached) -> Floats:
        """States [n, F] with all features."""
        full = self.starts[states.person]
        full[:, self.mutable] = states.states
        return full

    def grow(self, numbers: Ints, actions: ActionsOf, depth: int) -> Ints:
        """Take `actions` in the states `numbers` [n]; the numbers of states that were never reached by as few.

        Of several ways to a state, the first is kept.
        """
        size = max(1, _BATCH_SIZE // len(self.transitions))
        first_new = len(self.all)
        for start in range(0, len(numbers), size):
            chunk = numbers[start : start + size]
            chunk = chunk[self.count[self.all.person[chunk]] <= self.limit]
            before = self.all.take(chunk)
            full = self.full(before)
            rows, action = actions(full, before)
            for first in range(0, len(rows), size):
                self._add(before, chunk, full, (rows[first : first + size], action[first : first + size]), depth)
        return np.arange(first_new, len(self.all))

    def _add(self, before: Reached, numbers: Ints, full: Floats, taken: tuple[Ints, Ints], depth: int) -> None:
        """Add the states after the actions `taken`, rows [m] of `before` with an action each."""
        rows, action = taken
        after = self.transitions.apply(full[rows], action)
        person = before.person[rows]
        key, first = np.unique(self.state_keys(person, after), return_index=True)
        better = self._improve(key, depth)
        key, first = key[better], first[better]
        order = np.argsort(first)  # the order of the ways
        kept = first[order]
        depths = np.full(len(kept), depth, np.intp)
        states = after[kept][:, self.mutable]
        self._parts.append(Reached(person[kept], states, key[order], depths, numbers[rows[kept]], action[kept]))
        self.count += np.bincount(person[kept], minlength=len(self.starts))

    def _improve(self, key: Longs, depth: int) -> Bools:
        """Record that distinct states were reached by `depth` actions; whether [n] they never were by as few."""
        at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        known = self.keys[at] == key
        better: Bools = ~known | (depth < self.depths[at])
        self.depths[at[known & better]] = depth
        keys = np.concatenate([self.keys, key[~known]])
        order = np.argsort(keys, kind="stable")
        self.keys = keys[order]
        self.depths = np.concatenate([self.depths, np.full(int((~known).sum()), depth, np.intp)])[order]
        return better

    def plan(self, number: int, longest: int) -> Ints:
        """The actions [T] that lead to a state, padded with NO_ACTION."""
        states = self.all
        actions: list[int] = []
        while states.parent[number] >= 0:
            actions.append(int(states.action[number]))
            number = int(states.parent[number])
        return np.array([*reversed(actions), *[NO_ACTION] * (longest - len(actions))], np.intp)


def reach(problem: Problem, starts: Floats, state_limit: int) -> tuple[Reached, Bools]:
    """Enumerate the states that people reach by legal actions within `max_actions`, without queries.

    Parameters
    ----------
    problem : Problem
        The problem.
    starts : array of shape [B, F]
        The people as they are.
    state_limit : int
        Most states of one person; beyond, the enumeration for that person ends incomplete.

    Returns
    -------
    reached : Reached
        The states.
    complete : bool array of shape [B]
        Whether they are all states of each person.
    """
    nodes = _Nodes(problem, starts, state_limit)
    transitions = problem.transitions

    def in_order(full: Floats, before: Reached) -> tuple[Ints, Ints]:
        function = np.where(before.action < 0, len(transitions.functions), transitions.function_of[before.action])
        legal = transitions.legal(full) & transitions.in_order[function]
        rows, action = np.nonzero(legal[:, :-1])
        return rows, action

    layer = np.arange(len(starts))
    for depth in range(1, problem.max_actions + 1):
        layer = nodes.grow(layer, in_order, depth)
    return nodes.all, nodes.count <= state_limit


@dataclass
class Beyond:
    """What a relaxation adds for B people."""

    outcome: Ints
    """[B] HELPED, NOT_HELPED or UNKNOWN."""
    actions: Ints
    """[B, T] a plan with the fewest actions for people who are helped, padded with NO_ACTION."""
    states: int
    """The most new states of one person."""


class BeyondSearch:
    """Searches for favourable states among those that people reach in a relaxed problem only.

    Parameters
    ----------
    problem : Problem
        The problem.
    starts : array of shape [B, F]
        The people as they are.
    state_limit : int
        Most states of one person, and most new states in a relaxed problem. People with more have an unknown outcome.
    """

    def __init__(self, problem: Problem, starts: Floats, state_limit: int) -> None:
        self.problem, self.starts, self.state_limit = problem, starts, state_limit
        self.reached, self.complete = reach(problem, starts, state_limit)

    def run(self, relaxed: Problem, function: str | None, ask: Ask) -> Beyond:
        """Search in one relaxed problem.

        Parameters
        ----------
        relaxed : Problem
            A problem with more legal actions.
        function : str or None
            The function of `relaxed` that has them; None if plans may have one action more.
        ask : callable
            Queries the black box. No state that people reach in the problem itself may be favourable.

        Returns
        -------
        Beyond
        """
        nodes = _Nodes.after(self.problem, relaxed, self.starts, self.state_limit, self.reached)
        outcome = np.where(self.complete, NOT_HELPED, UNKNOWN)
        plans = np.full((len(self.starts), relaxed.max_actions), NO_ACTION, np.intp)
        for numbers in self._layers(nodes, relaxed, function, outcome):
            outcome[(nodes.count > self.state_limit) & (outcome == NOT_HELPED)] = UNKNOWN
            person = nodes.all.person
            for wave in _waves(person[numbers]):
                queried = numbers[wave]
                queried = queried[outcome[person[queried]] == NOT_HELPED]
                favourable = self._favourable(ask, nodes, queried, outcome)
                people, first = np.unique(person[queried[favourable]], return_index=True)
                outcome[people] = HELPED
                for row, number in zip(people.tolist(), queried[favourable][first].tolist(), strict=True):
                    plans[row] = nodes.plan(number, relaxed.max_actions)
        return Beyond(outcome, plans, int(nodes.count.max(initial=0)))

    @staticmethod
    def _favourable(ask: Ask, nodes: _Nodes, queried: Ints, outcome: Ints) -> Bools:
        """Which of the states `queried` [n] are favourable; people whose states were not answered become UNKNOWN."""
        if not len(queried):
            return np.zeros(0, bool)
        states = nodes.all.take(queried)
        try:
            return ask(nodes.full(states), states.person)
        except QueryBudgetExceeded as stop:
            outcome[states.person[~stop.known]] = UNKNOWN
            return stop.answers & stop.known

    def _layers(self, nodes: _Nodes, relaxed: Problem, function: str | None, outcome: Ints) -> Iterator[Ints]:
        """The numbers of new states, by the number of actions that lead to them, while the outcome is NOT_HELPED."""
        transitions = relaxed.transitions
        refused = nodes.keys  # of the states reached before, ascending; `nodes` replaces the array when it grows
        everything = range(len(transitions.functions))
        dependent: list[int] = []
        if function is not None:
            index = [one.name for one in transitions.functions].index(function)
            dependent = np.flatnonzero(~transitions.independent[index]).tolist()
        new_actions = self._new_actions(relaxed, function)
        seeds = others = np.empty(0, np.intp)
        first_depth = 1 if function is not None else relaxed.max_actions
        for depth in range(first_depth, relaxed.max_actions + 1):
            is_open = outcome == NOT_HELPED
            if not is_open.any():
                return
            origins, person = np.flatnonzero(self.reached.depth == depth - 1), nodes.all.person
            origins, seeds, others = (rows[is_open[person[rows]]] for rows in (origins, seeds, others))
            new = nodes.grow(origins, new_actions, depth)
            pruned = nodes.grow(seeds, _actions_of(transitions, dependent), depth)
            whole = nodes.grow(others, _actions_of(transitions, everything), depth)
            seeds, others = new, np.concatenate([pruned, whole])
            numbers = np.concatenate([seeds, others])
            key = nodes.all.key[numbers]
            at = np.minimum(np.searchsorted(refused, key), len(refused) - 1)
            yield numbers[refused[at] != key]

    def _new_actions(self, relaxed: Problem, function: str | None) -> ActionsOf:
        """The legal actions of the relaxed function that were not legal before; of all functions if it is None."""
        transitions, before = relaxed.transitions, self.problem.transitions
        if function is None:
            return _actions_of(transitions, range(len(transitions.functions)))
        index = [one.name for one in transitions.functions].index(function)
        names = [one.name for one in before.functions]

        def new(full: Floats, states: Reached) -> tuple[Ints, Ints]:
            legal = transitions.legal_arguments(full, index)
            if function in names:
                legal_before = before.legal_arguments(full, names.index(function))
                legal[:, : legal_before.shape[1]] &= ~legal_before
            rows, argument = np.nonzero(legal)
            return rows, transitions.spans[index].start + argument

        return new


def _actions_of(transitions: Transitions, functions: Sequence[int]) -> ActionsOf:
    """All legal actions of some functions."""

    def legal_actions(full: Floats, states: Reached) -> tuple[Ints, Ints]:
        legal = np.zeros((len(full), len(transitions)), bool)
        for index in functions:
            legal[:, transitions.spans[index]] = transitions.legal_arguments(full, index)
        rows, action = np.nonzero(legal)
        return rows, action

    return legal_actions


def _waves(person: Ints) -> Iterator[Ints]:
    """Split the positions of `person` [n]: the first of everybody, then more of everybody, then all others."""
    order = np.argsort(person, kind="stable")
    ordered = person[order]
    rank = np.arange(len(person)) - np.searchsorted(ordered, ordered)
    ends = [0, *np.cumsum(_WAVES).tolist(), len(person)]
    for low, high in pairwise(ends):
        if low < len(person):
            yield order[(rank >= low) & (rank < high)]
