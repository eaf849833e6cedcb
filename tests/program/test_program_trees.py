"""Trees from losses: they find what is there, in no more words than it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from counterplan.program import Choice, Leaf, Split, Tree, decide, leaves
from counterplan.program.trees import Grower, TreeSettings, candidate_tests, cut_points, digits_in, roundest

PROBLEM = worlds.benchmark("german")
FEATURES = {feature.name: feature for feature in PROBLEM.features}
STATES = PROBLEM.read(worlds.random_people(PROBLEM, 3, 600)).states
CHEAP = TreeSettings(feature_price=0.001, leaf_price=0.0001)


def grown(losses: np.ndarray, settings: TreeSettings = CHEAP, states: np.ndarray = STATES) -> Tree:
    grower = Grower(PROBLEM.features, states, losses, len(states), settings)
    return finished(grower)


def finished(
    grower: Grower, ahead: bool = True, *, at_most: Sequence[float] = (), spare: Sequence[int] = (), again: int = -1
) -> Tree:
    return finish(grower, grower.grow(ahead), at_most=at_most, spare=spare, again=again)


def finish(
    grower: Grower, branch: Any, *, at_most: Sequence[float] = (), spare: Sequence[int] = (), again: int = -1
) -> Tree:
    choices = np.arange(grower.losses.shape[1])
    limits = np.array(at_most) if at_most else np.full(len(choices), np.inf)
    return grower.finish(branch, [Choice(int(i)) for i in choices], limits, spare, choices == again)


def first_choices(tree: Tree, states: np.ndarray = STATES) -> np.ndarray:
    ends = [leaf.choices[0].action for _, leaf in leaves(tree)]
    return np.array(ends)[decide(tree, states)]


def planted() -> tuple[np.ndarray, np.ndarray]:
    """What is best by a rule of two features, and losses that say so."""
    old = STATES[:, FEATURES["age"].index] >= np.nanmedian(STATES[:, FEATURES["age"].index])
    renting = STATES[:, FEATURES["housing"].index] == 0
    best = np.where(old, np.where(renting, 2, 1), 0)
    return best, 1.0 - np.eye(3)[best]


def test_a_limit_that_people_once_set_is_found_again() -> None:
    amount = FEATURES["credit_amount"].index
    best = (STATES[:, amount] >= 7_000).astype(int)
    tree = grown(1.0 - np.eye(2)[best])
    assert isinstance(tree, Split)
    assert (tree.test.feature, tree.test.at_least) == (amount, 7_000)
    assert (first_choices(tree) == best).all()


def test_digits_cost() -> None:
    amount = FEATURES["credit_amount"].index
    states = np.repeat(STATES[:1], 400, axis=0)
    states[:, amount] = np.concatenate([np.linspace(5_000, 6_990, 199), [7_001, 7_011], np.linspace(7_020, 9_000, 199)])
    best = (states[:, amount] >= 7_012).astype(int)  # two people stand between 7,000 and where it turns
    exact = grown(1.0 - np.eye(2)[best], replace(CHEAP, digit_price=0.0), states)
    round_one = grown(1.0 - np.eye(2)[best], replace(CHEAP, digit_price=0.01), states)
    assert isinstance(exact, Split)
    assert isinstance(round_one, Split)
    assert 7_011 < (exact.test.at_least or 0) <= 7_020
    assert round_one.test.at_least == 7_000


def test_finds_a_rule_that_is_there() -> None:
    best, losses = planted()
    tree = grown(losses)
    assert (first_choices(tree) == best).mean() > 0.98
    used = {test.feature for path, _ in leaves(tree) for test, _ in path}
    assert {FEATURES["age"].index, FEATURES["housing"].index} <= used


def test_words_cost() -> None:
    _, losses = planted()
    assert isinstance(grown(losses, replace(CHEAP, feature_price=10.0)), Leaf)
    assert isinstance(grown(losses, replace(CHEAP, leaf_price=10.0)), Leaf)
    assert isinstance(grown(np.ones((len(STATES), 3))), Leaf)
    noise = np.random.default_rng(0).random((len(STATES), 4))
    few, many = (sum(1 for _ in leaves(grown(noise, replace(CHEAP, feature_price=p)))) for p in (0.05, 0.0))
    assert few < many


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_rule_has_more_features_than_allowed(most: int) -> None:
    noise = np.random.default_rng(1).random((len(STATES), 5))
    tree = grown(noise, TreeSettings(feature_price=0.0, leaf_price=0.0, max_conditions=most))
    assert isinstance(tree, Split)
    assert max(len({test.feature for test, _ in path}) for path, _ in leaves(tree)) <= most


def test_leaves_fall_back_on_the_next_best_and_then_on_what_is_to_spare() -> None:
    losses = np.where(STATES[:, :1] > np.median(STATES[:, 0]), [[0.0, 1.0, 0.5, 0.6]], [[1.0, 0.0, 0.5, 0.4]])
    grower = Grower(PROBLEM.features, STATES, losses, len(STATES), CHEAP)
    for most, kept in ((np.inf, [[0, 2, 1], [1, 3, 2]]), (0.3, [[0, 2, 1], [1, 2]])):
        tree = grower.finish(
            grower.grow(), [Choice(i) for i in range(4)], np.array([9, 9, 9, most]), [2, 1], np.zeros(4, bool)
        )
        assert [[choice.action for choice in leaf.choices] for _, leaf in leaves(tree)] == kept


def test_a_leaf_falls_back_on_nothing_that_loses_too_much_there() -> None:
    """Though it does not lose too much on average."""
    losses = np.where(STATES[:, :1] > np.quantile(STATES[:, 0], 0.2), [[1.0, 2.0, 0.0]], [[0.0, 1.0, 6.0]])
    grower = Grower(PROBLEM.features, STATES, losses, len(STATES), CHEAP)
    tree = grower.finish(
        grower.grow(), [Choice(i) for i in range(3)], np.array([np.inf, np.inf, 3.0]), [1, 2], np.zeros(3, bool)
    )
    assert [[choice.action for choice in leaf.choices] for _, leaf in leaves(tree)] == [[2, 0, 1], [0, 1]]


def test_what_leads_round_in_circles_comes_last() -> None:
    losses = np.where(STATES[:, :1] > np.median(STATES[:, 0]), [[0.0, 0.1, 0.5, 0.6]], [[0.1, 0.0, 0.5, 0.6]])
    grower = Grower(PROBLEM.features, STATES, losses, len(STATES), CHEAP)
    tree = finished(grower, spare=[0, 1, 3], again=0)
    assert [[choice.action for choice in leaf.choices] for _, leaf in leaves(tree)] == [[0, 1, 3], [1, 2, 3, 0]]


def test_one_row_or_none_is_a_leaf() -> None:
    assert isinstance(grown(np.zeros((1, 2)), states=STATES[:1]), Leaf)
    assert isinstance(grown(np.zeros((0, 2)), states=STATES[:0]), Leaf)
    grower = Grower(PROBLEM.features, STATES[:0], np.zeros((0, 3)), 1, CHEAP)
    tree = finished(grower, spare=[2])
    assert tree == Leaf((Choice(0), Choice(2))), "nothing is known of the others"


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.booleans())
def test_cuts_are_round_and_in_between(low: float, width: float, integer: bool) -> None:
    if integer:
        low, width = float(round(low)), float(max(1, round(width)))
    high = low + width
    if not low < high:
        return
    cut = roundest(low, high, integer)
    assert low < cut <= high
    assert not integer or cut.is_integer()


def test_a_few_good_cuts_are_tried() -> None:
    column = np.repeat([1.0, 2.0, 3.0], 4)
    assert cut_points(np.unique(column), column, True, 24) == [2.0, 3.0]
    wide = np.arange(1_000.0)
    assert len(cut_points(wide, wide, True, 24)) <= 24
    tests = candidate_tests(PROBLEM.features, STATES, 24)
    for test in tests:
        passed = test(STATES)
        assert 0 < passed.sum() < len(STATES), test


def test_looking_ahead_finds_what_no_single_test_shows_and_mending_keeps_it() -> None:
    old = STATES[:, FEATURES["age"].index] >= np.nanmedian(STATES[:, FEATURES["age"].index])
    male = STATES[:, FEATURES["sex"].index] == 1
    best = (old ^ male).astype(int)
    settings = replace(CHEAP, foresight=0.0, passes=0, ahead=len(FEATURES))
    grower = Grower(PROBLEM.features, STATES, 1.0 - np.eye(2)[best], len(STATES), settings)
    blind, far = grower.grow(ahead=False), finished(grower, ahead=True)
    assert (first_choices(finish(grower, blind)) == best).mean() < 0.9
    assert (first_choices(far) == best).mean() > 0.95
    assert (first_choices(finish(grower, grower.mend(far))) == best).mean() > 0.95


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([None, 2]))
def test_a_mended_tree_costs_no_more_than_the_one_that_stood(seed: int, akin: bool, most: int | None) -> None:
    random = np.random.default_rng(seed)
    settings = replace(CHEAP, passes=0, feature_price=0.02, leaf_price=0.002, max_conditions=most)
    first = random.random((len(STATES), 4))
    second = first + 0.2 * random.random(first.shape) if akin else random.random(first.shape)
    stood = finished(Grower(PROBLEM.features, STATES, first, len(STATES), settings), ahead=False)
    grower = Grower(PROBLEM.features, STATES, second, len(STATES), settings)
    mended = finish(grower, grower.mend(stood))
    assert cost(mended, second, settings) <= cost(stood, second, settings) + 1e-4
    if most is not None:
        assert max(len({test.feature for test, _ in path}) for path, _ in leaves(mended)) <= most


def cost(tree: Tree, losses: np.ndarray, settings: TreeSettings) -> float:
    """What a tree loses on average, words included."""
    lengths = np.array([len({test.feature for test, _ in path}) for path, _ in leaves(tree)])
    lost = losses[np.arange(len(STATES)), first_choices(tree)] + settings.feature_price * lengths[decide(tree, STATES)]
    return float(lost.mean() + settings.leaf_price * len(lengths) + settings.digit_price * digits(tree))


def digits(tree: Tree) -> int:
    if isinstance(tree, Leaf):
        return 0
    return digits(tree.yes) + digits(tree.no) + digits_in(tree.test, PROBLEM.features[tree.test.feature])
