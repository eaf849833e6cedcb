"""Distilling: people and teachers, one order of functions, and a program that works for others too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from counterplan import BlackBox, PlanError, benchmarks
from counterplan.distillation.demonstrations import Demonstrations, DemonstrationSettings, demonstrate, refused
from counterplan.distillation.policy_search import PolicySearch, PolicySearchSettings
from counterplan.distillation.trees import Grower
from counterplan.program import INTERVENE, Leaf, Program, Split, Test, leaves
from counterplan.search.orders import NO_ACTION, rollout

SYN = benchmarks.load("syn")
PROBLEM = SYN.problem
PEOPLE = PROBLEM.read(SYN.train.head(600))
SETTINGS = PolicySearchSettings(rounds=2, rows=600)
TEACHING = DemonstrationSettings(people=300, steps=20_000)


class Knows:
    """A surrogate that is never wrong."""

    hints = None

    def logit(self, states: np.ndarray) -> np.ndarray:
        table = PEOPLE.take(np.zeros(len(states), int))
        favourable = BlackBox(SYN.model).session(PROBLEM, table)(states, np.arange(len(states)))
        return np.where(favourable, 5.0, -5.0)


KNOWS: Any = Knows()


@pytest.fixture(scope="module")
def lessons() -> Demonstrations:
    return demonstrate(PROBLEM, PEOPLE, KNOWS, TEACHING, np.random.default_rng(0))


def begun(
    lessons: Demonstrations, settings: PolicySearchSettings = SETTINGS, avoid: tuple[int, ...] = ()
) -> PolicySearch:
    return PolicySearch(
        PROBLEM, lessons.starts, lessons.least, lessons.plans, KNOWS.logit, settings, np.random.default_rng(0), avoid
    )


def distilled(
    lessons: Demonstrations, settings: PolicySearchSettings = SETTINGS, avoid: tuple[int, ...] = ()
) -> PolicySearch:
    made = begun(lessons, settings, avoid)
    made.run()
    return made


def test_teachers_have_plans_for_refused_people(lessons: Demonstrations) -> None:
    assert len(lessons.starts) == len(lessons.least) == lessons.plans.shape[1] <= 300
    assert (KNOWS.logit(lessons.starts) < 0).all()
    for plans in lessons.plans:
        ends, cost, legal = rollout(PROBLEM.transitions, lessons.starts, plans)
        has = plans[:, 0] != NO_ACTION
        assert legal.all()
        assert (KNOWS.logit(ends[has]) > 0).all()
        assert (cost[has] >= lessons.least[has] - 1e-9).all()


def test_too_few_people_are_crossed() -> None:
    few = PEOPLE.take(slice(0, 40))
    states, real = refused(PROBLEM, few, KNOWS, 200, np.random.default_rng(1))
    assert real == (KNOWS.logit(few.states) < 0).sum()
    assert real < len(states) <= 200
    assert (KNOWS.logit(states) < 0).all()
    states, real = refused(PROBLEM, PEOPLE, KNOWS, 30, np.random.default_rng(1))
    assert len(states) == real == 30
    lucky = PEOPLE.take(np.flatnonzero(KNOWS.logit(PEOPLE.states) > 0))
    with pytest.raises(PlanError, match="people refused; a program is distilled from people who are"):
        refused(PROBLEM, lucky, KNOWS, 30, np.random.default_rng(1))


def test_nobody_can_be_helped() -> None:
    class Hopeless(Knows):
        def logit(self, states: np.ndarray) -> np.ndarray:
            return np.full(len(states), -5.0)

    hopeless: Any = Hopeless()
    with pytest.raises(PlanError, match="knows no plan for anybody"):
        demonstrate(PROBLEM, PEOPLE, hopeless, replace(TEACHING, people=5), np.random.default_rng(0))


def test_progress_counts_every_plan() -> None:
    seen: list[tuple[int, int]] = []
    few = replace(TEACHING, people=70)
    demonstrate(PROBLEM, PEOPLE, KNOWS, few, np.random.default_rng(0), lambda done, total: seen.append((done, total)))
    assert seen[-1] == (210, 210)


def test_the_program_works_for_others_at_little_more_than_the_least_effort(lessons: Demonstrations) -> None:
    made = distilled(lessons)
    program = Program(PROBLEM, made.run())
    others = PROBLEM.read(SYN.refused_test.head(80))
    run = program.run(others.states)
    good = run.stopped & (KNOWS.logit(run.states) > 0)
    assert good.mean() > 0.8
    train = program.run(lessons.starts)
    _, cost, _ = rollout(PROBLEM.transitions, lessons.starts, train.actions)
    good = train.stopped & (KNOWS.logit(train.states) > 0)
    assert good.mean() > 0.9
    assert (cost[good] / lessons.least[good]).mean() < 1.3


@pytest.mark.parametrize("ahead", [False, True])
def test_a_round_never_makes_it_worse(lessons: Demonstrations, ahead: bool) -> None:
    made = begun(lessons)
    made.imitate()

    def price() -> float:
        seen: list[Any] = []
        return made.price(made.trees, made.finish(made.begin(), made.trees, seen), seen)

    before = price()
    made.improve(ahead)
    assert price() <= before + 1e-6


def test_functions_come_in_one_order(lessons: Demonstrations) -> None:
    made = distilled(lessons)
    transitions = PROBLEM.transitions
    place = {int(function): i for i, function in enumerate(transitions.parents_first)} | {
        len(transitions.functions): 99
    }
    for name, tree in made.run().items():
        for _, leaf in leaves(tree):
            for choice in leaf.choices:
                function = int(transitions.function_of[choice.action])
                if name == INTERVENE:
                    assert choice.action != transitions.stop or len(leaf.choices) == 1
                    continue
                mine = made.names.index(name) - 1
                again = function == mine and transitions.functions[mine].adds
                assert again or place[function] > place[mine]


def test_every_other_function_is_left_to_fall_back_on(lessons: Demonstrations) -> None:
    """Before leaves get what is best there for whoever cannot use a function."""
    made, transitions = begun(lessons), PROBLEM.transitions
    made.imitate()
    made.improve(ahead=False)
    for node, tree in made.trees.items():
        kinds = {int(transitions.function_of[made.choices[i].action]) for i in np.flatnonzero(made.open(node))}
        kinds -= {int(transitions.function_of[transitions.stop])}
        for _, leaf in leaves(tree):
            mine = [int(transitions.function_of[choice.action]) for choice in leaf.choices]
            assert leaf.choices[0].action == transitions.stop or kinds <= set(mine)
            others = mine if mine[0] != node - 1 else []
            assert node - 1 not in others[: len(set(others) - {node - 1})], "one's own function comes after all others"


def test_losses_are_what_happens(lessons: Demonstrations) -> None:
    """Of every choice that can be made, and of none other."""
    made = distilled(lessons)
    rows = made.begin().take(np.arange(40))
    picks, losses = made.picks(rows, made.legal(rows)), made.losses(0, rows)
    for number, choice in enumerate(made.choices):
        can = picks[:, number] != NO_ACTION
        assert (np.isnan(losses[:, number]) == ~(can & made.open(0)[number])).all()
        if not made.open(0)[number]:
            continue
        first = {**made.trees, 0: Leaf((choice,))}
        assert np.allclose(losses[can, number], made.finish(rows.take(can), first))


def test_the_best_of_the_trees_for_a_node_is_kept(lessons: Demonstrations, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mended one and the new one are weighed against each other, not only against the one that stood."""
    made = distilled(lessons)
    best, node = dict(made.trees), 0
    others = [Leaf((choice,)) for choice, open_ in zip(made.choices, made.open(node), strict=True) if open_]

    def price(tree: Any) -> float:
        seen: list[Any] = []
        return made.price({**best, node: tree}, made.finish(made.begin(), {**best, node: tree}, seen), seen)

    worst, worse = max(others, key=price), min(others, key=price)
    assert price(best[node]) < price(worse) < price(worst)
    for options in ([best[node], worse], [worse, best[node]]):
        made.trees = {**best, node: worst}
        monkeypatch.setattr(made, "grown", lambda here, *_, options=options: options if here == node else [])
        assert made.improve(ahead=False)
        assert made.trees[node] == best[node]


