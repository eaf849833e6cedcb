"""What genes mean, what candidates are worth, and who survives, against references for one candidate at a time."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import Problem
from counterplan.planners.genetics import (
    Population,
    breed,
    decode,
    diversity,
    evaluate,
    unique,
    well_formed,
)
from counterplan.search.orders import NO_ACTION


@st.composite
def keys(draw: st.DrawFn, problem: Problem, most: int = 6) -> np.ndarray:
    """Random keys [n, 2W], often at the edges."""
    width = 2 * (len(problem.transitions.functions) + 1)
    key = st.one_of(st.sampled_from([0.0, 0.5, math.nextafter(0.5, 1), 1.0]), st.floats(0, 1))
    rows = draw(st.lists(st.lists(key, min_size=width, max_size=width), min_size=1, max_size=most))
    return np.array(rows)


# Genes


@given(st.data())
def test_a_plan_is_its_active_functions_in_the_order_of_their_keys(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    genes = data.draw(keys(problem))
    transitions = problem.transitions
    for gene, plan in zip(genes, decode(transitions, genes).tolist(), strict=True):
        order, value = gene[: len(plan)], gene[len(plan) :]
        length = plan.index(NO_ACTION) if NO_ACTION in plan else len(plan)
        assert plan[length:] == [NO_ACTION] * (len(plan) - length)
        functions = transitions.function_of[plan[:length]].tolist()
        assert sorted(functions) == [f for f, key in enumerate(order) if key <= 0.5], "each active one, once"
        assert all(order[a] <= order[b] for a, b in pairwise(functions))
        for position, (function, action) in enumerate(zip(functions, plan, strict=False)):
            span = [a for a, of in enumerate(transitions.function_of) if of == function]
            assert action == span[min(math.floor(value[position] * len(span)), len(span) - 1)]
        ended = length > 0 and plan[length - 1] == transitions.stop
        assert well_formed(transitions, np.array([plan])).tolist() == [ended]


@given(worlds.problems())
def test_every_argument_can_be_reached_also_the_last(problem: Problem) -> None:
    transitions = problem.transitions
    width = len(transitions.functions) + 1
    for function in range(width):
        span = np.flatnonzero(transitions.function_of == function)
        genes = np.ones((len(span), 2 * width))
        genes[:, function] = 0.2
        genes[:, width] = (np.arange(len(span)) + 0.5) / len(span)
        assert decode(transitions, genes)[:, 0].tolist() == span.tolist()
        genes[-1, width] = 1.0
        assert decode(transitions, genes)[-1, 0] == span[-1]


# What a candidate is worth, against a reference for one person at a time


def reference(
    problem: Problem, start: np.ndarray, allowed: np.ndarray, plans: list[list[int]], favourable: Any
) -> tuple[list[float], list[float], list[bool], list[bytes]]:
    """Costs, summed Gower distances, outcomes, and the states that are asked about, step by step."""
    transitions = problem.transitions
    costs, trails, outcomes, asked = [], [], [], []
    for plan in plans:
        state, price, steps, legal, trail = start.copy(), 0.0, 0, True, []
        for action in plan:
            steps += action != transitions.stop
            if legal:
                possible = transitions.legal(state[None])[0, action] and allowed[action]
                legal = bool(possible and steps <= problem.max_actions)
            price += float(transitions.cost(state[None])[0, action]) if legal else 100
            if legal:
                state = transitions.apply(state[None], np.array([action]))[0]
            trail.append(state)
        good = False
        if legal and plan and plan[-1] == transitions.stop and not np.array_equal(state, start, equal_nan=True):
            asked.append((state + 0.0).tobytes())
            good = favourable(state)
        outcomes.append(good)
        costs.append(price if good else 10 * price)
        trails.append(trail + [state] * (len(transitions.functions) + 1 - len(trail)))
    return costs, gower(problem, np.array(trails)), outcomes, asked


def gower(problem: Problem, trails: np.ndarray) -> list[float]:
    """For each of the trails [P, W, F] the sum of its Gower distances to the others."""
    mutable = problem.transitions.mutable
    far = np.zeros((len(trails), len(trails)))
    for index in mutable:
        column = trails[:, :, index]
        known = column[~np.isnan(column)]
        spread = known.max() - known.min() if len(known) else 0.0
        for i in range(len(trails)):
            for j in range(len(trails)):
                for a, b in zip(column[i], column[j], strict=True):
                    if a == b or (math.isnan(a) and math.isnan(b)):
                        continue
                    partly = problem.features[index].is_number and not (math.isnan(a) or math.isnan(b))
                    far[i, j] += abs(a - b) / spread if partly else 1
    return (far.sum(axis=1) / (len(mutable) * trails.shape[1])).tolist()


@settings(max_examples=25)
@given(st.data())
def test_candidates_are_worth_what_a_reference_says(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    people = problem.read(data.draw(worlds.people(problem, most=3)))
    drawn = data.draw(keys(problem, most=5))
    genes = np.stack([np.roll(drawn, row, axis=1) for row in range(len(people))])
    size = len(people) * len(problem.transitions)
    allowed = np.array(data.draw(st.lists(st.sampled_from([True, True, True, False]), min_size=size, max_size=size)))
    allowed = allowed.reshape(len(people), -1)
    allowed[:, -1] = True
    asked: list[list[bytes]] = [[] for _ in range(len(people))]

    def favourable(state: np.ndarray) -> bool:
        return int(np.nansum(state) * 4) % 3 != 0

    def ask(states: np.ndarray, person: np.ndarray) -> np.ndarray:
        for state, row in zip(states, person.tolist(), strict=True):
            asked[row].append((state + 0.0).tobytes())
        return np.array([favourable(state) for state in states], bool)

    found = evaluate(problem, people.states, allowed, genes, ask)
    for row in range(len(people)):
        mine = found.take(found.person == row)
        plans = [[action for action in plan if action != NO_ACTION] for plan in mine.actions.tolist()]
        costs, apart, outcomes, states = reference(problem, people.states[row], allowed[row], plans, favourable)
        assert mine.cost.tolist() == pytest.approx(costs, abs=1e-6)
        assert mine.diversity.tolist() == pytest.approx(apart, abs=1e-6)
        assert mine.feasible.tolist() == outcomes
        assert asked[row] == states


def test_distances_are_gower_s_also_where_something_is_missing() -> None:
    problem = worlds.benchmark("german")
    random = np.random.default_rng(3)
    for missing in (0.0, 0.3, 1.0):
        trails = random.integers(0, 3, (2, 7, 4, len(problem.features))).astype(float)
        trails[random.random(trails.shape) < missing] = np.nan
        apart = diversity(problem.transitions, trails[..., problem.transitions.mutable])
        for mine, theirs in zip(apart, trails, strict=True):
            assert mine.tolist() == pytest.approx(gower(problem, theirs), abs=1e-6)


def test_a_refused_plan_costs_ten_times_as_much_and_a_failed_step_a_hundred() -> None:
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "line",
            "outcome": {"column": "decision", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": 2,
            "features": {"x": {"kind": "number"}, "y": {"kind": "number"}},
            "functions": {
                "X": {"add": "x", "arguments": [1], "cost": 3},
                "Y": {"add": "y", "arguments": [1], "cost": 4, "when": "x > 0"},
            },
        }
    )
    genes = np.array(
        [
            [0.1, 0.2, 0.3, 0, 0, 0],  # X, Y, STOP
            [0.1, 0.9, 0.3, 0, 0, 0],  # X, STOP
            [0.2, 0.1, 0.3, 0, 0, 0],  # Y fails, so X and STOP do
            [0.1, 0.4, 0.3, 0, 0, 0],  # X, STOP, Y: not well-formed
            [0.9, 0.9, 0.9, 0, 0, 0],  # nothing
        ]
    )

    def ask(states: np.ndarray, person: np.ndarray) -> np.ndarray:
        assert states.tolist() == [[1, 1], [1, 0]]
        return states[:, 1] > 0

    found = evaluate(problem, np.zeros((1, 2)), np.ones((1, 3), bool), genes[None], ask)
    assert found.cost.tolist() == [7, 30, 3000, 70, 0]
    assert found.feasible.tolist() == [True, False, False, False, False]


# Who survives


@pytest.fixture(scope="module", params=["german", "syn_long"])
def problem(request: pytest.FixtureRequest) -> Problem:
    return worlds.benchmark(request.param)


def candidates(problem: Problem, random: np.random.Generator, people: int, each: int) -> Population:
    width = len(problem.transitions.functions) + 1
    genes = random.random((people * each, 2 * width))
    actions = decode(problem.transitions, genes)
    cost, apart = random.integers(0, 4, (2, people * each)).astype(float)
    return Population(np.repeat(np.arange(people), each), genes, actions, cost, apart, random.random(len(cost)) < 0.5)


def test_children_have_their_genes_from_an_elite_and_another_of_the_same_person(problem: Problem) -> None:
    random = np.random.default_rng(0)
    pool = candidates(problem, random, 4, 30)
    elite = random.random(len(pool.person)) < 0.3
    elite[pool.person == 2] = True
    elite[pool.person == 3] = False
    drawn = random.random((4, 400, 2 + pool.genes.shape[1]))
    children = breed(pool, elite, drawn, 0.7)
    noble = []
    for person, some in enumerate(children):
        mine = pool.person == person
        of_one_sort = person in (2, 3)
        elites, others = pool.genes[mine & (elite | of_one_sort)], pool.genes[mine & (~elite | of_one_sort)]
        parents = set()
        for child in some:
            from_elite = (elites == child).sum(axis=1)
            from_other = (others == child).sum(axis=1)
            assert from_elite.max() + from_other.max() >= len(child)
            noble.append(from_elite.max() / len(child))
            parents.add(int(from_elite.argmax()))
        assert len(parents) == len(elites), "everybody has a chance"
    assert np.mean(noble[:800]) == pytest.approx(0.7, abs=0.02)


def test_only_copies_are_dropped(problem: Problem) -> None:
    pool = candidates(problem, np.random.default_rng(1), 3, 40)
    twice = np.concatenate([np.arange(len(pool.person)), np.arange(10)])
    kept = unique(pool.take(np.random.default_rng(2).permutation(twice)))
    names = [(person, *plan) for person, plan in zip(kept.person, kept.actions.tolist(), strict=True)]
    assert len(set(names)) == len(names)
    assert set(names) == {(person, *plan) for person, plan in zip(pool.person, pool.actions.tolist(), strict=True)}
    assert (np.diff(kept.person) >= 0).all()
