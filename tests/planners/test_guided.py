"""The guided planner against the exact one, with good, bad and malicious surrogates."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, ExactPlanner, SettingError, Status, benchmarks
from counterplan.planners.guided import GuidedPlanner
from counterplan.problem import Problem
from counterplan.search.change_sets import Hints
from counterplan.surrogate.acquisition import GuideSettings, Logit
from counterplan.surrogate.active_learning import ActiveLearner, LearningSettings
from counterplan.surrogate.surrogate import Surrogate
from quick import FIT, SCORE_FIT

EXHAUSTIVE = GuideSettings(min_gain=0.0, min_chance=0.0, max_queries=None, max_expansions=None)


def random_logit(states: np.ndarray) -> np.ndarray:
    """Arbitrary, but the same for the same state."""
    return np.array([zlib.crc32(state.tobytes()) % 1000 / 100 - 5 for state in states + 0.0])


LIARS = {
    "random": random_logit,
    "constant": lambda states: np.zeros(len(states)),
    "sure of nothing": lambda states: np.full(len(states), -1e9),
    "sure of everything": lambda states: np.full(len(states), np.inf),
    "silent": lambda states: np.full(len(states), np.nan),
}


def liar_of(kind: str, problem: Problem, people: pd.DataFrame, model: object) -> Logit:
    """A surrogate that errs as told; the inverted one knows every answer and says the opposite."""
    if kind != "inverted":
        return LIARS[kind]
    ask = BlackBox(model).session(problem, problem.read(people))
    return lambda states: np.where(ask(states, np.zeros(len(states), np.intp)), -5.0, 5.0)


@settings(max_examples=10)
@given(st.data())
def test_without_limits_it_is_exact_whatever_the_surrogate_says(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    people = data.draw(worlds.people(problem))
    model = data.draw(worlds.black_boxes(problem))
    exact = ExactPlanner(problem, BlackBox(model)).plan(people)
    for kind in (*LIARS, "inverted"):
        liar = liar_of(kind, problem, people, model)
        guided = GuidedPlanner(problem, BlackBox(model), liar, settings=EXHAUSTIVE).plan(people)
        for best, plan in zip(exact, guided, strict=True):
            assert plan.status == best.status, kind
            assert plan.cost == pytest.approx(best.cost, nan_ok=True), kind
            assert plan.optimal == best.optimal, kind
            assert plan.replay(problem, BlackBox(model)).ok, kind


@settings(max_examples=10)
@given(st.data())
def test_bounds_are_true_and_budgets_kept(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    people = data.draw(worlds.people(problem))
    model = data.draw(worlds.black_boxes(problem))
    budget = data.draw(st.integers(1, 6))
    chosen = GuideSettings(
        min_gain=data.draw(st.sampled_from([None, 0.0, 1.0])), max_expansions=data.draw(st.integers(1, 300))
    )
    exact = ExactPlanner(problem, BlackBox(model)).plan(people)
    for kind in (*LIARS, "inverted"):
        liar = liar_of(kind, problem, people, model)
        guided = GuidedPlanner(problem, BlackBox(model), liar, settings=chosen).plan(people, budget=budget)
        for best, plan in zip(exact, guided, strict=True):
            assert plan.queries <= budget, kind
            assert plan.replay(problem, BlackBox(model)).ok or not plan.verified, kind
            assert not plan.optimal or plan.verified, kind
            if best.status is Status.FOUND:
                assert plan.status in (Status.FOUND, Status.NOT_FOUND), kind
                assert plan.lower_bound is not None, kind
                assert plan.lower_bound <= best.cost + 1e-6, kind
            if plan.verified:
                assert plan.cost >= best.cost - 1e-6, kind
            if plan.status is Status.INFEASIBLE:
                assert best.status is Status.INFEASIBLE, kind


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"max_queries": -1}, "'max_queries' must be an integer, 0 or more"),
        ({"max_queries": 2.5}, "'max_queries'"),
        ({"min_gain": -1}, "'min_gain' must be a number, zero or more"),
        ({"min_gain": float("nan")}, "'min_gain'"),
        ({"min_relative_gain": None}, "'min_relative_gain'"),
        ({"confidence": 2}, "'confidence' must be a probability"),
        ({"confidence": 0}, "'confidence'"),
        ({"max_expansions": 0}, "'max_expansions'"),
        ({"batch_size": None}, "'batch_size' must be an integer, 1 or more; not None"),
    ],
)
def test_refuses_senseless_settings(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        GuideSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("logit", "said"),
    [
        (lambda states: np.zeros(len(states) + 1), "one number for each state; for .* it returned an array of shape"),
        (lambda states: np.zeros((len(states), 2)), "of shape"),
        (lambda states: 0.0, "of shape"),
        (lambda states: None, "of shape|one number for each state"),
        (lambda states: "likely", "one number for each state, not str"),
    ],
)
def test_a_surrogate_gives_one_number_for_each_state(logit: Logit, said: str) -> None:
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "one",
            "outcome": {"column": "y", "values": [0, 1], "favourable": 1},
            "max_actions": 2,
            "features": {"x": {"kind": "number", "integer": True, "bins": []}},
            "functions": {"ADD": {"add": "x", "arguments": [1], "cost": 1}},
        }
    )
    box = BlackBox(lambda frame: (frame["x"] > 1).astype(int))
    with pytest.raises(SettingError, match=said):
        GuidedPlanner(problem, box, logit).plan(pd.DataFrame({"x": [0, 0]}))


GERMAN = benchmarks.load("german")


@pytest.fixture(scope="module")
def surrogate() -> Surrogate:
    """A surrogate of german's model, fitted for german's actions and costs."""
    settings = LearningSettings(people=120, plans=120, rounds=2, validation=12, fit=FIT, score_fit=SCORE_FIT)
    people = GERMAN.problem.read(GERMAN.train)
    return ActiveLearner(GERMAN.problem, people, BlackBox(GERMAN.model), settings, 0).run()


def changed(**changes: Any) -> Problem:
    return Problem.from_dict(GERMAN.problem.to_dict() | changes)


def functions_of(problem: Problem) -> dict[str, Any]:
    functions: dict[str, Any] = problem.to_dict()["functions"]
    return functions


def test_a_surrogate_serves_other_costs_limits_and_actions(surrogate: Surrogate) -> None:
    functions = functions_of(GERMAN.problem)
    first, *others = functions
    dear = {name: spec | {"cost": 7.5 if name == first else 2.0} for name, spec in functions.items()}
    problems = {
        "costs": changed(functions=dear),
        "limit": changed(max_actions=GERMAN.problem.max_actions - 2),
        "fewer": changed(functions={name: functions[name] for name in others}),
        "more": changed(functions=functions | {"ANOTHER": functions[first] | {"cost": 0.5}}),
    }
    people = GERMAN.refused_test.head(20)
    for change, problem in problems.items():
        assert problem.fingerprint != surrogate.problem.fingerprint
        box = BlackBox(GERMAN.model)
        planner = GuidedPlanner(problem, box, surrogate)
        assert planner._hints() is not None
        plans = planner.plan(people)
        exact = ExactPlanner(problem, BlackBox(GERMAN.model)).plan(people)
        assert plans.counts["found"] > 0.9 * exact.counts["found"], change
        assert all(plan.replay(problem, box).ok for plan in plans)
        assert all(len(plan.steps) <= problem.max_actions for plan in plans)
        pairs = [(plan.cost, best.cost) for plan, best in zip(plans, exact, strict=True) if plan.steps]
        assert np.median([cost / best for cost, best in pairs]) < 1.1, change


def test_plans_of_others_are_hints_only_for_the_same_actions(surrogate: Surrogate) -> None:
    hints = Hints(np.zeros((2, len(GERMAN.problem.features))), np.array([[0, 1, -1]]))
    surrogate = replace(surrogate, hints=hints)
    functions = functions_of(GERMAN.problem)
    same = changed(functions={name: spec | {"cost": 3.0} for name, spec in functions.items()})
    other = changed(functions=dict(list(functions.items())[1:]))
    for problem, examples in ((same, [[0, 1]]), (other, [])):
        bound = GuidedPlanner(problem, GERMAN.model, surrogate).surrogate
        assert isinstance(bound, Surrogate)
        assert bound.problem is problem, "with_problem binds it"
        assert bound.hints is not None
        assert bound.hints.anchors is hints.anchors
        assert bound.hints.examples.shape[1] == problem.max_actions
        assert [[action for action in plan if action >= 0] for plan in bound.hints.examples.tolist()] == examples
    syn = benchmarks.load("syn")
    with pytest.raises(SettingError, match="fitted for another problem"):
        GuidedPlanner(syn.problem, syn.model, surrogate)