def test_the_digits_of_cut_points_have_their_price(lessons: Demonstrations) -> None:
    made = begun(lessons)
    number = next(feature for feature in PROBLEM.features if feature.is_number)
    short, long = (
        {0: Split(Test(number.index, at_least=cut), Leaf((made.choices[0],)), Leaf((made.choices[1],)))}
        for cut in (1e9, 1_234_000_000.0)
    )
    loss, seen = np.zeros(len(made.starts)), [made.begin()]
    dearer = made.price(long, loss, seen) - made.price(short, loss, seen)
    assert dearer == pytest.approx(3 * made.lost * made.settings.tree.digit_price)


def test_stop_is_a_last_resort_where_it_is_no_failure(lessons: Demonstrations) -> None:
    made = begun(lessons)
    node = 1
    open_ = np.flatnonzero(made.open(node))
    choices = [made.choices[i] for i in open_]
    stop = [choice.action for choice in choices].index(PROBLEM.transitions.stop)
    half = made.settings.penalty / 2
    for lost, comes in ((half - 0.1, True), (half + 0.1, False)):
        losses = np.full((10, len(choices)), 1.0)
        losses[:, stop] = lost
        losses[2:, 0] = np.nan  # what few people can do loses nothing for them, and counts little
        losses[:2, 0] = 0.0
        backs = made._fall_backs(node, choices, losses)
        assert (stop in backs.spare) == comes
        assert backs.spare[0] != 0
        assert not comes or backs.spare[-1] == stop


