"""Distilling: people and teachers, one order of functions, and a program that works for others too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from counterplan import BlackBox, benchmarks
from counterplan.distillation.demonstrations import Demonstrations, DemonstrationSettings, demonstrate, refused_states
from counterplan.distillation.evaluation import Evaluator
from counterplan.distillation.policy_search import PolicySearch, PolicySearchSettings
from counterplan.distillation.tree_grower import TreeGrower
from counterplan.distillation.visits import Visits
from counterplan.errors import PeopleError
from counterplan.problem import transitions
from counterplan.program import INTERVENE, Leaf, Program, Split, Test, leaves
from counterplan.search.orders import NO_ACTION, rollout

SYN = benchmarks.load("syn")
PROBLEM = SYN.problem
PEOPLE = PROBLEM.read(SYN.train.head(600))
SETTINGS = PolicySearchSettings(rounds=2, max_rows=600)
DEMONSTRATING = DemonstrationSettings(people=300, max_expansions=20_000)


class Knows:
    """A surrogate that is never wrong."""

    hints = None

    def logit(self, states: np.ndarray) -> np.ndarray:
        table = PEOPLE.take(np.zeros(len(states), int))
        favourable = BlackBox(SYN.model).session(PROBLEM, table)(states, np.arange(len(states)))
        return np.where(favourable, 5.0, -5.0)


KNOWS: Any = Knows()


@pytest.fixture(scope="module")
def demonstrations() -> Demonstrations:
    return demonstrate(PROBLEM, PEOPLE, KNOWS, DEMONSTRATING, np.random.default_rng(0))


def begun(
    demonstrations: Demonstrations, settings: PolicySearchSettings = SETTINGS, avoid: tuple[int, ...] = ()
) -> PolicySearch:
    return PolicySearch(PROBLEM, demonstrations, KNOWS.logit, settings, np.random.default_rng(0), avoid)


def distilled(
    demonstrations: Demonstrations, settings: PolicySearchSettings = SETTINGS, avoid: tuple[int, ...] = ()
) -> PolicySearch:
    made = begun(demonstrations, settings, avoid)
    made.run()
    return made


def test_teachers_have_plans_for_refused_people(demonstrations: Demonstrations) -> None:
    assert len(demonstrations.starts) == len(demonstrations.least_cost) == demonstrations.plans.shape[1] <= 300
    assert (KNOWS.logit(demonstrations.starts) < 0).all()
    for plans in demonstrations.plans:
        ends, cost, legal = rollout(PROBLEM.transitions, demonstrations.starts, plans)
        has = plans[:, 0] != NO_ACTION
        assert legal.all()
        assert (KNOWS.logit(ends[has]) > 0).all()
        assert (cost[has] >= demonstrations.least_cost[has] - 1e-9).all()


def test_too_few_people_are_crossed() -> None:
    few = PEOPLE.take(slice(0, 40))
    states, real = refused_states(PROBLEM, few, KNOWS, 200, np.random.default_rng(1))
    assert real == (KNOWS.logit(few.states) < 0).sum()
    assert real < len(states) <= 200
    assert (KNOWS.logit(states) < 0).all()
    states, real = refused_states(PROBLEM, PEOPLE, KNOWS, 30, np.random.default_rng(1))
    assert len(states) == real == 30
    lucky = PEOPLE.take(np.flatnonzero(KNOWS.logit(PEOPLE.states) > 0))
    with pytest.raises(PeopleError, match="people is refused; a program is distilled from people who are"):
        refused_states(PROBLEM, lucky, KNOWS, 30, np.random.default_rng(1))


def test_nobody_can_be_helped() -> None:
    class Hopeless(Knows):
        def logit(self, states: np.ndarray) -> np.ndarray:
            return np.full(len(states), -5.0)

    hopeless: Any = Hopeless()
    with pytest.raises(PeopleError, match="has no plan for anyone"):
        demonstrate(PROBLEM, PEOPLE, hopeless, replace(DEMONSTRATING, people=5), np.random.default_rng(0))


def test_progress_counts_every_plan() -> None:
    seen: list[tuple[int, int]] = []
    few = replace(DEMONSTRATING, people=70)
    demonstrate(PROBLEM, PEOPLE, KNOWS, few, np.random.default_rng(0), lambda done, total: seen.append((done, total)))
    assert seen[-1] == (210, 210)


def test_the_program_works_for_others_at_little_more_than_the_least_effort(demonstrations: Demonstrations) -> None:
    made = distilled(demonstrations)
    program = Program(PROBLEM, made.run())
    others = PROBLEM.read(SYN.refused_test.head(80))
    run = program.run(others.states)
    good = run.stopped & (KNOWS.logit(run.states) > 0)
    assert good.mean() > 0.8
    train = program.run(demonstrations.starts)
    _, cost, _ = rollout(PROBLEM.transitions, demonstrations.starts, train.actions)
    good = train.stopped & (KNOWS.logit(train.states) > 0)
    assert good.mean() > 0.9
    assert (cost[good] / demonstrations.least_cost[good]).mean() < 1.3


@pytest.mark.parametrize("lookahead", [False, True])
def test_a_round_never_makes_it_worse(demonstrations: Demonstrations, lookahead: bool) -> None:
    made = begun(demonstrations)
    made.imitate()

    def value() -> float:
        seen: list[Any] = []
        return made.objective(made.trees, made.evaluator.rollout(made.trees, made.evaluator.begin(), seen).loss, seen)

    before = value()
    made.improve(lookahead)
    assert value() <= before + 1e-6


def test_functions_come_in_one_order(demonstrations: Demonstrations) -> None:
    made = distilled(demonstrations)
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


def test_every_other_function_is_left_to_fall_back_on(demonstrations: Demonstrations) -> None:
    """Before leaves get what is best there for whoever cannot use a function."""
    made, transitions = begun(demonstrations), PROBLEM.transitions
    made.imitate()
    made.improve(lookahead=False)
    for node, tree in made.trees.items():
        kinds = {int(transitions.function_of[made.choices[i].action]) for i in np.flatnonzero(made.open[node])}
        kinds -= {int(transitions.function_of[transitions.stop])}
        for _, leaf in leaves(tree):
            mine = [int(transitions.function_of[choice.action]) for choice in leaf.choices]
            assert leaf.choices[0].action == transitions.stop or kinds <= set(mine)
            others = mine if mine[0] != node - 1 else []
            assert node - 1 not in others[: len(set(others) - {node - 1})], "one's own function comes after all others"


def test_losses_are_what_happens(demonstrations: Demonstrations) -> None:
    """Of every choice that can be made, and of none other."""
    made = distilled(demonstrations)
    rows = made.evaluator.begin().take(np.arange(40))
    picks, losses = made.evaluator.picks(rows), made.evaluator.outcomes(made.trees, rows, made.open[0]).loss
    for number, choice in enumerate(made.choices):
        can = picks[:, number] != NO_ACTION
        assert (np.isnan(losses[:, number]) == ~(can & made.open[0][number])).all()
        if not made.open[0][number]:
            continue
        first = {**made.trees, 0: Leaf((choice,))}
        assert np.allclose(losses[can, number], made.evaluator.rollout(first, rows.take(can)).loss)


def test_picks_are_the_same_in_chunks(demonstrations: Demonstrations, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = begun(demonstrations).evaluator
    visits = evaluator.begin().take(np.arange(40))
    picks, sizes, legal = evaluator.picks(visits), [], Evaluator.legal

    def recorded(self: Evaluator, part: Visits) -> np.ndarray:
        sizes.append(len(part.person))
        return legal(self, part)

    monkeypatch.setattr(Evaluator, "legal", recorded)
    monkeypatch.setattr(transitions, "MAX_CELLS", 7 * len(PROBLEM.transitions))
    np.testing.assert_array_equal(evaluator.picks(visits), picks)
    assert sizes == [7] * 5 + [5]


def test_the_best_of_the_trees_for_a_node_is_kept(
    demonstrations: Demonstrations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refined one and the new one are weighed against each other, not only against the one that stood."""
    made = distilled(demonstrations)
    best, node = dict(made.trees), 0
    others = [Leaf((choice,)) for choice, open_ in zip(made.choices, made.open[node], strict=True) if open_]

    def value(tree: Any) -> float:
        seen: list[Any] = []
        return made.objective(
            {**best, node: tree}, made.evaluator.rollout({**best, node: tree}, made.evaluator.begin(), seen).loss, seen
        )

    worst, worse = max(others, key=value), min(others, key=value)
    assert value(best[node]) < value(worse) < value(worst)
    for options in ([best[node], worse], [worse, best[node]]):
        made.trees = {**best, node: worst}
        monkeypatch.setattr(made, "candidate_trees", lambda here, *_, options=options: options if here == node else [])
        assert made.improve(lookahead=False)
        assert made.trees[node] == best[node]


