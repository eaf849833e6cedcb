"""Plans with a person's own cost weights: against brute force, and consistent with plans without weights."""

from __future__ import annotations

import zlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import (
    BlackBox,
    EvolutionPlanner,
    EvolutionSettings,
    ExactPlanner,
    GuidedPlanner,
    Planner,
    Plans,
    Problem,
    SearchPlanner,
    SettingError,
    Status,
    benchmarks,
)
from counterplan.agent import Agent, NetworkConfig
from counterplan.planners import PlanningTask
from counterplan.search.change_sets import propose
from counterplan.search.orders import cheapest_orders, rollout
from counterplan.surrogate.acquisition import GuideSettings
from planners.brute_force import brute_force, indices

WEIGHTS = [0.01, 0.25, 0.5, 1.0, 1.0, 1.5, 3.0, 40.0, 100.0]
"""From the smallest to the largest that is accepted."""


@st.composite
def weights(draw: st.DrawFn, problem: Problem, people: pd.DataFrame) -> np.ndarray:
    """Random cost weights [B, A]."""
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    return random.choice(WEIGHTS, (len(people), len(problem.transitions)))


def check_costs(problem: Problem, people: pd.DataFrame, plans: Plans, weights: np.ndarray) -> None:
    """Every step costs what the problem says times its weight, and every plan the sum."""
    states = problem.read(people).states
    for row, plan in enumerate(plans):
        state, total = states[[row]], 0.0
        for step, action in zip(plan.steps, indices(problem, plan), strict=True):
            assert step.weight == weights[row, action]
            cost = round(float(problem.transitions.cost(state)[0, action] * weights[row, action]), 9)
            assert step.cost == pytest.approx(cost, abs=1e-8)
            state, total = problem.transitions.apply(state, np.array([action])), total + cost
        without_plan = plan.status in (Status.INFEASIBLE, Status.NOT_FOUND)
        assert plan.cost == pytest.approx(np.nan if without_plan else total, abs=1e-6, nan_ok=True)


