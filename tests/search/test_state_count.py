"""The number of states without queries, against full enumeration."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import worlds
from counterplan.search.frontier import Frontier
from counterplan.search.state_count import count_states


@given(st.data())
def test_as_many_as_the_frontier_enumerates(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    starts = problem.read(data.draw(worlds.people(problem))).states
    allowed = np.random.default_rng(data.draw(st.integers(0, 99))).random((len(starts), len(problem.transitions))) < 0.8
    frontier, total = Frontier(problem, starts, allowed), 0
    while (labels := frontier.advance()) is not None:
        total += len(labels)
    assert count_states(problem, starts, allowed, limit=10**9) == (total / max(1, len(starts)), True, len(starts))
    some = count_states(problem, starts, allowed, limit=10)
    assert some.complete or some.mean * some.people >= 10
    assert some.people <= len(starts)
