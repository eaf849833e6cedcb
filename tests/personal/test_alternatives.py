"""Alternatives: chosen as the definition says, verified, and the same plan first."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import loans
import worlds
from counterplan import (
    BlackBox,
    CardPlanner,
    CascadePlanner,
    ExactPlanner,
    GuidedPlanner,
    Plan,
    Planner,
    Plans,
    Problem,
    Recourse,
    SearchPlanner,
    SettingError,
    benchmarks,
)
from counterplan.agent import Agent, NetworkConfig
from counterplan.personal.alternatives import Alternatives
from counterplan.planners.alternatives import INCOMPLETE
from counterplan.problem import People
from counterplan.scorecard import CardFeature, Scorecard
from counterplan.search.orders import NO_ACTION, costs_by_function, rollout
from counterplan.search.schedule import schedule
from counterplan.surrogate.acquisition import GuideSettings
from planners.brute_force import every_plan, front_of, indices


def candidates_of(
    problem: Problem, people: People, row: int, box: BlackBox, weights: np.ndarray, timed: bool
) -> list[list[list[int]]]:
    """Favourable plans, over all legal sequences: the cheapest to a state with a set of functions, and faster ones.

    Plans of equal cost and duration to one state with the same functions are in one list.
    """
    groups: dict[tuple[bytes, frozenset[str]], list[tuple[float, float, list[int]]]] = {}
    for cost, duration, actions in every_plan(problem, people, row, box, weights):
        if actions:
            end = rollout(problem.transitions, people.states[[row]], np.array([actions]))[0] + 0.0
            key = (end.tobytes(), frozenset(problem.transitions.actions[action].function for action in actions))
            groups.setdefault(key, []).append((cost, duration if timed else 0.0, actions))
    return [
        [actions for cost, duration, actions in plans if (cost, duration) == point]
        for plans in groups.values()
        for point in front_of(plans)
    ]


def by_function(
    problem: Problem, state: np.ndarray, plans: list[list[int]], weights: np.ndarray, time_cost: float
) -> np.ndarray:
    """Costs [n, G + 1] of plans by function, and that of their time."""
    actions = np.full((len(plans), problem.max_actions), NO_ACTION, np.intp)
    for row, plan in enumerate(plans):
        actions[row, : len(plan)] = plan
    tiled = np.repeat(weights[None], len(plans), axis=0)
    starts = np.repeat(state[None], len(plans), axis=0)
    costs = costs_by_function(problem.transitions, starts, actions, tiled)
    return np.column_stack([costs, time_cost * schedule(problem.transitions, starts, actions).makespan])


def check_choice(
    problem: Problem,
    people: People,
    row: int,
    plan: Plan,
    chosen: Alternatives,
    box: BlackBox,
    weights: np.ndarray,
) -> None:
    """Each alternative gains as much as the best candidate, and none is missing."""
    timed = bool(problem.time_unit) and chosen.time_value > 0
    ties = candidates_of(problem, people, row, box, weights, timed)
    candidates = [plan for plans in ties for plan in plans]
    tie = np.repeat(np.arange(len(ties)), [len(plans) for plans in ties])
    time_cost = chosen.time_value * plan.cost / plan.duration if plan.duration else 0.0
    costs = by_function(problem, people.states[row], candidates, weights, time_cost)
    draws = chosen.weights(len(problem.transitions.functions))
    own = by_function(problem, people.states[row], [indices(problem, plan)], weights, time_cost)[0]
    least, first = draws @ own, own[:-1].sum()
    used = [{step.function for step in plan.steps}]
    functions = [{problem.transitions.actions[action].function for action in actions} for actions in candidates]
    for number in range(chosen.count):
        gain = np.maximum(least - costs @ draws.T, 0).mean(axis=1)
        within = (costs[:, :-1].sum(axis=1) <= chosen.max_ratio * first + 1e-6) & np.array(
            [one not in used for one in functions]
        )
        gain[~within] = 0.0
        surely = np.full(len(ties), np.inf)
        np.minimum.at(surely, tie, gain)
        best = float(surely.max(initial=0.0))
        if number == len(plan.alternatives):
            assert number == chosen.count - 1 or best < chosen.min_gain * first + 1e-6
            return
        other = plan.alternatives[number]
        own = by_function(problem, people.states[row], [indices(problem, other)], weights, time_cost)[0]
        own_gain = np.maximum(least - draws @ own, 0).mean()
        assert best - 1e-5 <= own_gain <= gain.max(initial=0.0) + 1e-5
        assert own_gain >= chosen.min_gain * first - 1e-6
        least = np.minimum(least, draws @ own)
        used.append({step.function for step in other.steps})
    raise AssertionError("more alternatives than demanded")


def check_facts(problem: Problem, plans: Plans, box: BlackBox, max_ratio: float = 2.5) -> None:
    """Alternatives hold, differ in their functions, and are within the largest cost."""
    for plan in plans:
        every = [plan, *plan.alternatives]
        assert not plan.alternatives or plan.steps
        assert len({frozenset(step.function for step in one.steps) for one in every}) == len(every)
        for other in plan.alternatives:
            assert other.verified
            assert other.queries == plan.queries, "the queries about the person"
            assert other.replay(problem, box).ok
            assert plan.cost <= other.cost + 1e-6 <= max_ratio * plan.cost + 2e-6


@settings(max_examples=15)
@given(st.data())
def test_exact_chooses_as_the_definition_says(data: st.DataObject) -> None:
    problem = data.draw(st.one_of(worlds.problems(), worlds.timed_problems()))
    table = data.draw(worlds.people(problem))
    box = BlackBox(data.draw(worlds.black_boxes(problem)))
    several = Alternatives(count=data.draw(st.integers(2, 4)), max_ratio=data.draw(st.sampled_from([1.5, 2.5, 10])))
    functions = [function.name for function in problem.transitions.functions]
    weights = {name: data.draw(st.sampled_from([0.2, 1.0, 1.0, 3.0])) for name in functions}
    plain = ExactPlanner(problem, box).plan(table, weights=weights)
    plans = ExactPlanner(problem, box).plan(table, weights=weights, alternatives=several)
    assert [plan.actions for plan in plans] == [plan.actions for plan in plain]
    check_facts(problem, plans, box, several.max_ratio)
    people = problem.read(table)
    for row, plan in enumerate(plans):
        if plan.steps:
            own = np.array([weights.get(action.function, 1.0) for action in problem.transitions.actions])
            check_choice(problem, people, row, plan, several, box, own)


def confused(states: np.ndarray) -> np.ndarray:
    """A surrogate that knows nothing."""
    return np.array([zlib.crc32(state.tobytes()) % 1000 / 100 - 5 for state in states + 0.0])


@settings(max_examples=10)
@given(st.data())
def test_guided_alternatives_hold_however_wrong_the_surrogate(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    box = BlackBox(data.draw(worlds.black_boxes(problem)))
    few = GuideSettings(max_expansions=data.draw(st.integers(1, 300)))
    for planner in (GuidedPlanner(problem, box, confused), GuidedPlanner(problem, box, confused, settings=few)):
        plans = planner.plan(table, alternatives=3)
        assert [plan.actions for plan in plans] == [plan.actions for plan in planner.plan(table)]
        check_facts(problem, plans, box)


def test_with_a_good_surrogate_the_ways_of_exact_search_are_found() -> None:
    syn = benchmarks.load("syn")
    people, box = syn.refused_test.head(30), BlackBox(syn.model)
    session = box.session(syn.problem, syn.problem.read(people))

    def informed(states: np.ndarray) -> np.ndarray:
        return np.where(session(states, np.zeros(len(states), np.intp)), 4.0, -4.0)

    exact = ExactPlanner(syn.problem, box).plan(people, alternatives=3)
    guided = GuidedPlanner(syn.problem, box, informed).plan(people, alternatives=3)
    assert sum(len(plan.alternatives) for plan in exact) > 10
    assert [len(plan.alternatives) for plan in guided] == [len(plan.alternatives) for plan in exact]


def both_ways() -> tuple[Problem, pd.DataFrame, BlackBox]:
    """A loan that more income, or less debt, or a little of both, decides."""
    problem = loans.two_ways()
    people = pd.DataFrame({"income": [40.0, 30.0], "debt": [20.0, 30.0]}, index=["ann", "bob"])
    return problem, people, BlackBox(lambda table: ["yes" if i - d >= 30 else "no" for i, d in table.to_numpy()])


def loan(functions: dict[str, Any], **other: Any) -> Problem:
    """A problem with two features, a and b, from 0 to 2, and some functions."""
    feature = {"kind": "number", "minimum": 0, "maximum": 2}
    return Problem.from_dict(
        {
            "counterplan": 1,
            "name": "two",
            "outcome": {"column": "y", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": 3,
            "features": {"a": feature, "b": feature},
            "functions": functions,
            **other,
        }
    )


def test_another_function_to_the_same_state_is_an_alternative_without_a_query() -> None:
    problem = loan(
        {
            "TRAIN": {"set": "a", "arguments": [1], "cost": 5},
            "BUY": {"set": "a", "arguments": [1], "cost": 6},
            "OTHER": {"set": "b", "arguments": [1], "cost": 11},
        }
    )
    people = pd.DataFrame({"a": [0.0], "b": [0.0]})
    box = BlackBox(lambda table: np.where(table["a"] + table["b"] > 0, "yes", "no"))
    plan = ExactPlanner(problem, box).plan(people, alternatives=2)[0]
    assert [one.actions for one in (plan, *plan.alternatives)] == [["TRAIN=1"], ["BUY=1"]]
    assert plan.queries == ExactPlanner(problem, box).plan(people)[0].queries


def test_a_faster_plan_to_the_same_state_is_an_alternative() -> None:
    problem = loan(
        {
            "TRAIN": {"set": "a", "arguments": [1], "cost": 5, "duration": 24},
            "HURRY": {"set": "a", "arguments": [1], "cost": 9, "duration": 1},
            "OTHER": {"set": "b", "arguments": [1], "cost": 9, "duration": 24},
        },
        time_unit="months",
    )
    people = pd.DataFrame({"a": [0.0], "b": [0.0]})
    box = BlackBox(lambda table: np.where(table["a"] + table["b"] > 0, "yes", "no"))
    plan = ExactPlanner(problem, box).plan(people, alternatives=Alternatives(2, time_value=1.0))[0]
    assert [one.actions for one in (plan, *plan.alternatives)] == [["TRAIN=1"], ["HURRY=1"]]


def test_alternatives_of_each_planner_budget_and_process() -> None:
    problem, people, box = both_ways()
    plans = ExactPlanner(problem, box).plan(people, alternatives=3)
    assert [plan.actions for plan in (plans[0], *plans[0].alternatives)] == [["SAVE=-10"], ["EARN=10"]]
    spent = ExactPlanner(problem, BlackBox(box.model)).plan(people, alternatives=3, budget=int(plans[0].queries) - 1)
    assert len(spent[0].alternatives) <= len(plans[0].alternatives)
    automatic = Recourse(problem, box).recommend(people, alternatives=3)
    assert [[one.actions for one in plan.alternatives] for plan in automatic] == (
        [[one.actions for one in plan.alternatives] for plan in plans]
    )
    one = ExactPlanner(problem, box).plan(people, alternatives=1)
    assert one == ExactPlanner(problem, box).plan(people)
    assert one[0].related == {}
    many = pd.concat([people] * 40, ignore_index=True)
    assert ExactPlanner(problem, box).plan(many, alternatives=2, jobs=2).to_json() == (
        ExactPlanner(problem, box).plan(many, alternatives=2).to_json()
    )


@pytest.mark.parametrize("weights", [None, {"EARN": 2}])
def test_plans_with_alternatives_survive_files(weights: dict[str, float] | None, tmp_path: Path) -> None:
    problem, people, box = both_ways()
    plans = ExactPlanner(problem, box).plan(people, weights=weights, alternatives=3)
    assert Plans.from_json(plans.to_json()).plans == plans.plans
    plans.save(tmp_path / "plans.parquet")
    assert Plans.load(tmp_path / "plans.parquet").plans == plans.plans
    frame = plans.to_frame()
    assert set(frame["related"]) == {"", "alternatives"}
    assert ("unweighted_cost" in frame) == (weights is not None)
    if weights is not None:
        totals = frame.drop_duplicates(["person", "related", "related_number"])["unweighted_cost"].tolist()
        assert totals == [one.unweighted_cost for plan in plans for one in (plan, *plan.alternatives)]


def test_a_card_has_alternatives_with_and_without_queries() -> None:
    problem, people, box = both_ways()
    features = (CardFeature(0, (50.0, 60.0), (0, 10, 20)), CardFeature(1, (10.0, 20.0), (20, 10, 0)))
    card = Scorecard(problem, features, needed=20, slope=0.6, shift=-10.0)
    unverified = CardPlanner(problem, None, card, queries=0).plan(people.head(1), refused=True, alternatives=3)[0]
    assert unverified.alternatives
    assert not any(plan.verified for plan in unverified.alternatives)
    ends = [plan.steps[-1].after for plan in (unverified, *unverified.alternatives)]
    assert (card.points(problem.read(pd.DataFrame(ends)).states) >= card.needed).all()
    verified = CardPlanner(problem, box, card).plan(people, alternatives=3)
    check_facts(problem, verified, box)
    cascade = CascadePlanner(problem, box, [CardPlanner(problem, box, card, queries=1), ExactPlanner(problem, box)])
    check_facts(problem, cascade.plan(people, alternatives=3), box)
    assert any(plan.alternatives for plan in verified)


def test_invalid_alternatives_are_refused() -> None:
    problem, people, box = both_ways()
    planner: Planner = ExactPlanner(problem, box)
    for wrong in (0, -1, 21, 2.5, "three", True):
        with pytest.raises(SettingError, match="'alternatives' must be an integer from 1 to 20"):
            planner.plan(people, alternatives=wrong)  # type: ignore[arg-type]
    for options in (
        {"max_ratio": 0.5},
        {"min_gain": -1},
        {"spread": np.nan},
        {"draws": [[0.0]]},
        {"draws": [1.0]},
        {"draws": "x"},
        {"spread": 1e5},
        {"max_ratio": 10**400},
    ):
        with pytest.raises(SettingError, match="of alternatives must be") as caught:
            Alternatives(**options)
        assert len(str(caught.value)) < 150
    with pytest.raises(SettingError, match="have weights of 3 functions, and the problem has 2"):
        planner.plan(people, alternatives=Alternatives(draws=np.ones((5, 3))))
    with pytest.raises(SettingError, match="leave out either 'alternatives' or 'survival'"):
        planner.plan(people, alternatives=3, survival="high")
    agent = Agent.new(problem, problem.read(people), NetworkConfig(8, 8), np.random.default_rng(0))
    with pytest.raises(SettingError, match="planner 'search' finds one plan for each person"):
        SearchPlanner(problem, box, agent).plan(people, alternatives=3)


@settings(max_examples=30, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.data())
def test_exact_search_queries_no_state_of_a_person_twice(data: st.DataObject) -> None:
    problem = data.draw(worlds.timed_problems())
    people = problem.read(data.draw(worlds.people(problem, most=1)))
    box = BlackBox(data.draw(worlds.black_boxes(problem)))
    plan = ExactPlanner(problem, box).plan(people, alternatives=3)[0]
    assert (plan.queries, box.cached) == (box.queries, 0)


def test_a_search_that_a_limit_ended_says_so() -> None:
    """A caution where candidates were left, and none where all were refuted."""
    german = benchmarks.load("german")
    person = german.refused_test.iloc[[14]]
    planner = ExactPlanner(german.problem, BlackBox(german.model))
    complete = planner.plan(person, alternatives=3)[0]
    assert len(complete.alternatives) == 2
    assert not complete.caution
    enough = planner.plan(person, alternatives=3, budget=complete.queries)[0]
    assert enough.alternatives == complete.alternatives
    assert not enough.caution
    for budget, found in ((45, 0), (80, 1)):
        plan = planner.plan(person, alternatives=3, budget=budget)[0]
        assert len(plan.alternatives) == found
        assert plan.caution == INCOMPLETE
        assert INCOMPLETE in " ".join(str(plan).split())
    assert not planner.plan(person, budget=45)[0].caution
