"""States that are worth knowing the answer to before anything is known: on both sides of the boundary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints


def probes(
    problem: Problem, refused: Floats, accepted: Floats, ask: Callable[[Floats, Ints], Bools],
    random: np.random.Generator,
) -> tuple[Floats, Ints, Bools]:  # fmt: skip
    """Walk from each of `refused` [n, F] to its partner in `accepted` [n, F] and find where the answer turns.

    What can change takes over the partner's values in random order, and a binary search over how many asks `ask` about
    states [m, F] of the rows [m]. Gives all states asked about, whose they are, and the answers.
    """
    mutable = problem.transitions.mutable
    count, width = len(refused), len(mutable)
    differs = ~_equal(refused[:, mutable], accepted[:, mutable])
    turn = np.argsort(random.random((count, width)) + ~differs, axis=1).argsort(axis=1)  # what differs comes first
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
        favourable = ask(mixed, rows)
        high[rows[favourable]], low[rows[~favourable]] = middle[favourable], middle[~favourable]
        states.append(mixed)
        people.append(rows)
        answers.append(favourable)


def _equal(left: Floats, right: Floats) -> Bools:
    same: Bools = (left == right) | (np.isnan(left) & np.isnan(right))
    return same
