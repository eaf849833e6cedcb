"""People who do not exist are like those who do."""

from __future__ import annotations

import numpy as np
import pytest

import worlds
from counterplan.search.synthetic import crossover, synthesize


@pytest.mark.parametrize("name", ["german", "adult", "syn_long", "taiwan"])
def test_invented_people_have_values_that_people_have(name: str) -> None:
    problem = worlds.benchmark(name)
    people = problem.read(worlds.random_people(problem, 3, 300))
    states, _ = synthesize(problem, people, 500, np.random.default_rng(1))
    assert states.shape == (500, len(problem.features))
    for feature in problem.features:
        column, known = states[:, feature.index], people.states[:, feature.index]
        if feature.is_number:
            assert np.nanmin(known) <= np.nanmin(column) <= np.nanmax(column) <= np.nanmax(known)
            assert not feature.integer or (np.nan_to_num(column) % 1 == 0).all()
        else:
            assert set(column[~np.isnan(column)]) <= set(known[~np.isnan(known)])
    mine = {state.tobytes() for state in people.states}
    assert sum(state.tobytes() in mine for state in states) < 10, "hardly anybody is a copy"
    assert (synthesize(problem, people, 500, np.random.default_rng(1))[0] == states)[~np.isnan(states)].all()


def test_they_are_further_from_real_people_than_crossed_ones() -> None:
    problem = worlds.benchmark("german")
    people = problem.read(worlds.random_people(problem, 3, 300))
    random = np.random.default_rng(0)
    crossed, _ = crossover(problem, people, 200, random)
    invented, _ = synthesize(problem, people, 200, random)
    alike = [(some[:, None] == people.states[None]).sum(axis=2).max(axis=1).mean() for some in (crossed, invented)]
    assert alike[0] > alike[1]
