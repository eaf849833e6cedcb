"""Initial queries close to the decision boundary, found by binary search between states of both outcomes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints


def probes(
    problem: Problem,
    refused: Floats,
    accepted: Floats,
    oracle: Callable[[Floats, Ints], Bools],
    random: np.random.Generator,
) -> tuple[Floats, Ints, Bools]:
    """Interpolate from each of `refused` [n, F] to its partner in `accepted` [n, F] and locate the boundary.

    Mutable features take the partner's values in random order; a binary search over their number queries `oracle`
    about states [m, F] of the rows [m]. Returns all queried states, their rows, and the answers.
    """
    mutable = problem.transitions.mutable
    count, width = len(refused), len(mutable)
    differs = ~_equal(refused[:, mutable], accepted[:, mutable])
    turn = np.argsort(random.random((count, width)) + ~differs, axis=1).argsort(axis=1)  # differing features come first
    low, high = np.zeros(count, np.intp), differs.sum(axis=1)
    states, people, answers = [refused[:0]], [np.empty(0, np.intp)], [np.empty(0, bool)]
    while True:
        rows = np.flatnonzero(high - low > 1)
        if not len(rows):
            return np.concatenate(states), np.concatenate(people), np.concatenate(answers)
        middle = (low[rows] + high[rows]) // 2
        mixed = refused[rows]
        mixed[:, mutable] = np.where(
            turn[rows] < middle[:, None], accepted[rows][:, mutable], refused[rows][:, mutable]
        )
        favourable = oracle(mixed, rows)
        high[rows[favourable]], low[rows[~favourable]] = middle[favourable], middle[~favourable]
        states.append(mixed)
        people.append(rows)
        answers.append(favourable)


def _equal(left: Floats, right: Floats) -> Bools:
    same: Bools = (left == right) | (np.isnan(left) & np.isnan(right))
    return same
