"""Plans as sets of changes: one that is added brings what it requires, one that is dropped takes what needs it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterplan.problem import Problem, Transitions
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION

LONGEST_CHAIN = 4
_TOGETHER = 20_000


class Followed(NamedTuple):
    """Plans as far as they are legal: actions [n, W], the price of each [n, W], final states [n, F]."""

    actions: Ints
    prices: Floats
    states: Floats

    def take(self, which: Ints | Bools) -> Followed:
        """Some of the plans."""
        return Followed(self.actions[which], self.prices[which], self.states[which])


def follow(transitions: Transitions, starts: Floats, actions: Ints) -> Followed:
    """Plans `actions` [n, W] from `starts` [n, F], without what turns out not to be legal when it is its turn.

    All rows advance together, function by function, parents first: plans in that order take one pass.
    """
    actions = pack(actions)
    place = _places(transitions)[actions]
    lap = np.zeros_like(place)
    lap[:, 1:] = np.cumsum(place[:, 1:] <= place[:, :-1], axis=1)
    turn = np.where(actions == NO_ACTION, -1, lap * (len(transitions.functions) + 1) + place).ravel()
    order = np.argsort(turn, kind="stable")
    order = order[np.searchsorted(turn[order], 0) :]
    states, kept, prices = starts.copy(), np.full_like(actions, NO_ACTION), np.zeros(actions.shape)
    for group in np.split(order, np.flatnonzero(np.diff(turn[order])) + 1) if len(order) else []:
        rows, columns = np.divmod(group, actions.shape[1])
        after, price, legal = transitions.step(states[rows], actions[rows, columns])
        rows, columns = rows[legal], columns[legal]
        states[rows] = after[legal]
        kept[rows, columns] = actions[rows, columns]
        prices[rows, columns] = price[legal]
    first = np.argsort(kept == NO_ACTION, axis=1, kind="stable")
    width = max(1, int((kept != NO_ACTION).sum(axis=1).max(initial=0)))
    rows = np.arange(len(kept))[:, None]
    return Followed(kept[rows, first[:, :width]], prices[rows, first[:, :width]], states)


def pack(actions: Ints) -> Ints:
    """Plans [n, W] with their gaps moved to the end, and no wider than the longest."""
    first = np.argsort(actions == NO_ACTION, axis=1, kind="stable")
    width = max(1, int((actions != NO_ACTION).sum(axis=1).max(initial=0)))
    packed: Ints = actions[np.arange(len(actions))[:, None], first[:, :width]]
    return packed


def _places(transitions: Transitions) -> Ints:
    """[A] how early each action's function comes, parents first; STOP and NO_ACTION come last."""
    places = np.full(len(transitions.functions) + 1, len(transitions.functions), np.intp)
    places[transitions.parents_first] = np.arange(len(transitions.functions))
    return places[transitions.function_of]


