"""Costs of actions, multiplied by each person's own weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterplan.problem.transitions import Bools, Floats, Ints, Transitions, rounded


@dataclass(frozen=True)
class ActionCosts:
    """Costs of actions for B people; without weights they are those of the problem, bit for bit."""

    transitions: Transitions
    weights: Floats | None = None
    """[B, A] factors on the cost of each action, or None if all are 1."""

    def weigh(self, cost: Floats, person: Ints, action: npt.NDArray[np.integer]) -> Floats:
        """Costs [n] of one `action` [n] of each `person` [n], weighted and rounded to 9 decimals."""
        return cost if self.weights is None else rounded(cost * self.weights[person, action])

    def all(self, states: Floats, person: Ints) -> Floats:
        """Cost [n, A] of every action in `states` [n, F] of the people `person` [n]."""
        cost = self.transitions.cost(states)
        return cost if self.weights is None else rounded(cost * self.weights[person])

    def step(self, states: Floats, person: Ints, actions: npt.NDArray[np.integer]) -> tuple[Floats, Floats, Bools]:
        """`Transitions.step` with weighted costs: states after one action each [n, F], cost [n], legality [n]."""
        after, cost, legal = self.transitions.step(states, actions)
        return after, self.weigh(cost, person, actions), legal

    def least(self) -> Floats:
        """Lower bound [B, A] or [1, A] on the cost of each action in any state; STOP costs 0."""
        least = self.transitions.least_costs[None]
        return least if self.weights is None else least * self.weights

    def most(self) -> Floats:
        """Upper bound [B, A] or [1, A] on the cost of each action in any state."""
        most = self.transitions.most_costs[None]
        return most if self.weights is None else most * self.weights

    def ceiling(self, people: int, max_actions: int) -> Floats:
        """A number [B] above the cost of any plan of each of so many `people`."""
        most = self.most()[:, :-1].max(axis=1, initial=0.0) * max_actions
        return np.broadcast_to(most, people) + 1.0
