"""Trees from losses: they find what is there, in no more words than it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from counterplan.distillation.candidate_tests import candidate_tests, digits_in, roundest, thresholds
from counterplan.distillation.leaf_choices import LeafChoices
from counterplan.distillation.tree_grower import TreeData, TreeGrower, TreeSettings
from counterplan.program import Choice, Leaf, Split, Test, Tree, decide, leaves

PROBLEM = worlds.benchmark("german")
FEATURES = {feature.name: feature for feature in PROBLEM.features}
STATES = PROBLEM.read(worlds.random_people(PROBLEM, 3, 600)).states
WORST = 11.0
CHEAP = TreeSettings(feature_penalty=0.001, leaf_penalty=0.0001)


def fall_backs(choices: int, defaults: Sequence[int] = (), loop: int = -1, **limits: float) -> LeafChoices:
    """`c2=3.0` limits the mean loss of choice 2 to three."""
    most = np.array([limits.get(f"c{number}", np.inf) for number in range(choices)])
    return LeafChoices(defaults, most, np.arange(choices) == loop, WORST)


def grower_of(
    losses: np.ndarray, settings: TreeSettings = CHEAP, states: np.ndarray = STATES, backs: LeafChoices | None = None
) -> TreeGrower:
    backs = backs or fall_backs(losses.shape[1])
    return TreeGrower(TreeData(PROBLEM.features, states, losses, len(states)), backs, settings)


def finished(grower: TreeGrower, branch: Any) -> Tree:
    return grower.finish(branch, [Choice(number) for number in range(grower.losses.shape[1])])


def grown(
    losses: np.ndarray, settings: TreeSettings = CHEAP, states: np.ndarray = STATES, backs: LeafChoices | None = None
) -> Tree:
    grower = grower_of(losses, settings, states, backs)
    return finished(grower, grower.grow())


def said(tree: Tree) -> list[list[int]]:
    """The choices of every leaf, by number."""
    return [[choice.action for choice in leaf.choices] for _, leaf in leaves(tree)]


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
    exact = grown(1.0 - np.eye(2)[best], replace(CHEAP, digit_penalty=0.0), states)
    round_one = grown(1.0 - np.eye(2)[best], replace(CHEAP, digit_penalty=0.01), states)
    assert isinstance(exact, Split)
    assert isinstance(round_one, Split)
    assert 7_011 < (exact.test.at_least or 0) <= 7_020
    assert round_one.test.at_least == 7_000


def test_of_two_tests_that_do_the_same_the_one_with_fewer_digits_is_chosen() -> None:
    amount, age = FEATURES["credit_amount"].index, FEATURES["age"].index
    states = np.repeat(STATES[:1], 400, axis=0)
    states[:, amount] = np.where(np.arange(400) < 200, 6_993, 6_994)
    states[:, age] = np.where(np.arange(400) < 200, 39, 40)
    losses = 1.0 - np.eye(2)[(np.arange(400) >= 200).astype(int)]
    grower = grower_of(losses, replace(CHEAP, digit_penalty=0.001), states)
    long = Split(Test(amount, at_least=6_994), Leaf((Choice(1),)), Leaf((Choice(0),)))
    refined = finished(grower, grower.refine(long))
    assert isinstance(refined, Split)
    assert (refined.test.feature, refined.test.at_least) == (age, 40)


def test_finds_a_rule_that_is_there() -> None:
    best, losses = planted()
    tree = grown(losses)
    assert (first_choices(tree) == best).mean() > 0.98
    used = {test.feature for path, _ in leaves(tree) for test, _ in path}
    assert {FEATURES["age"].index, FEATURES["housing"].index} <= used


def test_words_cost() -> None:
    _, losses = planted()
    assert isinstance(grown(losses, replace(CHEAP, feature_penalty=10.0)), Leaf)
    assert isinstance(grown(losses, replace(CHEAP, leaf_penalty=10.0)), Leaf)
    assert isinstance(grown(np.ones((len(STATES), 3))), Leaf)
    noise = np.random.default_rng(0).random((len(STATES), 4))
    few, many = (sum(1 for _ in leaves(grown(noise, replace(CHEAP, feature_penalty=p)))) for p in (0.05, 0.0))
    assert few < many


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_rule_has_more_features_than_allowed(most: int) -> None:
    noise = np.random.default_rng(1).random((len(STATES), 5))
    tree = grown(noise, TreeSettings(feature_penalty=0.0, leaf_penalty=0.0, max_conditions=most))
    assert isinstance(tree, Split)
    assert max(len({test.feature for test, _ in path}) for path, _ in leaves(tree)) <= most


HALF = STATES[:, :1] > np.median(STATES[:, 0])
FEW = STATES[:, 0] > np.quantile(STATES[:, 0], 0.9)


@pytest.mark.parametrize(("most", "kept"), [(np.inf, [[0, 2, 1], [1, 3, 2]]), (0.3, [[0, 2, 1], [1, 2]])])
def test_leaves_fall_back_on_the_next_best_and_then_on_the_defaults(most: float, kept: list[list[int]]) -> None:
    losses = np.where(HALF, [[0.0, 1.0, 0.5, 0.6]], [[1.0, 0.0, 0.5, 0.4]])
    assert said(grown(losses, backs=fall_backs(4, [2, 1], c3=most))) == kept


def test_a_leaf_falls_back_on_nothing_that_loses_too_much_there() -> None:
    """Though it does not lose too much on average."""
    losses = np.where(STATES[:, :1] > np.quantile(STATES[:, 0], 0.2), [[1.0, 2.0, 0.0]], [[0.0, 1.0, 6.0]])
    assert said(grown(losses, backs=fall_backs(3, [1, 2], c2=3.0))) == [[2, 0, 1], [0, 1]]


def test_what_leads_round_in_circles_comes_last() -> None:
    losses = np.where(HALF, [[0.0, 0.1, 0.5, 0.6]], [[0.1, 0.0, 0.5, 0.6]])
    assert said(grown(losses, backs=fall_backs(4, [0, 1, 3], loop=0))) == [[0, 1, 3], [1, 2, 3, 0]]


def test_what_cannot_be_done_loses_what_is_done_instead() -> None:
    nan = np.nan
    losses = np.array([[0.5, 1, 2], [nan, 1, 2], [nan, nan, 2], [0.5, nan, nan], [nan, 4, nan], [nan, nan, nan]])
    filled = [[0.5, 1, 2], [1, 1, 2], [2, 2, 2], [0.5, WORST, WORST], [4, 4, 4], [WORST, WORST, WORST]]
    assert np.allclose(fall_backs(3, [1, 2]).fill(losses), filled, atol=0.3)
    filled[4] = [WORST, 4, WORST]
    assert np.allclose(fall_backs(3, [1, 2], c1=3.0).fill(losses), filled, atol=0.3)
    assert np.allclose(fall_backs(3, [1, 2], loop=1).fill(losses)[1], [2, 1, 2], atol=0.3), "one's own comes last"
    assert fall_backs(3, [1, 2]).fill(losses).max() == WORST, "nothing is worse"
    vain = fall_backs(3, [1, 2]).fill(losses)[1]
    assert vain[0] > vain[1], "what can be done is to be named rather"
    mine = LeafChoices([0, 2], np.full(3, np.inf), np.array([True, True, False]), WORST)
    assert np.allclose(mine.fill(np.array([[1, nan, 5]])), [[1, 1, 5]], atol=0.3), "one's own may follow one's own"


def test_the_next_best_is_what_is_best_for_those_who_need_it() -> None:
    losses = np.array([[0.0, 0.3, 2.0, 3.0]] * 9 + [[np.nan, 2.0, 0.5, 3.0]])
    backs = fall_backs(4, [1, 3])
    assert backs.order(0, backs.fill(losses), ~np.isnan(losses)) == [0, 2, 1, 3]


def test_a_choice_that_few_cannot_make_needs_no_split_if_another_does_for_them() -> None:
    losses = np.tile([0.0, 1.0, 3.0], (len(STATES), 1))
    losses[FEW, 0] = np.nan
    dear = replace(CHEAP, feature_penalty=0.2)
    assert said(grown(losses, dear, backs=fall_backs(3, [1, 2]))) == [[0, 1, 2]]
    assert isinstance(grown(losses, dear, backs=fall_backs(3)), Split), "without defaults it pays to tell people"


def test_the_next_best_is_one_that_can_be_done() -> None:
    losses = np.tile([np.nan, 0.1, 0.4, 2.0], (len(STATES), 1))
    losses[FEW, 1] = np.nan
    dear = replace(CHEAP, feature_penalty=5.0)
    assert said(grown(losses, dear, backs=fall_backs(4, [1, 3]))) == [[1, 2, 3]]
    losses[:, 1] = 0.1
    assert said(grown(losses, dear, backs=fall_backs(4, [1, 3]))) == [[1, 2, 3]], "also where nobody needs it"


def test_one_row_or_none_is_a_leaf() -> None:
    assert isinstance(grown(np.zeros((1, 2)), states=STATES[:1]), Leaf)
    assert isinstance(grown(np.zeros((0, 2)), states=STATES[:0]), Leaf)
    tree = grown(np.zeros((0, 3)), states=STATES[:0], backs=fall_backs(3, [2]))
    assert said(tree) == [[0, 2]], "nothing is known of the others"


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
    assert thresholds(np.unique(column), column, True, 24) == [2.0, 3.0]
    wide = np.arange(1_000.0)
    assert len(thresholds(wide, wide, True, 24)) <= 24
    tests = candidate_tests(PROBLEM.features, STATES, 24)
    for test in tests:
        passed = test(STATES)
        assert 0 < passed.sum() < len(STATES), test


def test_looking_ahead_finds_what_no_single_test_shows_and_refining_keeps_it() -> None:
    old = STATES[:, FEATURES["age"].index] >= np.nanmedian(STATES[:, FEATURES["age"].index])
    male = STATES[:, FEATURES["sex"].index] == 1
    best = (old ^ male).astype(int)
    settings = replace(CHEAP, variance_weight=0.0, refinement_passes=0, lookahead_features=len(FEATURES))
    grower = grower_of(1.0 - np.eye(2)[best], settings)
    blind, far = (finished(grower, grower.grow(lookahead)) for lookahead in (False, True))
    assert (first_choices(blind) == best).mean() < 0.9
    assert (first_choices(far) == best).mean() > 0.95
    assert (first_choices(finished(grower, grower.refine(far))) == best).mean() > 0.95


def test_a_refined_tree_grows_on_where_it_ended() -> None:
    best, losses = planted()
    grower = grower_of(losses)
    assert (first_choices(finished(grower, grower.refine(Leaf((Choice(0),))))) == best).mean() > 0.98


def test_a_refined_tree_tells_nobody_apart_of_whom_there_are_none() -> None:
    best, losses = planted()
    old = STATES[:, FEATURES["age"].index] >= np.nanmedian(STATES[:, FEATURES["age"].index])
    stood = grown(losses)
    assert isinstance(stood, Split)
    assert stood.test.feature == FEATURES["age"].index
    grower = grower_of(losses[old], replace(CHEAP, refinement_passes=0), STATES[old])
    refined = finished(grower, grower.refine(stood))
    assert {test.feature for path, _ in leaves(refined) for test, _ in path} == {FEATURES["housing"].index}
    assert (first_choices(refined, STATES[old]) == best[old]).all()


@hypothesis.settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_every_leaf_is_about_somebody(seed: int) -> None:
    random = np.random.default_rng(seed)
    some = random.choice(len(STATES), 60, replace=False)
    first, second = random.random((len(STATES), 4)), random.random((len(some), 4))
    settings = replace(CHEAP, min_rows=1)
    stood = grown(first, settings)
    grower = grower_of(second, settings, STATES[some])
    refined = finished(grower, grower.refine(stood))
    assert set(decide(refined, STATES[some])) == set(range(len(said(refined))))


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([None, 2]))
def test_a_refined_tree_costs_no_more_than_the_one_that_stood(seed: int, akin: bool, most: int | None) -> None:
    random = np.random.default_rng(seed)
    settings = replace(CHEAP, refinement_passes=0, feature_penalty=0.02, leaf_penalty=0.002, max_conditions=most)
    first = random.random((len(STATES), 4))
    second = first + 0.2 * random.random(first.shape) if akin else random.random(first.shape)
    before, grower = grower_of(first, settings), grower_of(second, settings)
    stood = finished(before, before.grow(lookahead=False))
    refined = finished(grower, grower.refine(stood))
    assert cost(refined, second, settings) <= cost(stood, second, settings) + 1e-4
    if most is not None:
        assert max(len({test.feature for test, _ in path}) for path, _ in leaves(refined)) <= most


def cost(tree: Tree, losses: np.ndarray, settings: TreeSettings) -> float:
    """What a tree loses on average, words included."""
    lengths = np.array([len({test.feature for test, _ in path}) for path, _ in leaves(tree)])
    lost = (
        losses[np.arange(len(STATES)), first_choices(tree)] + settings.feature_penalty * lengths[decide(tree, STATES)]
    )
    return float(lost.mean() + settings.leaf_penalty * len(lengths) + settings.digit_penalty * digits(tree))


def digits(tree: Tree) -> int:
    if isinstance(tree, Leaf):
        return 0
    return digits(tree.yes) + digits(tree.no) + digits_in(tree.test, PROBLEM.features[tree.test.feature])
