"""Plans for survival: exact search against brute force, and what guided plans guarantee."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, ExactPlanner, Problem, Status
from counterplan.planners import GuidedPlanner, Planner
from counterplan.problem import People
from counterplan.survival.estimator import SurvivalEstimator


class HashedChance(SurvivalEstimator):
    """A chance that depends on the state in an arbitrary way: a coarse hash of its numbers."""

    source: ClassVar[str] = "committee"

    def __init__(self, seed: int, levels: int) -> None:
        self.seed, self.levels = seed, levels

    def chance(self, problem: Problem, people: People, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return self.of_states(states)

    def of_states(self, states: np.ndarray) -> np.ndarray:
        known = np.nan_to_num(states, nan=-7.0)
        mixed = known @ np.cos(np.arange(known.shape[1]) * 12.9898 + self.seed) * 43758.5453
        return np.floor((mixed - np.floor(mixed)) * self.levels) / self.levels


def all_ends(problem: Problem, people: People, row: int, box: BlackBox) -> tuple[np.ndarray, np.ndarray]:
    """Favourable states that a person can reach, and the least cost of each."""
    transitions, oracle = problem.transitions, box.session(problem, people)
    layer, costs = {people.states[row].tobytes(): 0.0}, {}
    for _ in range(problem.max_actions + 1):
        successors: dict[bytes, float] = {}
        for raw, cost in layer.items():
            costs[raw] = min(cost, costs.get(raw, math.inf))
            state = np.frombuffer(raw).reshape(1, -1)
            legal, step = transitions.legal(state)[0], transitions.cost(state)[0]
            for action in np.flatnonzero(legal[:-1]).tolist():
                after = (transitions.apply(state, np.array([action]))[0] + 0.0).tobytes()
                successors[after] = min(cost + float(step[action]), successors.get(after, math.inf))
        layer = successors
    states = np.array([np.frombuffer(raw) for raw in costs])
    favourable = oracle(states, np.full(len(states), row))
    return states[favourable], np.array(list(costs.values()))[favourable]


def with_survival(planner: Planner, estimator: SurvivalEstimator) -> Planner:
    planner.survival = estimator
    return planner


@settings(max_examples=40)
@given(st.data())
def test_exact_minimizes_the_objective(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    box = BlackBox(data.draw(worlds.black_boxes(problem)))
    estimator = HashedChance(data.draw(st.integers(0, 99)), data.draw(st.sampled_from([1, 2, 10, 1000])))
    goal = data.draw(
        st.fixed_dictionaries({"survival": st.sampled_from(["balanced", "high", 0.5, 100.0])})
        | st.fixed_dictionaries({"survival_at_least": st.sampled_from([0.3, 0.8, 1.0])})
    )
    batch_size = data.draw(st.integers(1, 4))
    cheapest = ExactPlanner(problem, box).plan(table)
    planner = with_survival(ExactPlanner(problem, box, batch_size=batch_size), estimator)
    plans, people = planner.plan(table, **goal), problem.read(table)
    assert plans.counts == cheapest.counts
    for row, (plan, plain) in enumerate(zip(plans, cheapest, strict=True)):
        if plan.status is not Status.FOUND:
            assert plan == plain
            continue
        ends, costs = all_ends(problem, people, row, box)
        chance, least = estimator.of_states(ends), plain.cost
        if "survival" in goal:
            weight = {"balanced": 4.0, "high": 8.0}.get(goal["survival"], goal["survival"])
            best = (costs + weight * least * (1 - chance)).min()
            assert plan.cost + weight * least * (1 - plan.survival) == pytest.approx(best, abs=1e-5, rel=1e-9)
        else:
            met = chance >= goal["survival_at_least"]
            assert plan.robustness.met == met.any()
            if met.any():
                assert plan.cost == pytest.approx(costs[met].min(), abs=1e-5)
                assert plan.survival >= goal["survival_at_least"]
            else:
                hundredths = np.floor(100 * chance + 1e-7)
                assert np.floor(100 * plan.survival + 1e-7) == hundredths.max()
                assert plan.cost == pytest.approx(costs[hundredths == hundredths.max()].min(), abs=1e-5)
        assert plan.verified
        assert plan.robustness.proved
        assert plan.robustness.cheapest_cost == pytest.approx(least)
        assert plan.optimal == (plan.cost <= least + 1e-9)
        assert plan.replay(problem, box).ok


@settings(max_examples=25)
@given(st.data())
def test_guided_plans_are_verified_and_bounded(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    model = data.draw(worlds.black_boxes(problem))
    box = BlackBox(model)
    estimator = HashedChance(data.draw(st.integers(0, 99)), 10)
    people = problem.read(table)
    perfect = lambda states: np.where(  # noqa: E731
        box.session(problem, people)(states, np.zeros(len(states), int)), 9.0, -9.0
    )
    planner = with_survival(GuidedPlanner(problem, box, perfect), estimator)
    goal = data.draw(st.sampled_from([{"survival": "balanced"}, {"survival": 0.5}, {"survival_at_least": 0.8}]))
    plans = planner.plan(table, **goal)
    exact = with_survival(ExactPlanner(problem, box), estimator).plan(table, **goal)
    for plan, best in zip(plans, exact, strict=True):
        assert plan.replay(problem, box).ok
        if best.status is not Status.FOUND:
            continue
        assert plan.status is Status.FOUND
        assert plan.lower_bound <= best.lower_bound + 1e-9
        if "survival" in goal:
            weight = {"balanced": 4.0}.get(goal["survival"], goal["survival"])
            values = [
                one.cost / max(best.robustness.cheapest_cost, 1e-9) + weight * (1 - one.survival)
                for one in (plan, best)
            ]
            assert values[0] <= values[1] * 1.05 + 1e-6
        elif best.robustness.met:
            assert plan.robustness.met
            assert plan.cost <= best.cost * 1.05 + 1e-6
