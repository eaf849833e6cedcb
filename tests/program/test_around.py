"""What leaves fall back on for whoever cannot use a function: the best that is left, or honestly nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from counterplan import BlackBox, benchmarks
from counterplan.paths.orders import NO_ACTION
from counterplan.program import Choice, Leaf, Program, leaves
from counterplan.program.around import _choices, _Stuck, go_around
from counterplan.program.distil import Distillation, DistilSettings
from counterplan.program.teaching import TeachingSettings, teach
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
) -> list[int]:
    """What a leaf that says choice 0 falls back on, by number."""
    settings = DistilSettings()
    tree = replace(settings.tree, leaf_price=price)
    made: Any = SimpleNamespace(lost=1.0, worst=WORST, starts=[None], settings=replace(settings, tree=tree))
    choices = [Choice(number) for number in range(len(losses[0]))]
    leaf = Leaf(tuple(choices[number] for number in (0, *before)))
    found = _choices(made, leaf, choices, _Stuck(np.array(losses), np.array(failing), np.array(level)))
    assert found.choices[0] == choices[0]
    return [choice.action for choice in found.choices[1:]]


def test_the_best_for_those_who_are_stuck_then_for_the_rest() -> None:
    losses = [[NO, 8, 1, 9], [NO, 8, 2, 9], [NO, 8, NO, 9]]
    sure = [[NO, 0, 0, 0]] * 3
    assert fall_back(losses, sure, [1, 1, 1]) == [2, 1]
    assert fall_back([[NO, 3, *row[2:]] for row in losses], sure, [1, 1, 1]) == [1], "what all can do is worth more"
    assert fall_back(losses, sure, [1, 1, 1], before=(3,)) == [2, 1, 3], "for whoever nobody thought of"
    assert fall_back(losses, sure, [1, 1, 1], before=(3,), price=100) == [3], "nothing is worth its words"


def test_whoever_can_use_all_functions_decides_first() -> None:
    losses = [[NO, 1, 5, 9], [NO, 5, 1, 9], [NO, 5, 1, 9]]
    sure = [[NO, 0, 0, 0]] * 3
    assert fall_back(losses, sure, [1, 1, 1]) == [2]
    assert fall_back(losses, sure, [0, 1, 1]) == [1]
    assert fall_back(losses, sure, [2, 1, 1]) == [2]


def test_no_plan_rather_than_one_that_mostly_fails() -> None:
    losses, fails = [[NO, 5, 6]] * 4, [[NO, 0.6, 0.2]] * 4
    assert fall_back(losses, fails, [1] * 4, before=(1, 2)) == []
    assert fall_back(losses, fails, [0] * 4, before=(1, 2)) == [1, 2], "the program's own people are left a chance"
    half = [[NO, 0.5, 0.2]] * 4
    assert fall_back(losses, half, [1] * 4) == [1]
    mixed = [[NO, 5, NO], [NO, 5, NO], [NO, NO, 6], [NO, NO, 6]]
    assert fall_back(mixed, [[NO, 0.1, NO]] * 2 + [[NO, NO, 0.9]] * 2, [1] * 4, before=(2,)) == [1]


def test_nobody_counts_who_can_do_nothing() -> None:
    assert fall_back([[NO, NO, NO], [NO, 1, 2]], [[NO, NO, NO], [NO, 0, 0]], [0, 1]) == [1]
    assert fall_back([[NO, NO, NO]], [[NO, NO, NO]], [0], before=(2,)) == [2]


@pytest.fixture(scope="module")
def made() -> tuple[Distillation, dict[int, Any]]:
    """A small distillation for german, with its trees before leaves got what they fall back on."""
    german, random = benchmarks.load("german"), np.random.default_rng(0)
    people = german.problem.read(german.train)
    knows: Any = Knows(german.problem, people, german.model)
    lessons = teach(german.problem, people, knows, TeachingSettings(people=400, steps=20_000), random)
    settings = DistilSettings(rounds=1, careful=0, rows=400)
    made = Distillation(
        german.problem, lessons.starts, lessons.least, lessons.plans, knows.logit, settings, random
    )  # fmt: skip
    made.imitate()
    made.improve(ahead=False)
    before = dict(made.trees)
    go_around(made)
    return made, before


def test_only_what_comes_after_the_first_choice_changes(made: tuple[Distillation, dict[int, Any]]) -> None:
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


def test_plans_that_go_around_hold_more_often(made: tuple[Distillation, dict[int, Any]]) -> None:
    """For people whom the program never saw, by the model itself; whoever can do everything fares no worse."""
    now, before = made
    german = benchmarks.load("german")
    states = german.problem.read(german.refused_test).states
    shares, usual = [], []
    for trees in (before, now.trees):
        program = Program(german.problem, {now.names[node]: tree for node, tree in trees.items()})
        run = program.run(states)
        holds = BlackBox(german.model).about(german.problem, german.problem.read(german.refused_test))
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
