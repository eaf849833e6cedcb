"""Probes find the boundary between a refused and an accepted row."""

from __future__ import annotations

import numpy as np

from counterplan.benchmarks.family import family
from counterplan.search.probes import probes


def test_probes_lie_on_both_sides_and_take_few_questions() -> None:
    member = family(20, "needle", 3)
    problem = member.problem
    states = problem.read(member.train).states
    good = member.model.favourable(states)
    refused, accepted = states[~good][:100], states[good][:100]
    asked: list[int] = []

    def ask(rows: np.ndarray, person: np.ndarray) -> np.ndarray:
        asked.append(len(rows))
        np.testing.assert_array_equal(rows[:, :2], refused[person][:, :2])  # age and region stay
        return member.model.favourable(rows)

    found, person, favourable = probes(problem, refused, accepted, ask, np.random.default_rng(0))
    assert len(found) == len(person) == len(favourable) == sum(asked)
    assert len(asked) <= 6
    assert 0.2 < favourable.mean() < 0.8
    assert (favourable == member.model.favourable(found)).all()


def test_nothing_to_find_between_rows_that_hardly_differ() -> None:
    problem = family(5, needed=1).problem
    rows = np.zeros((3, 7))
    found, person, favourable = probes(problem, rows, rows, lambda rows, person: person < 0, np.random.default_rng(0))
    assert found.shape == (0, 7)
    assert not len(person)
    assert not len(favourable)