def test_the_digits_of_cut_points_have_their_price(demonstrations: Demonstrations) -> None:
    made = begun(demonstrations)
    number = next(feature for feature in PROBLEM.features if feature.is_number)
    short, long = (
        {0: Split(Test(number.index, at_least=cut), Leaf((made.choices[0],)), Leaf((made.choices[1],)))}
        for cut in (1e9, 1_234_000_000.0)
    )
    loss, seen = np.zeros(len(made.starts)), [made.evaluator.begin()]
    dearer = made.objective(long, loss, seen) - made.objective(short, loss, seen)
    assert dearer == pytest.approx(3 * made.loss_scale * made.settings.tree.digit_penalty)


def test_stop_is_a_last_resort_where_it_is_no_failure(demonstrations: Demonstrations) -> None:
    made = begun(demonstrations)
    node = 1
    open_ = np.flatnonzero(made.open[node])
    choices = [made.choices[i] for i in open_]
    stop = [choice.action for choice in choices].index(PROBLEM.transitions.stop)
    half = made.settings.failure_penalty / 2
    for lost, comes in ((half - 0.1, True), (half + 0.1, False)):
        losses = np.full((10, len(choices)), 1.0)
        losses[:, stop] = lost
        losses[2:, 0] = np.nan  # what few people can do loses nothing for them, and counts little
        losses[:2, 0] = 0.0
        backs = made.leaf_choices(node, choices, losses)
        assert (stop in backs.defaults) == comes
        assert backs.defaults[0] != 0
        assert not comes or backs.defaults[-1] == stop


