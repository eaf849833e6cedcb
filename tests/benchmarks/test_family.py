"""The family of invented problems: sizes, both outcomes, and that refused people can be helped."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from counterplan import BlackBox, CounterplanError, ExactPlanner
from counterplan.benchmarks.family import NeedleModel, family
from counterplan.search.change_sets import propose


@pytest.mark.parametrize("box", ["needle", "network", "boosted"])
@pytest.mark.parametrize(("functions", "fewest", "most"), [(5, 20, 40), (20, 90, 150)])
def test_grows_and_has_both_outcomes(functions: int, fewest: int, most: int, box: str) -> None:
    member = family(functions, box, needed=2)
    assert fewest <= len(member.problem.transitions) - 1 <= most
    granted = BlackBox(member.model).favourable(member.problem, member.train)
    assert 0 < granted.mean() < 0.5
    assert (member.train["outcome"].eq("granted") == granted).all()
    assert len(member.refused_test) > 300
    states = member.problem.read(member.test).states
    assert (member.model.labels_of_states(states) == member.test["outcome"]).all()


def test_the_largest_has_about_250_actions() -> None:
    assert 220 <= len(family(40).problem.transitions) - 1 <= 280


@pytest.mark.parametrize("box", ["needle", "network", "boosted"])
def test_is_the_same_for_the_same_seed(box: str) -> None:
    first, again, other = family(8, box, 3), family(8, box, 3), family(8, box, 3, seed=1)
    assert first.problem.fingerprint == again.problem.fingerprint != other.problem.fingerprint
    pd.testing.assert_frame_equal(first.train, again.train)
    states = first.problem.read(first.test).states
    assert (first.model.score(states) == again.model.score(states)).all()


@pytest.mark.parametrize(("needed", "actions"), [(2, 6), (4, 8), (6, 12)])
def test_a_needle_can_be_reached_by_everybody(needed: int, actions: int) -> None:
    member = family(12, "needle", needed, actions)
    problem = member.problem
    states = problem.read(member.refused_test).states[:40]
    names = {feature.name: feature for feature in problem.features}
    goals = [part.split(" >= ") for part in str(member.model.rule.tree).split(" and ")]
    assert len(goals) == needed
    at = [names[name].index for name, _ in goals]
    goal = np.array([names[name].values.index(value.strip("'")) for name, value in goals])
    has = lambda rows: np.minimum(rows[:, at] - goal, 0).sum(axis=1)  # noqa: E731
    found = propose(problem, states, np.ones((40, len(problem.transitions)), bool), lambda rows: 3.0 * has(rows) + 2.5)
    reached = found.person[member.model.favourable(found.states)]
    assert set(reached) == set(range(40))


@pytest.mark.parametrize(("functions", "needed", "seed"), [(5, 2, 0), (6, 2, 1), (8, 2, 2), (6, 3, 3)])
def test_what_a_needle_takes_is_what_the_exact_planner_finds(functions: int, needed: int, seed: int) -> None:
    member = family(functions, "needle", needed, 6, seed)
    people = member.refused_test.head(12)
    assert isinstance(member.model, NeedleModel)
    found = ExactPlanner(member.problem, BlackBox(member.model)).plan(people, refused=True)
    assert member.model.optimum(member.problem.read(people).states) == pytest.approx([plan.cost for plan in found])


def test_refuses_what_cannot_be() -> None:
    with pytest.raises(CounterplanError, match="one or more"):
        family(3, needed=4)
    with pytest.raises(CounterplanError, match="do not fit"):
        family(10, needed=8, max_actions=4)
    with pytest.raises(CounterplanError, match="there is no box"):
        family(3, "oracle", needed=2)
