"""Final states of plans that weigh survival against cost, by enumeration, to calibrate a chance on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.frontier import Frontier

Chance = Callable[[Floats, Ints], Floats]
"""The chance [n] of states [n, F] of the people `rows` [n]."""
MAX_STATES = 20_000


class FrontierEnds:
    """Final states of the plans that minimize cost / least cost + weight · (1 − chance), for any chance.

    All states up to a multiple of each person's least cost are enumerated once. Calling the object with a chance
    selects the best of them for every person and weight.

    Parameters
    ----------
    problem : Problem
    people : People
        The people to plan for.
    accepted : callable
        Which states [n, F] of the people `rows` [n] are favourable today: a session of the black box, which sends a
        query for each state, or the prediction of a surrogate, which sends none.
    weights : sequence of float, default=(0, 4, 8)
        Weights of survival. One plan per person and weight is selected.
    factor : float, default=4.0
        States of at most this multiple of a person's least cost are enumerated.
    max_states : int, default=20_000
        Most states enumerated for one person, except for those of equal cost.
    """

    def __init__(
        self,
        problem: Problem,
        people: People,
        accepted: Callable[[Floats, Ints], Bools],
        *,
        weights: Sequence[float] = (0.0, 4.0, 8.0),
        factor: float = 4.0,
        max_states: int = MAX_STATES,
    ) -> None:
        self.weights = tuple(weights)
        count = len(people)
        frontier = Frontier(problem, people.states, np.ones((count, len(problem.transitions)), bool))
        least, enumerated = np.full(count, np.inf), np.zeros(count, np.intp)
        states, rows = [np.empty((0, len(problem.features)))], [np.empty(0, np.intp)]
        costs = [np.empty(0)]
        while frontier.active.any() and (labels := frontier.advance()) is not None:
            full, cost = frontier.full_states(labels), labels.cost * np.float64(frontier.unit)
            favourable = accepted(full, labels.person) if len(labels) else np.zeros(0, bool)
            np.minimum.at(least, labels.person[favourable], cost[favourable])
            enumerated += np.bincount(labels.person, minlength=count)
            states.append(full[favourable])
            rows.append(labels.person[favourable])
            costs.append(cost[favourable])
            frontier.finished |= (frontier.lower_bound > factor * least) | (enumerated >= max_states)
            frontier.active = ~frontier.finished
        self.states: Floats = np.concatenate(states)
        """[n, F] every favourable state that was enumerated."""
        self.rows: Ints = np.concatenate(rows)
        """[n] whose state it is."""
        self.ratio: Floats = np.concatenate(costs) / np.maximum(least[self.rows], frontier.unit)
        """[n] its cost relative to the person's least cost."""

    def __call__(self, chance: Chance) -> tuple[Floats, Ints]:
        """The final states [m, F] of the plans by `chance`, and whose they are [m]."""
        known = chance(self.states, self.rows) if len(self.states) else np.empty(0)
        chosen = [np.empty(0, np.intp)]
        for weight in self.weights:
            order = np.lexsort((self.ratio + weight * (1 - known), self.rows))
            chosen.append(order[np.diff(self.rows[order], prepend=-1) != 0])
        best = np.concatenate(chosen)
        return self.states[best], self.rows[best]