def test_trees_that_stand_are_refined(demonstrations: Demonstrations, monkeypatch: pytest.MonkeyPatch) -> None:
    made = distilled(demonstrations)
    rows, stands = made.evaluator.begin(), made.trees[0]
    losses = made.evaluator.outcomes(made.trees, rows, made.open[0]).loss
    refined: list[Any] = []
    refine = TreeGrower.refine
    monkeypatch.setattr(TreeGrower, "refine", lambda grower, tree: refined.append(tree) or refine(grower, tree))
    leaf = Leaf((made.choices[0],))
    for standing, lookahead, count in ((stands, False, 2), (None, True, 1), (leaf, True, 2), (leaf, False, 1)):
        made.trees = {} if standing is None else {0: standing}
        assert len(list(made.candidate_trees(0, rows, losses, len(losses), lookahead))) == count
    assert refined == [stands, leaf], "a leaf refined without looking ahead is a tree grown anew"


@pytest.mark.parametrize(("least", "most", "lost"), [(0.0, 1e-6, 1e-6), (4.0, 5.0, 4.0)])
def test_words_are_priced_by_what_is_lost_within_limits(
    demonstrations: Demonstrations, least: float, most: float, lost: float
) -> None:
    made = distilled(demonstrations, replace(SETTINGS, rounds=1, min_loss_scale=least, max_loss_scale=most))
    made.improve(lookahead=False)
    assert made.loss_scale == lost


def test_what_is_to_be_avoided_is_never_tested_and_the_seed_decides(demonstrations: Demonstrations) -> None:
    avoid = tuple(feature.index for feature in PROBLEM.features if feature.protected)
    assert avoid
    first, second = distilled(demonstrations, avoid=avoid), distilled(demonstrations, avoid=avoid)
    assert first.trees == second.trees
    assert not Program(PROBLEM, first.run()).tests_protected()


def test_max_conditions(demonstrations: Demonstrations) -> None:
    settings = replace(SETTINGS, rounds=1, tree=replace(SETTINGS.tree, max_conditions=1))
    for tree in distilled(demonstrations, settings).run().values():
        assert all(len({test.feature for test, _ in path}) <= 1 for path, _ in leaves(tree))


def test_a_listing_has_at_most_so_many_lines(demonstrations: Demonstrations) -> None:
    def lines(settings: PolicySearchSettings) -> int:
        return Program(PROBLEM, begun(demonstrations, settings).run()).to_text().count("\n") + 1

    settings = replace(SETTINGS, tree=replace(SETTINGS.tree, leaf_penalty=0.01))
    usual = lines(settings)
    assert lines(replace(settings, max_lines=usual - 5)) <= usual - 5
    assert lines(replace(settings, max_lines=usual)) == usual
