"""Estimate of the number of states that people can reach, by enumeration without queries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats
from counterplan.search.frontier import Frontier

_TOGETHER = 2
"""People enumerated at the same time; few, so that a large space is noticed at the first of them."""
_EXPANSIONS = 4_096
"""Most actions of one person applied at once."""


class StateCount(NamedTuple):
    """Number of states that a person can reach within the limits of the problem, their own state excluded."""

    mean: float
    """Mean over the people who were counted."""
    complete: bool
    """Whether all their states were counted; otherwise there are more."""
    people: int
    """Number of people who were counted."""


def count_states(
    problem: Problem, states: Floats, allowed: Bools, cost_weights: Floats | None = None, *, limit: int
) -> StateCount:
    """Count the states that people can reach.

    People are counted one after the other until all are, or there are `limit` states in all.

    Parameters
    ----------
    problem : Problem
    states : array of shape [B, F]
    allowed : bool array of shape [B, A]
        Actions that each person may take.
    cost_weights : array of shape [B, A], optional
        Factors on the cost of each action; None means 1.
    limit : int
        Most states in all.

    Returns
    -------
    StateCount
    """
    total = people = 0
    while people < len(states):
        rows = slice(people, people + _TOGETHER)
        weights = None if cost_weights is None else cost_weights[rows]
        frontier = Frontier(problem, states[rows], allowed[rows], weights)
        found, complete = _enumerated(frontier, limit - total)
        count = len(frontier.starts)
        if not complete and people and found * people <= total * count:  # no more than of those counted before
            break
        total, people = total + found, people + count
        if not complete:
            return StateCount(total / people, False, people)
    return StateCount(total / max(1, people), True, people)


def _enumerated(frontier: Frontier, limit: int) -> tuple[int, bool]:
    """Number of states of a frontier, and whether all were enumerated; stops at `limit`."""
    frontier.limit = np.full(len(frontier.starts), _EXPANSIONS)
    found = 0
    while (labels := frontier.advance()) is not None:
        found += len(labels)
        if found >= limit:
            return found, False
    return found, True
