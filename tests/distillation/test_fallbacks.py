"""What leaves fall back on for whoever cannot use a function: the best that is left, or honestly nothing."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from counterplan import BlackBox, benchmarks
from counterplan.distillation.demonstrations import DemonstrationSettings, demonstrate
from counterplan.distillation.fallbacks import _choices, _some, _Stuck, _ways, add_fallbacks
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
    price: float = 0,
    weight: float = 1,
    stop: int = 99,
) -> list[int]:
    """What a leaf that says choice 0 falls back on, by number, if its `price` is for each of 10 people."""
    settings = PolicySearchSettings()
    tree = replace(settings.tree, leaf_price=price)
    made: Any = SimpleNamespace(lost=0.5, worst=WORST, starts=[None] * 10, settings=replace(settings, tree=tree))
    made.transitions = SimpleNamespace(stop=stop)
    choices = [Choice(number) for number in range(len(losses[0]))]
    leaf = Leaf(tuple(choices[number] for number in (0, *before)))
    weights = np.full(len(level), float(weight))
    found = _choices(made, leaf, choices, _Stuck(np.array(losses), np.array(failing), np.array(level), weights))
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
    assert fall_back(losses, sure, [1, 1], before=(2,), price=0.7) == [1, 2]
    assert fall_back(losses, sure, [1, 1], before=(2,), price=0.9) == [2]
    assert fall_back(losses, sure, [1, 1], before=(2,), price=0.7, weight=0.5) == [2]
    assert fall_back(losses, sure, [1, 1], price=0.9) == [1], "22 are saved where there is nothing else"
    assert fall_back(losses, sure, [1, 1], price=9) == []


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
    """A small distillation for german, with its trees before leaves got what they fall back on."""
    german, random = benchmarks.load("german"), np.random.default_rng(0)
    people = german.problem.read(german.train)
    knows: Any = Knows(german.problem, people, german.model)
    lessons = demonstrate(german.problem, people, knows, DemonstrationSettings(people=400, steps=20_000), random)
    settings = PolicySearchSettings(rounds=1, careful=0, rows=400)
    made = PolicySearch(
        german.problem, lessons.starts, lessons.least, lessons.plans, knows.logit, settings, random
    )  # fmt: skip
    made.imitate()
    made.improve(ahead=False)
    before = dict(made.trees)
    add_fallbacks(made)
    return made, before


def test_distilling_ends_with_going_around(made: tuple[PolicySearch, dict[int, Any]]) -> None:
    now, before = made
    again = copy(now)
    again.trees, again.random = dict(before), np.random.default_rng(0)
    again.settings = replace(now.settings, rounds=0)
    again.imitate = lambda: None  # type: ignore[method-assign]
    other = copy(again)
    other.trees, other.random = dict(before), np.random.default_rng(0)
    add_fallbacks(other)
    assert again.run() == {now.names[node]: tree for node, tree in other.trees.items()}
    assert other.trees != before


def test_people_are_barred_from_what_they_would_use(made: tuple[PolicySearch, dict[int, Any]]) -> None:
    now, before = made
    now = copy(now)
    now.trees, now.random = before, np.random.default_rng(0)
    came = _ways(now)
    barred = now.barred_sets[came.barred].sum(axis=1)
    assert {0, 1, 3} <= set(barred.tolist()), "nobody, one function, several"
    begun = came.take((came.node == 0) & (barred > 0))
    free = came.take(barred == 0)
    action = now.decide(free, now.trees, now.legal(free))
    uses = np.zeros((len(now.starts), len(now.transitions.functions) + 1), bool)
    uses[free.person, now.transitions.function_of[action]] = True
    assert (uses[begun.person, :-1] & now.barred_sets[begun.barred]).any(axis=1).all()
    one = begun.barred[begun.barred < uses.shape[1]]
    assert len(one) == uses[:, :-1].sum(), "from each in turn"


def test_nobody_who_is_free_is_left_out_of_a_sample(made: tuple[PolicySearch, dict[int, Any]]) -> None:
    now = copy(made[0])
    now.settings = replace(now.settings, rows=20)
    everybody = now.begin()
    stuck = everybody._replace(barred=(np.arange(len(everybody.person)) >= 15).astype(np.intp))
    rows, weight = _some(now, stuck)
    assert (rows.barred == 0).sum() == 15
    assert (rows.barred == 1).sum() == 20
    assert (weight[rows.barred == 0] == 1).all()
    assert weight[rows.barred == 1].sum() == pytest.approx(now.settings.barred_weight * (len(stuck.person) - 15))


def test_only_what_comes_after_the_first_choice_changes(made: tuple[PolicySearch, dict[int, Any]]) -> None:
    now, before = made
    assert now.trees.keys() == before.keys()
    changed = 0
    for node, tree in before.items():
        for (path, leaf), (then, other) in zip(leaves(tree), leaves(now.trees[node]), strict=True):
            assert path == then
            assert leaf.choices[:1] == other.choices[:1]
            assert len(set(other.choices)) == len(other.choices)
            changed += leaf != other
    assert changed > 10


def test_plans_that_go_around_hold_more_often(made: tuple[PolicySearch, dict[int, Any]]) -> None:
    """For people whom the program never saw, by the model itself; whoever can do everything fares no worse."""
    now, before = made
    german = benchmarks.load("german")
    states = german.problem.read(german.refused_test).states
    shares, usual = [], []
    for trees in (before, now.trees):
        program = Program(german.problem, {now.names[node]: tree for node, tree in trees.items()})
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
