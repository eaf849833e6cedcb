"""What networks see: every difference that a plan can make, whatever is missing."""

from __future__ import annotations

import json

import numpy as np
import pytest

import worlds
from counterplan import Problem
from counterplan.surrogate import StateFeatures

LOAN = Problem.from_dict(
    {
        "counterplan": 1,
        "name": "loan",
        "outcome": {"column": "loan", "values": ["refused", "granted"], "favourable": "granted"},
        "max_actions": 2,
        "features": {
            "debt": {"kind": "number", "missing": True, "minimum": 0},
            "school": {"kind": "ordered", "values": ["none", "some", "much"]},
            "town": {"kind": "category", "values": ["A", "B"], "missing": True},
        },
        "functions": {"PAY": {"add": "debt", "arguments": [-100, -50], "cost": {"base": 1}}},
    }
)
NAN = np.nan


def test_columns() -> None:
    states = np.array([[200.0, 0, 0], [100, 2, NAN], [NAN, 1, 1]])
    view = StateFeatures.from_states(LOAN, states)
    # reached: 200, 100, and 100, 0, 150, 50 after paying
    assert view.cuts == ((25.0, 75.0, 125.0, 175.0), (), ())
    debt, school, town = (view(states)[:, span] for span in view.spans)
    np.testing.assert_array_equal(debt[:, 1:], [[1, 1, 1, 1, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 1]])
    assert debt[0, 0] == -debt[1, 0] == pytest.approx(1, abs=0.05)
    assert debt[2, 0] == 0
    np.testing.assert_array_equal(school, [[0, 1, 0, 0], [1, 0, 0, 1], [0.5, 0, 1, 0]])
    np.testing.assert_array_equal(town, [[1, 0, 0], [0, 0, 1], [0, 1, 0]])
    assert view(states).shape == (3, len(view))
    assert view(states).dtype == np.float32


def test_many_numbers_are_cut_at_quantiles() -> None:
    states = np.zeros((1000, 3))
    states[:, 0] = np.random.default_rng(0).uniform(0, 1e6, 1000)
    cuts = StateFeatures.from_states(LOAN, states).cuts[0]
    assert 6 <= len(cuts) <= 20
    assert list(cuts) == sorted(set(cuts))
    assert cuts[0] < 2e5
    assert cuts[-1] > 8e5


def test_no_two_numbers_become_one() -> None:
    states = np.zeros((20, 3))
    view = StateFeatures.from_states(LOAN, states)
    states[:, 0] = 10.0 ** np.arange(20)
    assert len(np.unique(view(states)[:, 0])) == 20


@pytest.mark.parametrize("seed", range(40))
def test_random_worlds(seed: int) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    states = problem.read(worlds.random_people(problem, seed, 60)).states
    view = StateFeatures.from_states(problem, states[:40])
    columns = view(states)
    assert columns.shape == (60, len(view))
    assert np.isfinite(columns).all()
    again = StateFeatures.from_data(problem, json.loads(json.dumps(view.to_data())))
    assert again == view
    np.testing.assert_array_equal(again(states), columns)
    different = np.unique(np.nan_to_num(states, nan=-99.0), axis=0)
    assert len(np.unique(columns, axis=0)) == len(different), "different states look different"


def test_a_view_of_other_features_is_refused() -> None:
    data = StateFeatures.from_states(LOAN, np.zeros((1, 3))).to_data()
    with pytest.raises(ValueError, match="number of features"):
        StateFeatures.from_data(worlds.benchmark("syn"), data)
