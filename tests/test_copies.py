"""Problems, plans and programs survive `copy` and `pickle`, which joblib and multiprocessing need."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, ExactPlanner, Plans, Problem, benchmarks
from program.programs import imitated


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


copied = pytest.mark.parametrize("copied", [pickled, copy.deepcopy, copy.copy])
Copy = Callable[[Any], Any]


@settings(max_examples=15)
@given(st.data())
def test_a_copied_problem_is_the_same_problem(data: st.DataObject) -> None:
    problem: Problem = data.draw(worlds.problems())
    people = problem.read(data.draw(worlds.people(problem)))
    for copied in (pickled, copy.deepcopy):
        other = copied(problem)
        assert other.fingerprint == problem.fingerprint
        assert other.query_fingerprint == problem.query_fingerprint
        assert other.features == problem.features
        for ours, theirs in (
            (problem.transitions.legal, other.transitions.legal),
            (problem.transitions.cost, other.transitions.cost),
        ):
            assert np.array_equal(ours(people.states), theirs(people.states), equal_nan=True)


@copied
def test_copied_plans_are_the_same_plans(copied: Copy) -> None:
    german = benchmarks.load("german")
    plans = ExactPlanner(german.problem, BlackBox(german.model)).plan(german.test.head(20))
    for original in (plans, Plans(plans.plans, plans.problem), plans[:3]):
        other = copied(original)
        assert other == original
        assert other.to_csv() == original.to_csv()
        assert other[0] == original[0] == copied(original[0])
    other = copied(plans)
    assert np.array_equal(other.final_states, plans.final_states)
    assert len(other + plans) == 40
    assert other[0].replay(german.problem, BlackBox(german.model)).ok


@copied
def test_a_copied_program_recommends_the_same(copied: Copy) -> None:
    program, people = imitated(), benchmarks.load("german").refused_test.head(10)
    expected = program.recommend(people)  # fills the caches of the program, which must not prevent a copy
    other = copied(program)
    assert other.recommend(people) == expected
    assert other.to_text() == program.to_text()
    assert other.model_card == program.model_card
    assert pickled(expected) == expected, "reasons included"
