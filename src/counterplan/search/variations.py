"""Random legal plans around people: the changes that are open to them, and variations of a plan that they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.changes import follow
from counterplan.search.costs import ActionCosts
from counterplan.search.orders import NO_ACTION

_KEPT = 0.6
"""Chance of a step of a plan to be part of a variation."""


class Variations(NamedTuple):
    """N legal plans of B people."""

    person: Ints
    """[N] whose plan it is."""
    actions: Ints
    """[N, T] actions, padded with NO_ACTION."""
    costs: Floats
    """[N] total costs."""
    states: Floats
    """[N, F] final states."""

    def take(self, rows: Ints | Bools | slice) -> Variations:
        """The plans at `rows`."""
        return Variations(self.person[rows], self.actions[rows], self.costs[rows], self.states[rows])

    @staticmethod
    def join(parts: Sequence[Variations]) -> Variations:
        """The plans of all parts, sorted by person."""
        width = max(part.actions.shape[1] for part in parts)
        padded = [
            np.pad(p.actions, ((0, 0), (0, width - p.actions.shape[1])), constant_values=NO_ACTION) for p in parts
        ]
        person, costs, states = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("person", "costs", "states")
        )
        order = np.argsort(person, kind="stable")
        return Variations(person[order], np.concatenate(padded)[order], costs[order], states[order])


class PlanSampler:
    """Draws random legal plans, with the same random numbers for everybody: the plans of a person do not depend on
    the others.

    Parameters
    ----------
    problem : Problem
    random : Generator
    plans : int
        Random plans of each person: 1 to `most` functions, parents first, each with a random legal argument.
    variations : int
        Variations of each person's own plan: some of its steps, and sometimes another action.
    most : int, default=4
        Most functions of a random plan; never more than the problem permits actions.
    """

    def __init__(
        self, problem: Problem, random: np.random.Generator, plans: int, variations: int, most: int = 4
    ) -> None:
        self.problem, self.transitions = problem, problem.transitions
        self.most = min(most, problem.max_actions)
        functions = len(self.transitions.functions)
        length = random.integers(1, self.most + 1, size=plans)
        self._taken = random.random((plans, functions)).argsort(axis=1).argsort(axis=1) < length[:, None]
        """[n, f] whether a random plan has each function."""
        self._argument = random.random((plans, functions))
        """[n, f] which of the legal arguments, as a share of their number."""
        self._kept = random.random((variations, problem.max_actions)) < _KEPT
        """[n, T] whether a variation has each step of the plan."""
        self._added = np.where(
            random.random(variations) < 0.5, random.integers(max(1, self.transitions.stop), size=variations), NO_ACTION
        )
        """[n] the action that is added."""

    def plans(self, starts: Floats, allowed: Bools | None = None, cost_weights: Floats | None = None) -> Variations:
        """Random plans, sorted by person; those without a legal step are left out.

        Parameters
        ----------
        starts : array of shape [B, F]
            States that the plans start in.
        allowed : bool array of shape [B, A], optional
            Actions that each person may take. Default: all.
        cost_weights : array of shape [B, A], optional
            Factors on the costs of actions. Default: 1.
        """
        transitions, costs = self.transitions, ActionCosts(self.transitions, cost_weights)
        person = np.repeat(np.arange(len(starts)), len(self._taken))
        draw = np.tile(np.arange(len(self._taken)), len(starts))
        states, spent = starts[person], np.zeros(len(person))
        actions, count = np.full((len(person), self.most), NO_ACTION, np.intp), np.zeros(len(person), np.intp)
        for function in transitions.parents_first.tolist():
            rows, span = np.flatnonzero(self._taken[draw, function]), transitions.spans[function]
            legal = transitions.legal_arguments(states[rows], function)
            if allowed is not None:
                legal &= allowed[person[rows], span]
            possible = legal.any(axis=1)
            rows, legal = rows[possible], legal[possible]
            share = self._argument[draw[rows], function] * legal.sum(axis=1)
            action = span.start + (np.cumsum(legal, axis=1) > share[:, None]).argmax(axis=1)
            states[rows], cost, _ = costs.step(states[rows], person[rows], action)
            spent[rows] += cost
            actions[rows, count[rows]] = action
            count[rows] += 1
        return Variations(person, actions, spent, states).take(count > 0)

    def around(
        self, starts: Floats, actions: Ints, allowed: Bools | None = None, cost_weights: Floats | None = None
    ) -> Variations:
        """Variations of the plans `actions` [B, T], sorted by person; steps that are not legal are skipped."""
        person = np.repeat(np.arange(len(starts)), len(self._kept))
        draw = np.tile(np.arange(len(self._kept)), len(starts))
        own = np.where(self._kept[draw, : actions.shape[1]], actions[person], NO_ACTION)
        varied = np.concatenate([own, self._added[draw, None]], axis=1)
        if allowed is not None:
            varied = np.where(allowed[person[:, None], varied], varied, NO_ACTION)
        made = follow(ActionCosts(self.transitions, cost_weights), starts[person], person, varied)
        count = (made.actions != NO_ACTION).sum(axis=1)
        found = Variations(person, made.actions, made.costs.sum(axis=1), made.states)
        return found.take((count > 0) & (count <= self.problem.max_actions))
