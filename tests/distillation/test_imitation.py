"""The paper's program: scikit-learn trees become trees of tests, and say the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import worlds
from counterplan.distillation.candidate_tests import candidate_tests
from counterplan.distillation.imitation import ImitationSettings, Pairs, imitate, pairs_of
from counterplan.problem import Problem
from counterplan.program import INTERVENE, Leaf, decide, leaves
from counterplan.search.orders import NO_ACTION


def some_pairs(problem: Problem, seed: int, count: int) -> Pairs:
    """States with actions that depend on them in some odd way."""
    states = problem.read(worlds.random_people(problem, seed, count)).states
    odd = np.nan_to_num(states).sum(axis=1).astype(int) + np.isnan(states).sum(axis=1)
    return Pairs(np.zeros(count, np.intp), states, np.abs(odd) % len(problem.transitions))


@settings(max_examples=16)
@given(worlds.problems(), st.integers(0, 5))
def test_says_what_scikit_learn_says(problem: Problem, seed: int) -> None:
    pairs = some_pairs(problem, seed, 60)
    options = ImitationSettings()
    tree = imitate(problem, pairs, options)[INTERVENE]
    tests = candidate_tests(problem.features, pairs.states, options.max_thresholds)
    others = problem.read(worlds.random_people(problem, seed + 100, 200)).states
    states = np.concatenate([pairs.states, others])
    ends = [leaf.choices[0].action for _, leaf in leaves(tree)]
    mine = np.array(ends)[decide(tree, states)]
    if len(np.unique(pairs.action)) > 1 and tests:
        learned = DecisionTreeClassifier(random_state=0, min_samples_leaf=options.min_samples_leaf)
        learned.fit(np.stack([test(pairs.states) for test in tests], axis=1), pairs.action)
        np.testing.assert_array_equal(mine, learned.predict(np.stack([test(states) for test in tests], axis=1)))


def test_a_leaf_has_one_action() -> None:
    problem = worlds.benchmark("german")
    pairs = some_pairs(problem, 0, 50)
    for tree in imitate(problem, pairs).values():
        assert all(len(leaf.choices) == 1 for _, leaf in leaves(tree))
    constant = imitate(problem, pairs._replace(action=np.full(50, 3)))[INTERVENE]
    assert isinstance(constant, Leaf)
    assert [choice.action for choice in constant.choices] == [3]


def test_every_step_is_a_pair() -> None:
    problem = worlds.benchmark("german")
    transitions = problem.transitions
    states = problem.read(worlds.random_people(problem, 1, 30)).states
    first = transitions.legal(states)[:, :-1].argmax(axis=1)
    actions = np.full((30, problem.max_actions), NO_ACTION)
    actions[:, 0] = first
    actions[::2, 0] = NO_ACTION
    pairs = pairs_of(problem, states, actions)
    assert len(pairs.node) == 15 + 30
    assert (pairs.action == transitions.stop).sum() == 30
    moved = pairs.node > 0
    np.testing.assert_array_equal(pairs.node[moved], transitions.function_of[first[1::2]] + 1)
    np.testing.assert_array_equal(pairs.states[moved], transitions.apply(states[1::2], first[1::2]))


@pytest.mark.parametrize("most", [1, 3])
def test_limits(most: int) -> None:
    problem = worlds.benchmark("german")
    pairs = some_pairs(problem, 0, 300)
    sex = next(feature.index for feature in problem.features if feature.name == "sex")
    free = imitate(problem, pairs)[INTERVENE]
    assert sex in {test.feature for path, _ in leaves(free) for test, _ in path}
    tree = imitate(problem, pairs, ImitationSettings(max_depth=most), avoid=(sex,))[INTERVENE]
    used = [{test.feature for test, _ in path} for path, _ in leaves(tree)]
    assert max(len(features) for features in used) <= most
    assert sex not in set().union(*used)