@settings(max_examples=12)
@given(st.data())
def test_exact_agrees_with_brute_force(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    box = BlackBox(data.draw(worlds.black_boxes(problem)))
    factors = data.draw(weights(problem, table))
    plans = ExactPlanner(problem, box, batch_size=data.draw(st.integers(1, 4))).plan(table, weights=factors)
    check_costs(problem, table, plans, factors)
    people = problem.read(table)
    for row, plan in enumerate(plans):
        best = brute_force(problem, people, row, box, factors[row])
        if best is None:
            assert plan.status is Status.INFEASIBLE
            assert plan.lower_bound is None
            continue
        cost, steps, actions = best
        assert plan.status is (Status.FOUND if steps else Status.ALREADY_FAVOURABLE)
        assert plan.cost == pytest.approx(cost, abs=1e-5)
        assert plan.lower_bound == pytest.approx(cost, abs=1e-5)
        assert indices(problem, plan) == actions, "ties go to fewer steps, then to file order"
        assert plan.optimal
        assert plan.verified
        assert plan.replay(problem, box).ok


def confused(states: np.ndarray) -> np.ndarray:
    """A surrogate that knows nothing."""
    return np.array([zlib.crc32(state.tobytes()) % 1000 / 100 - 5 for state in states + 0.0])


def untrained(problem: Problem) -> Agent:
    people = problem.read(worlds.random_people(problem, 1, 50))
    return Agent.new(problem, people, NetworkConfig(8, 8), np.random.default_rng(0))


@settings(max_examples=12)
@given(st.data())
def test_the_other_planners_are_consistent_with_exact_search(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    model = data.draw(worlds.black_boxes(problem))
    factors = data.draw(weights(problem, table))
    box = BlackBox(model)
    exact = ExactPlanner(problem, box).plan(table, weights=factors)
    few = GuideSettings(max_expansions=data.draw(st.integers(1, 300)))
    everything = GuideSettings(min_gain=0.0, min_chance=0.0, max_queries=None, max_expansions=None)
    planners: list[Planner] = [
        GuidedPlanner(problem, box, confused),
        GuidedPlanner(problem, box, confused, settings=few),
        GuidedPlanner(problem, box, confused, settings=everything),
        SearchPlanner(problem, box, untrained(problem)),
        SearchPlanner(problem, box, untrained(problem), settings="paper"),
        EvolutionPlanner(problem, box, settings=EvolutionSettings(generations=4, population=20)),
    ]
    for planner in planners:
        plans = planner.plan(table, weights=factors)
        check_costs(problem, table, plans, factors)
        for best, plan in zip(exact, plans, strict=True):
            assert plan.replay(problem, box).ok
            if plan.status is Status.INFEASIBLE:
                assert best.status is Status.INFEASIBLE
            if best.status is Status.FOUND:
                assert plan.lower_bound is not None
                assert plan.lower_bound <= best.cost + 1e-6
            if plan.status is Status.FOUND:
                assert plan.cost >= best.cost - 1e-6
                assert not plan.optimal or plan.cost == pytest.approx(best.cost, abs=1e-6)
            if isinstance(planner, GuidedPlanner) and planner.settings is everything:
                assert (plan.status, plan.optimal) == (best.status, best.optimal)
                assert plan.cost == pytest.approx(best.cost, abs=1e-6, nan_ok=True)


@settings(max_examples=12)
@given(st.data())
def test_weights_of_1_are_no_weights_and_a_common_factor_scales_costs(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    box = BlackBox(data.draw(worlds.black_boxes(problem)))
    ones = np.ones((len(table), len(problem.transitions)))
    planner = ExactPlanner(problem, box)
    plain = planner.plan(table)
    assert planner.plan(table, weights=ones).to_json() == planner.plan(table).to_json()
    factor = data.draw(st.sampled_from([0.125, 0.5, 2.0, 64.0]))
    for before, after in zip(plain, planner.plan(table, weights=factor * ones), strict=True):
        assert (before.status, before.actions, before.optimal) == (after.status, after.actions, after.optimal)
        assert after.cost == pytest.approx(factor * before.cost, abs=1e-6, nan_ok=True)


@settings(max_examples=20)
@given(st.data())
def test_rollouts_and_change_sets_have_weighted_costs(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    factors, states = data.draw(weights(problem, table)), problem.read(table).states
    allowed = np.ones(factors.shape, bool)
    found = propose(problem, states, allowed, confused, cost_weights=factors)
    ends, cost, legal = rollout(problem.transitions, states[found.person], found.actions, factors[found.person])
    assert legal.all()
    np.testing.assert_array_equal(ends, found.states)
    assert cost == pytest.approx(found.cost)
    ordered = cheapest_orders(problem.transitions, states[found.person], found.actions, factors[found.person])
    same, less, legal = rollout(problem.transitions, states[found.person], ordered, factors[found.person])
    assert legal.all()
    np.testing.assert_array_equal(same, ends)
    assert (less <= cost + 1e-6).all()


def test_plans_avoid_what_is_expensive_for_a_person() -> None:
    syn = benchmarks.load("syn")
    people, transitions = syn.refused_test.head(30), syn.problem.transitions
    box = BlackBox(syn.model)
    plain = ExactPlanner(syn.problem, box).plan(people)
    factors = np.ones((len(people), len(transitions)))
    for row, plan in enumerate(plain):
        factors[row, indices(syn.problem, plan)] = 50.0
    agent = untrained(syn.problem)
    for planner in (ExactPlanner(syn.problem, box), SearchPlanner(syn.problem, box, agent)):
        weighted = planner.plan(people, weights=factors)
        again = planner.plan(people)
        solved = [row for row, pair in enumerate(zip(weighted, again, strict=True)) if all(plan.steps for plan in pair)]
        assert len(solved) > 5
        heavy = [
            sum(factors[row, action] for row in solved for action in indices(syn.problem, plans[row]))
            for plans in (weighted, again)
        ]
        assert heavy[0] < heavy[1]


def test_invalid_weights_are_refused() -> None:
    syn = benchmarks.load("syn")
    planner = ExactPlanner(syn.problem, BlackBox(syn.model))
    people = syn.refused_test.head(3)
    ones = np.ones((3, len(syn.problem.transitions)))
    for wrong in (ones[:, 1:], ones[:2], ones[0], 2.0):
        with pytest.raises(SettingError, match=r"'weights' as an array must have shape \(3, "):
            planner.plan(people, weights=wrong)
    with pytest.raises(SettingError, match="or an array of numbers"):
        planner.plan(people, weights=[["heavy"]])
    for number in (0.0, -1.0, np.nan, np.inf, 1e-300, 0.009, 101.0, 1e300):
        some = ones.copy()
        some[1, 2] = number
        action = syn.problem.transitions.actions[2]
        with pytest.raises(SettingError, match=f"numbers from 0.01 to 100; got .* for person .* and action {action}"):
            planner.plan(people, weights=some)
    assert planner.box.queries <= 3, "only whether they are refused"


@pytest.mark.parametrize(
    ("costs", "factors", "message"),
    [
        ((1e307, 1.0), (100.0, 1.0), "'weights' are too large: the cost of a plan would not be finite"),
        ((1e15, 1e-3), (100.0, 0.01), "weighted costs reach from .* too far apart to be added up exactly"),
    ],
)
def test_extreme_costs_times_extreme_weights_are_refused(
    costs: tuple[float, float], factors: tuple[float, float], message: str
) -> None:
    functions = {
        name: {"add": "income", "arguments": [amount], "cost": cost}
        for name, amount, cost in zip(("EARN", "SAVE"), (1000, 500), costs, strict=True)
    }
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "extreme",
            "outcome": {"column": "decision", "values": ["yes", "no"], "favourable": "yes"},
            "max_actions": 2,
            "features": {"income": {"kind": "number", "bins": "auto"}},
            "functions": functions,
        }
    )
    people = pd.DataFrame({"income": [0.0]})
    planner = ExactPlanner(problem, lambda people: ["yes" if income >= 1500 else "no" for income in people["income"]])
    with pytest.raises(SettingError, match=message):
        planner.plan(people, weights=[[*factors, 1.0]])


def test_a_task_without_weights_needs_no_memory_for_them() -> None:
    syn = benchmarks.load("syn")
    people = syn.problem.read(syn.refused_test.head(10))
    allowed = np.ones((10, len(syn.problem.transitions)), bool)
    task = PlanningTask(people, allowed)
    for part in (task, task.take(np.arange(3))):
        assert part.cost_weights.shape == part.allowed.shape
        assert part.cost_weights.strides == (0, 0)
        assert part.weights is None
    weighted = PlanningTask(people, allowed, 2 * np.ones(allowed.shape)).take(np.array([4, 5]))
    assert weighted.weights is not None
    assert weighted.weights.tolist() == (2 * np.ones((2, allowed.shape[1]))).tolist()


def test_a_task_made_by_hand_is_validated() -> None:
    syn = benchmarks.load("syn")
    people = syn.problem.read(syn.refused_test.head(3))
    allowed = np.ones((3, len(syn.problem.transitions)), bool)
    for wrong in (allowed[:2], allowed[0], allowed.astype(int)):
        with pytest.raises(SettingError, match=r"'allowed' must be a bool array of shape \(3, A\)"):
            PlanningTask(people, wrong)
    with pytest.raises(SettingError, match="'cost_weights' must be an array of shape"):
        PlanningTask(people, allowed, np.ones((3, 2)))
    for number in (0.0, np.nan, 1e-300, 1e300):
        with pytest.raises(SettingError, match=r"'cost_weights' must be numbers from 0\.01 to 100"):
            PlanningTask(people, allowed, np.full(allowed.shape, number))
    with pytest.raises(SettingError, match="'budget' must be an integer"):
        PlanningTask(people, allowed, budget=-1)


def test_a_table_of_weights_is_aligned_by_names() -> None:
    syn = benchmarks.load("syn")
    people, transitions = syn.refused_test.head(4), syn.problem.transitions
    planner = ExactPlanner(syn.problem, BlackBox(syn.model))
    function, action = transitions.actions[0].function, str(transitions.actions[1])
    weights = np.ones((4, len(transitions)))
    weights[:, [one.function == function for one in transitions.actions]] = [[2], [3], [4], [5]]
    weights[:, 1] = [6, 7, 8, 9]
    table = pd.DataFrame({action: [6, 7, 8, 9], function: [2, 3, 4, 5]}, index=people.index)
    expected = planner.plan(people, weights=weights)
    assert planner.plan(people, weights=table.iloc[::-1]).plans == expected.plans
    with pytest.raises(SettingError, match="'NOTHING' is neither a function nor an action"):
        planner.plan(people, weights=table.rename(columns={action: "NOTHING"}))
    with pytest.raises(SettingError, match="one row for each person"):
        planner.plan(people, weights=table.set_axis([f"x{i}" for i in range(4)]))