class Changes:
    """Adds changes to plans of `starts` [B, F], and drops them, with all that hangs together."""

    def __init__(self, problem: Problem, starts: Floats, allowed: Bools) -> None:
        self.transitions = problem.transitions
        self.starts = starts
        self.allowed = allowed.copy()
        self.allowed[:, self.transitions.stop] = False
        self._place = _places(self.transitions)
        functions = self.transitions.functions
        replaces = [-1 if function.adds else function.target for function in functions]
        self._replaces = np.array([*replaces, -1], np.intp)[self.transitions.function_of]
        """[A] the feature whose earlier changes an action makes pointless; -1 if it only adds."""
        self.chains = np.full((len(starts), len(self.transitions), LONGEST_CHAIN), NO_ACTION, np.intp)
        """[B, A, L] the cheapest legal plan known that ends with each action; empty if there is none."""
        self._find_chains()

    @property
    def reachable(self) -> Bools:
        """[B, A] the actions that some short plan makes possible."""
        return np.asarray(self.chains[:, :, 0] != NO_ACTION)

    def _find_chains(self) -> None:
        transitions = self.transitions
        per_person = max(1, len(transitions))
        for first in range(0, len(self.starts), max(1, _TOGETHER // per_person)):
            person = np.arange(first, min(first + max(1, _TOGETHER // per_person), len(self.starts)))
            states, cost = self.starts[person], np.zeros(len(person))
            chain = np.full((len(person), LONGEST_CHAIN), NO_ACTION, np.intp)
            for length in range(LONGEST_CHAIN):
                legal = transitions.legal(states) & self.allowed[person] & (self.chains[person, :, 0] == NO_ACTION)
                row, action = np.nonzero(legal)
                total = cost[row] + transitions.cost(states)[row, action]
                order = np.lexsort((total, action, person[row]))
                row, action, total = row[order], action[order], total[order]
                new = np.ones(len(row), bool)
                new[1:] = (person[row[1:]] != person[row[:-1]]) | (action[1:] != action[:-1])
                row, action, cost = row[new], action[new], total[new]
                if not len(row):
                    break
                chain, states, person = chain[row], transitions.apply(states[row], action), person[row]
                chain[:, length] = action
                self.chains[person, action] = chain

    def make(self, person: Ints, actions: Ints) -> Followed:
        """Plans `actions` [n, W] of the people `person` [n], parents first; as given, if that keeps more of them."""
        given = pack(np.where(self.allowed[person[:, None], actions] & (actions != NO_ACTION), actions, NO_ACTION))
        order = np.argsort(self._place[given], axis=1, kind="stable")
        tidy = given[np.arange(len(given))[:, None], order]
        made = follow(self.transitions, self.starts[person], tidy)
        lost = _count(made.actions) < _count(given)
        rows = np.flatnonzero(lost & (tidy != given).any(axis=1))
        if len(rows):
            other = follow(self.transitions, self.starts[person[rows]], given[rows])
            better = _count(other.actions) > _count(made.actions[rows])
            made = _replace(made, rows[better], other.take(better))
        return made

    def change(self, person: Ints, actions: Ints, drop: Ints, add: Ints) -> Followed:
        """Plans `actions` [n, W] without the step at `drop` [n] and with the action `add` [n], -1 meaning neither.

        An action that cannot be added as things stand brings its chain along.
        """
        base = actions.copy()
        rows = np.flatnonzero(drop >= 0)
        base[rows, drop[rows]] = NO_ACTION
        made = self.make(person, self._with(base, add[:, None]))
        missed = np.flatnonzero((add != NO_ACTION) & ~(made.actions == add[:, None]).any(axis=1))
        if len(missed):
            chain = self.chains[person[missed], add[missed]]
            made = _replace(made, missed, self.make(person[missed], self._with(base[missed], chain)))
        return made

    def _with(self, actions: Ints, more: Ints) -> Ints:
        """Plans [n, W] and `more` [n, L], which replaces what sets the same features."""
        targets = np.where(more == NO_ACTION, -1, self._replaces[more])
        mine = np.where(actions == NO_ACTION, -1, self._replaces[actions])
        replaced = ((mine[:, :, None] == targets[:, None, :]) & (mine[:, :, None] >= 0)).any(axis=2)
        return np.concatenate([np.where(replaced, NO_ACTION, actions), more], axis=1)


def _count(actions: Ints) -> Ints:
    return np.asarray((actions != NO_ACTION).sum(axis=1))


def _replace(made: Followed, rows: Ints, other: Followed) -> Followed:
    """`made` with `other` at `rows`."""
    width = max(made.actions.shape[1], other.actions.shape[1])
    actions = np.full((len(made.actions), width), NO_ACTION, np.intp)
    prices, states = np.zeros(actions.shape), made.states.copy()
    actions[:, : made.actions.shape[1]], prices[:, : made.actions.shape[1]] = made.actions, made.prices
    actions[rows], prices[rows] = NO_ACTION, 0.0
    actions[rows, : other.actions.shape[1]] = other.actions
    prices[rows, : other.actions.shape[1]] = other.prices
    states[rows] = other.states
    return Followed(actions, prices, states)
