"""Estimate of the number of states that people can reach, without queries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats
from counterplan.search.state_keys import StateKeys

_TOGETHER = 2
"""People counted at the same time; few, so that a large space is noticed at the first of them."""
_EXPANSIONS = 2**17
"""States × actions expanded at once."""


class StateCount(NamedTuple):
    """Number of states that a person can reach within the limits of the problem, their own state excluded."""

    mean: float
    """Mean over the people who were counted."""
    complete: bool
    """Whether all their states were counted; otherwise there are more."""
    people: int
    """Number of people who were counted."""


def count_states(problem: Problem, states: Floats, allowed: Bools, *, limit: int) -> StateCount:
    """Count the states that people can reach within `max_actions`, by breadth-first search; costs do not matter.

    People are counted in pairs, one after the other, until there are `limit` states in all. A pair with more states
    than that is not counted completely.

    Parameters
    ----------
    problem : Problem
    states : array of shape [B, F]
    allowed : bool array of shape [B, A]
        Actions that each person may take.
    limit : int
        Number of states after which counting ends.

    Returns
    -------
    StateCount
    """
    total = people = 0
    complete = True
    while people < len(states) and complete and total < limit:
        rows = slice(people, people + _TOGETHER)
        found, complete = _reachable(problem, states[rows], allowed[rows], limit)
        total, people = total + found, people + len(states[rows])
    return StateCount(total / max(1, people), complete, people)


def _reachable(problem: Problem, starts: Floats, allowed: Bools, limit: int) -> tuple[int, bool]:
    """Number of states that people at `starts` [B, F] can reach, and whether these are all; stops at `limit`."""
    transitions, keys = problem.transitions, StateKeys(problem, starts)
    person, states = np.arange(len(starts)), starts
    closed = np.sort(keys(person, states))
    size = max(1, _EXPANSIONS // len(transitions))
    for _ in range(problem.max_actions):
        reached = []
        for first in range(0, len(states), size):
            part = slice(first, first + size)
            legal = transitions.legal(states[part]) & allowed[person[part]]
            parent, action = np.nonzero(legal[:, :-1])
            after = transitions.apply(states[part][parent], action)
            whose = person[part][parent]
            key, at = np.unique(keys(whose, after), return_index=True)
            new = ~np.isin(key, closed, assume_unique=True)
            closed = np.union1d(closed, key[new])
            reached.append((whose[at[new]], after[at[new]]))
            if len(closed) - len(starts) >= limit:
                return len(closed) - len(starts), False
        if not reached:
            break
        person, states = (np.concatenate(parts) for parts in zip(*reached, strict=True))
    return len(closed) - len(starts), True
