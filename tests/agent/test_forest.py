"""Trees: what a simulation may do, whom it asks, and what it finds, in random worlds with an untrained agent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, ExactPlanner, Problem, Status
from counterplan.agent.agent import Agent
from counterplan.agent.forest import Forest, ForestSettings
from counterplan.agent.network import NetworkConfig
from counterplan.agent.search import SearchSettings, search
from counterplan.agent.trace_archive import TraceArchive, TraceBatch
from counterplan.blackbox import MeteredOracle
from counterplan.search.orders import cheapest_orders


def untrained(problem: Problem, people) -> Agent:
    return Agent.new(problem, people, NetworkConfig(8, 8), np.random.default_rng(0))


def everything(problem: Problem, count: int) -> np.ndarray:
    return np.ones((count, len(problem.transitions)), bool)


@settings(max_examples=20)
@given(st.data())
def test_a_tree_that_is_searched_to_the_end_is_exact(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    box = BlackBox(data.draw(worlds.black_boxes(problem)))
    table = table[~box.favourable(problem, table)]
    exact = ExactPlanner(problem, box).plan(table)
    people = problem.read(table)
    agent = untrained(problem, people)
    forest = Forest(agent, people.states, everything(problem, len(people)), 401, ForestSettings())
    ask = box.session(problem, people)
    for _ in range(400):
        forest.simulate(np.arange(len(people)), ask)
    for row, plan in enumerate(exact):
        if plan.status is Status.FOUND:
            assert forest.best[row] >= plan.cost - 1e-5
        else:
            assert np.isinf(forest.best[row])
        if forest.exhausted[row]:
            least = plan.cost if plan.status is Status.FOUND else np.inf
            assert forest.best[row] == pytest.approx(least, abs=1e-4)


@settings(max_examples=20)
@given(st.data())
def test_trees_hold_only_legal_steps(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    people = problem.read(data.draw(worlds.people(problem)))
    transitions = problem.transitions
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(transitions), max_size=len(transitions))))
    allowed[-1] = True
    mask = np.tile(allowed, (len(people), 1))
    style = data.draw(
        st.sampled_from([ForestSettings(), ForestSettings(defer=True), SearchSettings.preset("paper").tree])
    )
    forest = Forest(untrained(problem, people), people.states, mask, 31, style)
    for _ in range(30):
        forest.simulate(np.arange(len(people)), lambda states, rows: states[:, 0] > 1e9)
    for person in range(len(people)):
        for node in range(1, forest.size[person]):
            parent, action = forest.parent[person, node], forest.by[person, node]
            before = forest.state[person, parent][None]
            assert allowed[action]
            assert transitions.legal(before)[0, action]
            after = transitions.apply(before, np.array([action]))[0]
            np.testing.assert_array_equal(after, forest.state[person, node])
            price = transitions.cost(before)[0, action]
            assert forest.cost[person, node] == pytest.approx(forest.cost[person, parent] + price, rel=1e-5, abs=1e-5)
            assert forest.depth[person, node] == forest.depth[person, parent] + 1 <= problem.max_actions


def test_the_black_box_is_asked_once_a_simulation_and_each_stop_once() -> None:
    problem = worlds.benchmark("german")
    people = problem.read(worlds.random_people(problem, 3, 12))
    forest = Forest(untrained(problem, people), people.states, everything(problem, 12), 61, ForestSettings())
    calls = asked = 0

    def ask(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        nonlocal calls, asked
        calls, asked = calls + 1, asked + len(rows)
        assert len(set(rows.tolist())) == len(rows), "one question a person"
        return np.zeros(len(rows), bool)

    for simulation in range(60):
        forest.simulate(np.arange(12), ask)
        assert calls <= simulation + 1
    assert asked > 0
    stops = forest.visits[:, :, problem.transitions.stop]
    assert stops.max() == 1
    assert stops.sum() == asked


def test_the_paper_selects_by_q_and_u_and_l() -> None:
    problem = worlds.benchmark("syn")
    people = problem.read(worlds.random_people(problem, 3, 5))
    style = SearchSettings.preset("paper").tree
    forest = Forest(untrained(problem, people), people.states, everything(problem, 5), 41, style)
    for _ in range(25):
        forest.simulate(np.arange(5), lambda states, rows: states[:, 3] > 60_000)
    functions = problem.transitions.function_of
    for person in range(5):
        node = int(forest.size[person]) - 1
        way = [a for a in forest.paths(np.array([person]), np.array([node]))[0] if a >= 0]
        for at in (0, node):
            taken = [] if at == 0 else [functions[a] for a in way]
            count = np.array([taken.count(function) for function in functions])
            price = problem.transitions.cost(forest.state[person, at][None])[0]
            price[-1] = 1.0
            visits = forest.visits[person, at]
            q = np.where(visits > 0, forest.total[person, at] / np.maximum(visits, 1), 0)
            u = style.exploration * forest.prior[person, at] * np.sqrt(visits.sum() + 1) / (1 + visits)
            score = q + u + np.exp(-(price + count))
            score[~forest.open[person, at]] = -np.inf
            chosen, _ = forest._choose(np.array([person]), np.array([at]))
            assert score[chosen[0]] == pytest.approx(score.max(), rel=1e-4)


def insisting(problem: Problem, people, function: int) -> Agent:
    """An agent whose policy is nearly certain of one function."""
    agent = untrained(problem, people)
    bias = agent.params["function.bias"].copy()
    bias[function] = 40
    return agent.with_params(agent.params | {"function.bias": bias})


@settings(max_examples=8)
@given(st.data())
def test_after_a_refused_stop_the_visits_move_on(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    people = problem.read(data.draw(worlds.people(problem)))
    stop, style = problem.transitions.stop, SearchSettings.preset("paper").tree
    assert style.failure_value == -1
    assert ForestSettings().failure_value == 0
    forest = Forest(insisting(problem, people, -1), people.states, everything(problem, len(people)), 41, style)
    for _ in range(40):
        forest.simulate(np.arange(len(people)), lambda states, rows: np.zeros(len(rows), bool))
    refused = forest.visits[:, :, stop]
    np.testing.assert_array_equal(forest.total[:, :, stop], -refused)
    untried = (forest.open & (forest.visits == 0))[:, :, :-1].any(axis=2)
    few = untried & (forest.visits.sum(axis=2) <= 5)
    assert (refused[few] <= 1).all(), "an action never tried comes before a second STOP"


def test_a_refused_stop_is_worth_less_than_an_action_never_tried() -> None:
    problem = worlds.benchmark("syn")
    people = problem.read(worlds.random_people(problem, 5, 20))
    people = problem.read(people.table[people.states[:, 1] < 2])
    agent = insisting(problem, people, -1)

    def settled(frame: pd.DataFrame) -> np.ndarray:
        return np.where((studied(frame) == "granted") & (frame["house"] == "own"), "granted", "refused")

    poor = people.take(np.flatnonzero(people.states[:, 4] < 2))
    found = {}
    for value in (0.0, -1.0):
        paper = SearchSettings.preset("paper")
        paper = replace(paper, tree=replace(paper.tree, failure_value=value))
        ask = MeteredOracle(BlackBox(settled).session(problem, poor), len(poor))
        found[value] = search(agent, poor.states, everything(problem, len(poor)), ask, paper)
    assert np.isinf(found[0.0].cost).all(), "all visits go to STOP: plans of one action"
    solved = np.isfinite(found[-1.0].cost)
    assert solved.mean() > 0.5
    assert ((found[-1.0].actions[solved] >= 0).sum(axis=1) > 1).all()


def test_a_plan_of_full_length_without_stop_is_a_failure() -> None:
    problem = worlds.benchmark("syn")
    people = problem.read(worlds.random_people(problem, 3, 12))
    people = people.take(np.flatnonzero(people.states[:, 3] > 0))
    income = [function.name for function in problem.transitions.functions].index("CHANGE_INCOME")
    agent, allowed = insisting(problem, people, income), everything(problem, len(people))
    tree = replace(SearchSettings.preset("paper").tree, exploration=10.0)
    paper = replace(SearchSettings.preset("paper"), simulations=1, tree=tree)
    lenient = replace(paper, tree=replace(tree, forced_stop=True))
    outcomes = []
    for style in (paper, lenient):
        box = BlackBox(lambda frame: np.full(len(frame), "granted"))
        ask = MeteredOracle(box.session(problem, people), len(people))
        outcomes.append(search(agent, people.states, allowed, ask, style))
    assert np.isinf(outcomes[0].cost).all()
    assert (outcomes[0].actions == -1).all()
    assert ((outcomes[1].actions >= 0).sum(axis=1) == problem.max_actions).all()


def test_orders_get_cheaper_and_end_in_the_same_state() -> None:
    problem = worlds.benchmark("syn")
    names = [str(action) for action in problem.transitions.actions]
    person = problem.state(
        {
            "age": 40, "education": "none", "job": "unemployed", "income": 9_000.0, "house": "rent", "credit": 10,
            "sex": "male", "relationship": "single", "country": "italy",
        }
    )[None]  # fmt: skip
    worst = ["CHANGE_HOUSE=own", "CHANGE_INCOME=50000", "CHANGE_JOB=manager", "CHANGE_EDUCATION=master"]
    plan = np.array([[*(names.index(name) for name in worst), -1, -1]])
    best = cheapest_orders(problem.transitions, person, plan)[0]
    assert [names[action] for action in best[:4]] == worst[::-1]
    assert best[4:].tolist() == [-1, -1]


@settings(max_examples=20)
@given(st.data())
def test_orders_are_legal_never_dearer_and_the_lessons_allow_them(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    people = problem.read(data.draw(worlds.people(problem)))
    seed = data.draw(st.integers(0, 1000))
    random = worlds.random_plan_actions(problem, people.states, np.random.default_rng(seed))
    plans = np.where(random.actions == problem.transitions.stop, -1, random.actions)
    ordered = cheapest_orders(problem.transitions, people.states, plans)
    agent = untrained(problem, people)
    before, after = (
        TraceBatch.from_plans(agent, people.states, plans),
        TraceBatch.from_plans(agent, people.states, ordered),
    )
    assert (after.cost_to_go[:, 0] <= before.cost_to_go[:, 0] + 1e-4).all()
    final = problem.transitions
    for row in range(len(people)):
        state = people.states[[row]]
        for action in ordered[row][ordered[row] >= 0]:
            assert final.legal(state)[0, action]
            state = final.apply(state, np.array([action]))
        np.testing.assert_array_equal(state[0], random.states[row, -1])
        chosen = (after.legal[row] * after.policy[row]).sum(axis=1)
        assert (chosen[after.mask[row] > 0] == 1).all(), "no target is masked out"


def test_the_archive_keeps_the_newest_refusals() -> None:
    problem = worlds.benchmark("syn")
    people = problem.read(worlds.random_people(problem, 1, 8))
    archive = TraceArchive.empty(untrained(problem, people), people.states, 4)
    nothing = np.full((6, problem.max_actions), -1)
    archive.add_refusals(np.arange(6), nothing)
    assert sorted(archive.refused_people.tolist()) == [2, 3, 4, 5]
    archive.add(np.arange(3), nothing[:3])
    assert archive.solved.tolist() == [0, 1, 2]
    copied = [part.copy() for part in archive.traces]
    for part in archive.traces:
        part[...] = 0
    archive.rebuild()
    for mine, theirs in zip(archive.traces, copied, strict=True):
        np.testing.assert_array_equal(mine[:3], theirs[:3])


def studied(frame: pd.DataFrame) -> np.ndarray:
    return np.where(frame["education"].isin(["bachelor", "master", "phd"]), "granted", "refused")


@pytest.mark.parametrize("settings", [SearchSettings(), SearchSettings(simulations=50), SearchSettings.preset("paper")])
def test_search_counts_new_questions_and_obeys_its_budget(settings: SearchSettings) -> None:
    problem = worlds.benchmark("syn")
    people = problem.read(worlds.random_people(problem, 5, 20))
    people = problem.read(people.table[people.states[:, 1] < 2])
    agent = untrained(problem, people)
    for budget in (0, 1, 3, 40):
        for model in (studied, lambda frame: np.full(len(frame), "refused")):
            box = BlackBox(model)
            ask = MeteredOracle(box.session(problem, people), len(people))
            found = search(agent, people.states, everything(problem, len(people)), ask, settings, budget)
            assert (found.queries <= budget).all()
            assert found.queries.sum() == box.queries
            assert np.isinf(found.cost).all() or budget
    box = BlackBox(studied, budget=7)
    ask = MeteredOracle(box.session(problem, people), len(people))
    found = search(agent, people.states, everything(problem, len(people)), ask, settings)
    assert found.queries.sum() == box.queries <= 7
    assert np.isfinite(found.cost).sum() <= 7


def test_search_finds_what_is_near() -> None:
    problem = worlds.benchmark("syn")
    people = problem.read(worlds.random_people(problem, 5, 20))
    people = problem.read(people.table[people.states[:, 1] < 2])
    ask = MeteredOracle(BlackBox(studied).session(problem, people), len(people))
    found = search(untrained(problem, people), people.states, everything(problem, len(people)), ask, SearchSettings())
    assert np.isfinite(found.cost).mean() > 0.8
