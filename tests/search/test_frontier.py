"""States in order of cost: the same, however few are taken at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import worlds
from counterplan.problem import Problem
from counterplan.search.frontier import Frontier

Given = list[tuple[int, int, int, tuple[int, ...]]]


def given_by(problem: Problem, starts: np.ndarray, limit: int | None) -> Given:
    """Everything that a frontier gives: whose, at what cost, in how many steps, by which actions."""
    frontier = Frontier(problem, starts, np.ones((len(starts), len(problem.transitions)), bool))
    frontier.limit = None if limit is None else np.full(len(starts), limit)
    found: Given = []
    last = np.zeros(len(starts))
    while (labels := frontier.advance()) is not None and len(found) < 3_000:
        counts = np.bincount(labels.person, minlength=len(starts))
        assert limit is None or counts.max(initial=0) <= limit
        assert (labels.cost * frontier.unit >= last[labels.person] - 1e-9).all(), "cheaper states come first"
        last = frontier.lower_bound
        rows = zip(labels.person, labels.cost, labels.depth, frontier.actions(labels), strict=True)
        found += [(int(p), int(c), int(d), tuple(a.tolist())) for p, c, d, a in rows]
    return sorted(found)


@given(st.data())
def test_a_bucket_may_be_taken_in_parts(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    starts = problem.read(data.draw(worlds.people(problem))).states
    together = given_by(problem, starts, None)
    if len(together) < 3_000:
        assert given_by(problem, starts, data.draw(st.integers(1, 9))) == together
