"""Plans as sets of changes: adding one also adds its prerequisites, dropping one also drops its dependents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints, Transitions
from counterplan.search.costs import ActionCosts
from counterplan.search.orders import NO_ACTION

LONGEST_CHAIN = 4
_BATCH_SIZE = 20_000


class LegalPlans(NamedTuple):
    """Plans reduced to their legal steps: actions [n, W], step costs [n, W], final states [n, F]."""

    actions: Ints
    costs: Floats
    states: Floats

    def take(self, rows: Ints | Bools) -> LegalPlans:
        """The plans at `rows`."""
        return LegalPlans(self.actions[rows], self.costs[rows], self.states[rows])


def follow(costs: ActionCosts, starts: Floats, person: Ints, actions: Ints) -> LegalPlans:
    """Execute plans `actions` [n, W] of each `person` [n] from `starts` [n, F], skipping illegal steps.

    All rows advance together, function by function, parents first: plans in that order take one pass.
    """
    transitions = costs.transitions
    actions = pack(actions)
    position = _positions(transitions)[actions]
    lap = np.zeros_like(position)
    lap[:, 1:] = np.cumsum(position[:, 1:] <= position[:, :-1], axis=1)
    turn = np.where(actions == NO_ACTION, -1, lap * (len(transitions.functions) + 1) + position).ravel()
    order = np.argsort(turn, kind="stable")
    order = order[np.searchsorted(turn[order], 0) :]
    states, taken, step_costs = starts.copy(), np.full_like(actions, NO_ACTION), np.zeros(actions.shape)
    for group in np.split(order, np.flatnonzero(np.diff(turn[order])) + 1) if len(order) else []:
        rows, columns = np.divmod(group, actions.shape[1])
        after, cost, legal = costs.step(states[rows], person[rows], actions[rows, columns])
        rows, columns = rows[legal], columns[legal]
        states[rows] = after[legal]
        taken[rows, columns] = actions[rows, columns]
        step_costs[rows, columns] = cost[legal]
    first = np.argsort(taken == NO_ACTION, axis=1, kind="stable")
    width = max(1, int((taken != NO_ACTION).sum(axis=1).max(initial=0)))
    rows = np.arange(len(taken))[:, None]
    return LegalPlans(taken[rows, first[:, :width]], step_costs[rows, first[:, :width]], states)


def pack(actions: Ints) -> Ints:
    """Plans [n, W] with their gaps moved to the end, no wider than the longest plan."""
    first = np.argsort(actions == NO_ACTION, axis=1, kind="stable")
    width = max(1, int((actions != NO_ACTION).sum(axis=1).max(initial=0)))
    packed: Ints = actions[np.arange(len(actions))[:, None], first[:, :width]]
    return packed


def _positions(transitions: Transitions) -> Ints:
    """[A] position of each action's function, parents first; STOP and NO_ACTION come last."""
    positions = np.full(len(transitions.functions) + 1, len(transitions.functions), np.intp)
    positions[transitions.parents_first] = np.arange(len(transitions.functions))
    return positions[transitions.function_of]


class Changes:
    """Add changes to plans of people at `starts` [B, F] and drop them, together with their dependencies.

    Only `allowed` [B, A] actions are taken; `cost_weights` [B, A] multiply their costs.
    """

    def __init__(self, problem: Problem, starts: Floats, allowed: Bools, cost_weights: Floats | None = None) -> None:
        self.transitions = problem.transitions
        self.costs = ActionCosts(self.transitions, cost_weights)
        self.starts = starts
        self.allowed = allowed.copy()
        self.allowed[:, self.transitions.stop] = False
        self._position = _positions(self.transitions)
        functions = self.transitions.functions
        replaces = [-1 if function.adds else function.target for function in functions]
        self._replaces = np.array([*replaces, -1], np.intp)[self.transitions.function_of]
        """[A] the feature whose earlier changes an action overwrites; -1 if it only adds."""
        self.chains = np.full((len(starts), len(self.transitions), LONGEST_CHAIN), NO_ACTION, np.intp)
        """[B, A, L] the cheapest legal plan known that ends with each action; empty if there is none."""
        self._find_chains()

    @property
    def reachable(self) -> Bools:
        """[B, A] the actions that some short plan makes possible."""
        return np.asarray(self.chains[:, :, 0] != NO_ACTION)

    def _find_chains(self) -> None:
        """Fill `chains` breadth first, the cheapest way to each action at each length."""
        transitions = self.transitions
        per_person = max(1, len(transitions))
        for first in range(0, len(self.starts), max(1, _BATCH_SIZE // per_person)):
            person = np.arange(first, min(first + max(1, _BATCH_SIZE // per_person), len(self.starts)))
            states, cost = self.starts[person], np.zeros(len(person))
            chain = np.full((len(person), LONGEST_CHAIN), NO_ACTION, np.intp)
            for length in range(LONGEST_CHAIN):
                legal = transitions.legal(states) & self.allowed[person] & (self.chains[person, :, 0] == NO_ACTION)
                row, action = np.nonzero(legal)
                total = cost[row] + self.costs.all(states, person)[row, action]
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

    def make(self, person: Ints, actions: Ints) -> LegalPlans:
        """Plans `actions` [n, W] of the people `person` [n], parents first; as given, if that keeps more steps."""
        given = pack(np.where(self.allowed[person[:, None], actions] & (actions != NO_ACTION), actions, NO_ACTION))
        order = np.argsort(self._position[given], axis=1, kind="stable")
        ordered = given[np.arange(len(given))[:, None], order]
        made = follow(self.costs, self.starts[person], person, ordered)
        lost = _count(made.actions) < _count(given)
        rows = np.flatnonzero(lost & (ordered != given).any(axis=1))
        if len(rows):
            other = follow(self.costs, self.starts[person[rows]], person[rows], given[rows])
            better = _count(other.actions) > _count(made.actions[rows])
            made = _replace(made, rows[better], other.take(better))
        return made

    def change(self, person: Ints, actions: Ints, drop: Ints, add: Ints) -> LegalPlans:
        """Plans `actions` [n, W] without the step at `drop` [n] and with the action `add` [n]; -1 means neither.

        An action that is not legal in the plan is added together with its chain.
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
        """Plans [n, W] followed by `more` [n, L], which replaces steps that set the same features."""
        targets = np.where(more == NO_ACTION, -1, self._replaces[more])
        present = np.where(actions == NO_ACTION, -1, self._replaces[actions])
        replaced = ((present[:, :, None] == targets[:, None, :]) & (present[:, :, None] >= 0)).any(axis=2)
        return np.concatenate([np.where(replaced, NO_ACTION, actions), more], axis=1)


def _count(actions: Ints) -> Ints:
    """[n] number of steps of plans [n, W]."""
    return np.asarray((actions != NO_ACTION).sum(axis=1))


def _replace(made: LegalPlans, rows: Ints, other: LegalPlans) -> LegalPlans:
    """`made` with `other` at `rows`."""
    width = max(made.actions.shape[1], other.actions.shape[1])
    actions = np.full((len(made.actions), width), NO_ACTION, np.intp)
    costs, states = np.zeros(actions.shape), made.states.copy()
    actions[:, : made.actions.shape[1]], costs[:, : made.actions.shape[1]] = made.actions, made.costs
    actions[rows], costs[rows] = NO_ACTION, 0.0
    actions[rows, : other.actions.shape[1]] = other.actions
    costs[rows, : other.actions.shape[1]] = other.costs
    states[rows] = other.states
    return LegalPlans(actions, costs, states)