def test_trees_that_stand_are_mended(lessons: Demonstrations, monkeypatch: pytest.MonkeyPatch) -> None:
    made = distilled(lessons)
    rows, stands = made.begin(), made.trees[0]
    losses = made.losses(0, rows)
    mended: list[Any] = []
    mend = Grower.mend
    monkeypatch.setattr(Grower, "mend", lambda grower, tree: mended.append(tree) or mend(grower, tree))
    leaf = Leaf((made.choices[0],))
    for standing, ahead, count in ((stands, False, 2), (None, True, 1), (leaf, True, 2), (leaf, False, 1)):
        made.trees = {} if standing is None else {0: standing}
        assert len(list(made.grown(0, rows, losses, len(losses), ahead))) == count
    assert mended == [stands, leaf], "a leaf mended without looking ahead is a tree grown anew"


@pytest.mark.parametrize(("least", "most", "lost"), [(0.0, 1e-6, 1e-6), (4.0, 5.0, 4.0)])
def test_words_are_priced_by_what_is_lost_within_limits(
    lessons: Demonstrations, least: float, most: float, lost: float
) -> None:
    made = distilled(lessons, replace(SETTINGS, rounds=1, least_lost=least, most_lost=most))
    made.improve(ahead=False)
    assert made.lost == lost


def test_what_is_to_be_avoided_is_never_tested_and_the_seed_decides(lessons: Demonstrations) -> None:
    avoid = tuple(feature.index for feature in PROBLEM.features if feature.protected)
    assert avoid
    first, second = distilled(lessons, avoid=avoid), distilled(lessons, avoid=avoid)
    assert first.trees == second.trees
    assert not Program(PROBLEM, first.run()).tests_protected()


def test_max_conditions(lessons: Demonstrations) -> None:
    settings = replace(SETTINGS, rounds=1, tree=replace(SETTINGS.tree, max_conditions=1))
    for tree in distilled(lessons, settings).run().values():
        assert all(len({test.feature for test, _ in path}) <= 1 for path, _ in leaves(tree))
