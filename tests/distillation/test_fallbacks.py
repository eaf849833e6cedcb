"""What leaves fall back on for whoever cannot use a function: the best that is left, or honestly nothing."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from counterplan import BlackBox, benchmarks
from counterplan.distillation.demonstrations import DemonstrationSettings, demonstrate
from counterplan.distillation.fallbacks import (
    FallbackSettings,
    LeafContext,
    Stuck,
    constrained_visits,
    sample_stuck,
)
from counterplan.distillation.policy_search import PolicySearch, PolicySearchSettings
from counterplan.program import Choice, Leaf, Program, leaves
from counterplan.search.orders import NO_ACTION
from program.programs import Knows

WORST = 12.0
NO = np.nan
"""In a table of losses: cannot be done."""


def fall_back(
    losses: list[list[float]],
    failing: list[list[float]],
    level: list[int],
    before: tuple[int, ...] = (),
    penalty: float = 0,
    weight: float = 1,
    stop: int = 99,
    shared: tuple[int, ...] = (),
) -> list[int]:
    """The fallbacks, by number, of a leaf whose first choice is 0; `penalty` is for each of 10 people."""
    settings = FallbackSettings(16_000, 0.3, 0.5, 0.5 * penalty * 10)
    choices = [Choice(number) for number in range(len(losses[0]))]
    leaf = Leaf(tuple(choices[number] for number in (0, *before)))
    weights = np.full(len(level), float(weight))
    stuck = Stuck(np.array(losses), np.array(failing), np.array(level), weights)
    found = LeafContext(choices, stop, WORST, settings).leaf(leaf, stuck, shared)
    assert found.choices[0] == choices[0]
    return [choice.action for choice in found.choices[1:]]


def test_the_best_for_those_who_are_stuck_then_for_the_rest() -> None:
    losses = [[NO, 8, 1, 9], [NO, 8, 2, 9], [NO, 8, NO, 9]]
    sure = [[NO, 0, 0, 0]] * 3
    assert fall_back(losses, sure, [1, 1, 1]) == [2, 1]
    assert fall_back([[NO, 3, *row[2:]] for row in losses], sure, [1, 1, 1]) == [1], "what all can do is worth more"
    assert fall_back(losses, sure, [1, 1, 1], before=(3,)) == [2, 1, 3], "the last for whoever nobody thought of"


def test_a_choice_of_its_own_is_worth_its_words() -> None:
    losses, sure = [[NO, 1, 3], [NO, 1, 3]], [[NO, 0, 0]] * 2  # 4 are saved by choice 1; 10 people times .5 are lost
    assert fall_back(losses, sure, [1, 1], before=(2,), penalty=0.7) == [1, 2]
    assert fall_back(losses, sure, [1, 1], before=(2,), penalty=0.9) == [2]
    assert fall_back(losses, sure, [1, 1], before=(2,), penalty=0.7, weight=0.5) == [2]
    assert fall_back(losses, sure, [1, 1], penalty=0.9) == [1], "22 are saved where there is nothing else"
    assert fall_back(losses, sure, [1, 1], penalty=9) == []


def test_leaves_share_fallbacks_unless_their_own_are_worth_the_words() -> None:
    losses, sure = [[NO, 1, 3], [NO, 1, 3]], [[NO, 0, 0]] * 2  # a list of its own saves 4
    assert fall_back(losses, sure, [1, 1], shared=(2,), penalty=0.7) == [1]
    assert fall_back(losses, sure, [1, 1], shared=(2,), penalty=0.9) == [2]
    assert fall_back(losses, sure, [1, 1], shared=(0, 2), penalty=0.9) == [2], "the first choice is no fallback"
    failing = [[NO, 0.1, 0.9]] * 2
    assert fall_back(losses, failing, [1, 1], shared=(2,), penalty=0.9) == [], "the shared ones mostly fail"
    assert fall_back(losses, failing, [0, 1], shared=(2,), penalty=0.9) == [1], "some could use every function"


def test_whoever_can_use_more_functions_decides_first() -> None:
    losses = [[NO, 1, 5, 9], [NO, 5, 1, 9], [NO, 5, 1, 9]]
    sure = [[NO, 0, 0, 0]] * 3
    assert fall_back(losses, sure, [1, 1, 1]) == [2]
    assert fall_back(losses, sure, [0, 1, 1]) == [1]
    assert fall_back(losses, sure, [1, 2, 2]) == [1]
    assert fall_back(losses, sure, [2, 1, 1]) == [2]


@pytest.mark.parametrize("level", [1, 2])
def test_no_plan_rather_than_one_that_mostly_fails(level: int) -> None:
    losses, fails = [[NO, 5, 6]] * 4, [[NO, 0.6, 0.7]] * 4
    assert fall_back(losses, fails, [level] * 4, before=(1, 2)) == []
    assert fall_back(losses, fails, [0] * 4, before=(1, 2)) == [1, 2], "the program's own people are left a chance"
    assert fall_back(losses, [[NO, 0.5, 0.2]] * 4, [level] * 4) == [1]
    assert fall_back(losses, [[NO, 0.6, 0.2]] * 4, [level] * 4, before=(1, 2))[:1] == [2], "dearer, but it holds"
    mixed = [[NO, 5, NO], [NO, 5, NO], [NO, NO, 6], [NO, NO, 6]]
    assert fall_back(mixed, [[NO, 0.1, NO]] * 2 + [[NO, NO, 0.9]] * 2, [level] * 4, before=(2,)) == [1]


def test_nobody_stops_where_that_mostly_fails() -> None:
    losses, fails = [[NO, 5, 4]] * 4, [[NO, 0.6, 0.6]] * 4
    assert fall_back(losses, fails, [0] * 4) == [2]
    assert fall_back(losses, fails, [0] * 4, stop=2) == [1]


def test_nobody_counts_who_can_do_nothing() -> None:
    assert fall_back([[NO, NO, NO], [NO, 1, 2]], [[NO, NO, NO], [NO, 0, 0]], [0, 1]) == [1]
    assert fall_back([[NO, NO, NO]], [[NO, NO, NO]], [0], before=(2,)) == [2]
    assert fall_back([[NO, NO, NO]], [[NO, NO, NO]], [1], before=(2,)) == [2]


@pytest.fixture(scope="module")
def made() -> tuple[PolicySearch, dict[int, Any]]:
    """A small policy search for german, and its trees with fallbacks."""
    german, random = benchmarks.load("german"), np.random.default_rng(0)
    people = german.problem.read(german.train)
    knows: Any = Knows(german.problem, people, german.model)
    demonstrating = DemonstrationSettings(people=400, max_expansions=20_000)
    demonstrations = demonstrate(german.problem, people, knows, demonstrating, random)
    settings = PolicySearchSettings(rounds=1, lookahead_rounds=0, max_rows=400)
    made = PolicySearch(german.problem, demonstrations, knows.logit, settings, random)
    made.imitate()
    made.improve(lookahead=False)
    return made, made.with_fallbacks()


def test_the_search_ends_with_fallbacks(made: tuple[PolicySearch, dict[int, Any]]) -> None:
    search, _ = made
    before = dict(search.trees)
    again, other = copy(search), copy(search)
    again.settings = replace(search.settings, rounds=0)
    again.imitate = lambda: None  # type: ignore[method-assign]
    again.random, other.random = np.random.default_rng(0), np.random.default_rng(0)
    expected = other.with_fallbacks()
    assert again.run() == {search.names[node]: tree for node, tree in expected.items()}
    assert expected != before


def test_adding_fallbacks_changes_nothing_else(made: tuple[PolicySearch, dict[int, Any]]) -> None:
    search = copy(made[0])
    search.random = np.random.default_rng(0)
    trees, before, evaluator = search.trees, dict(search.trees), search.evaluator
    sets = evaluator.forbidden_sets.copy()
    search.with_fallbacks()
    assert search.trees is trees
    assert trees == before
    assert search.evaluator is evaluator
    assert (evaluator.forbidden_sets == sets).all()


def test_people_are_forbidden_functions_that_they_would_use(made: tuple[PolicySearch, dict[int, Any]]) -> None:
    search, _ = made
    evaluator, visits = constrained_visits(search.evaluator, search.trees, np.random.default_rng(0))
    sizes = evaluator.forbidden_sets[visits.forbidden].sum(axis=1)
    assert {0, 1, 3} <= set(sizes.tolist()), "none, one function, several"
    begun = visits.take((visits.node == 0) & (sizes > 0))
    free = visits.take(sizes == 0)
    action = evaluator.decide(search.trees, free)
    uses = np.zeros((len(search.starts), len(search.transitions.functions) + 1), bool)
    uses[free.person, search.transitions.function_of[action]] = True
    assert (uses[begun.person, :-1] & evaluator.forbidden_sets[begun.forbidden]).any(axis=1).all()
    one = begun.forbidden[begun.forbidden < uses.shape[1]]
    assert len(one) == uses[:, :-1].sum(), "each in turn"


def test_everyone_without_constraints_is_in_the_sample(made: tuple[PolicySearch, dict[int, Any]]) -> None:
    settings = FallbackSettings(max_rows=20, forbidden_weight=0.3, min_success=0.5, leaf_penalty=0.0)
    everyone = made[0].evaluator.begin()
    stuck = everyone._replace(forbidden=(np.arange(len(everyone.person)) >= 15).astype(np.intp))
    visits, weight = sample_stuck(stuck, settings, np.random.default_rng(0))
    assert (visits.forbidden == 0).sum() == 15
    assert (visits.forbidden == 1).sum() == 20
    assert (weight[visits.forbidden == 0] == 1).all()
    assert weight[visits.forbidden == 1].sum() == pytest.approx(0.3 * (len(stuck.person) - 15))


def test_only_what_comes_after_the_first_choice_changes(made: tuple[PolicySearch, dict[int, Any]]) -> None:
    search, trees = made
    assert search.trees.keys() == trees.keys()
    changed = 0
    for node, tree in search.trees.items():
        for (path, leaf), (then, other) in zip(leaves(tree), leaves(trees[node]), strict=True):
            assert path == then
            assert leaf.choices[:1] == other.choices[:1]
            assert len(set(other.choices)) == len(other.choices)
            changed += leaf != other
    assert changed > 10


def test_plans_that_go_around_hold_more_often(made: tuple[PolicySearch, dict[int, Any]]) -> None:
    """For people whom the program never saw, by the model itself; whoever can do everything fares no worse."""
    search, with_fallbacks = made
    german = benchmarks.load("german")
    states = german.problem.read(german.refused_test).states
    shares, usual = [], []
    for trees in (search.trees, with_fallbacks):
        program = Program(german.problem, {search.names[node]: tree for node, tree in trees.items()})
        run = program.run(states)
        holds = BlackBox(german.model).session(german.problem, german.problem.read(german.refused_test))
        usual.append((holds(run.states, np.arange(len(states))) & run.stopped).mean())
        held = given = 0
        for function, span in zip(german.problem.transitions.functions, german.problem.transitions.spans, strict=True):
            using = np.flatnonzero(np.isin(run.actions, np.arange(span.start, span.stop)).any(axis=1))
            allowed = np.tile(german.problem.allowed(function.name), (len(using), 1))
            other = program.run(states[using], allowed)
            held += int((holds(other.states, using) & other.stopped).sum())
            given += int(other.stopped.sum())
            assert (other.actions[~other.stopped] == NO_ACTION).all()
        shares.append(held / given)
    assert shares[1] > shares[0] + 0.03
    assert usual[1] >= usual[0] - 0.02
