"""What every planner must keep to, run over all of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grades
import worlds
from counterplan import (
    AutoPlanner,
    BlackBox,
    CardPlanner,
    CascadePlanner,
    EvolutionPlanner,
    EvolutionSettings,
    ExactPlanner,
    GuidedPlanner,
    PeopleError,
    Plan,
    Planner,
    Plans,
    PolicyPlanner,
    Problem,
    SearchPlanner,
    SettingError,
    Status,
    benchmarks,
)
from counterplan.agent import Agent, NetworkConfig, SearchSettings
from counterplan.agent.training import AgentTrainer
from counterplan.benchmarks import Benchmark
from counterplan.distillation.distiller import ProgramDistiller
from counterplan.distillation.options import DistillOptions
from counterplan.distillation.scorecard_distiller import ScorecardDistiller, ScorecardOptions
from counterplan.planners.program import ProgramPlanner
from counterplan.planners.targets import TargetPlanner
from counterplan.program import Choice, Leaf, Program
from counterplan.scorecard import Scorecard
from counterplan.surrogate.acquisition import Logit
from counterplan.surrogate.active_learning import ActiveLearner, LearningSettings
from counterplan.surrogate.surrogate import Surrogate
from quick import FIT, SCORE_FIT, TRAINING
from scorecard.random_cards import random_card

pytestmark = pytest.mark.usefixtures("steady_clock")

GRADES = grades.grades()


class Material(NamedTuple):
    """What planners learn from: a model, people, and refused ones."""

    model: object
    people: pd.DataFrame
    refused: pd.DataFrame


def material(problem: Problem) -> Material | None:
    """That of a benchmark, or of the problem with three outcomes and some target; None for other problems."""
    if problem.name in benchmarks.NAMES:
        benchmark = benchmarks.load(problem.name)
        return Material(benchmark.model, benchmark.train, benchmark.refused_train)
    if problem.name == GRADES.name:
        people = grades.people(300)
        refused = ~BlackBox(grades.model).favourable(problem, people)
        return Material(grades.model, people, people[refused])
    return None


def trained(problem: Problem) -> Agent:
    """A hardly trained agent, if there is something to learn from, otherwise an untrained one."""
    if problem.fingerprint not in AGENTS:
        people = problem.read(worlds.random_people(problem, 1, 50))
        if (known := material(problem)) is not None:
            people = problem.read(known.refused.head(400))
            AGENTS[problem.fingerprint] = AgentTrainer(problem, people, BlackBox(known.model), TRAINING, 0).run()
        else:
            AGENTS[problem.fingerprint] = Agent.new(problem, people, NetworkConfig(8, 8), np.random.default_rng(0))
    return AGENTS[problem.fingerprint]


def learned(problem: Problem) -> Surrogate | Logit:
    """A hastily learned surrogate, if there is something to learn from, otherwise one that knows nothing."""
    known = material(problem)
    if known is None:
        return lambda states: np.array([zlib.crc32(state.tobytes()) % 1000 / 100 - 5 for state in states + 0.0])
    if problem.fingerprint not in SURROGATES:
        fits = {"fit": replace(FIT, trees=20), "score_fit": SCORE_FIT}
        settings = LearningSettings(people=120, plans=120, rounds=2, validation=12, **fits)
        run = ActiveLearner(problem, problem.read(known.people), BlackBox(known.model), settings, 0)
        SURROGATES[problem.fingerprint] = run.run()
    return SURROGATES[problem.fingerprint]


def distilled(problem: Problem) -> Program:
    """A hastily distilled program, if there is a surrogate, otherwise one that does what comes first."""
    known = material(problem)
    if known is None:
        every = Leaf(tuple(Choice(action) for action in range(len(problem.transitions))))
        stop = Leaf((Choice(problem.transitions.stop),))
        nodes = Program(problem, {}).nodes
        return Program(problem, {name: every if i % 2 == 0 else stop for i, name in enumerate(nodes)})
    if problem.fingerprint not in PROGRAMS:
        surrogate = learned(problem)
        assert isinstance(surrogate, Surrogate)
        people = problem.read(known.people.head(400))
        wishes = DistillOptions(traces=150, rounds=1)
        run = ProgramDistiller(problem, people, BlackBox(known.model), None, surrogate, wishes)
        PROGRAMS[problem.fingerprint] = run.run()
    return PROGRAMS[problem.fingerprint]


def card_of(problem: Problem) -> Scorecard:
    """A hastily distilled card, if there is a surrogate, otherwise a random one."""
    known = material(problem)
    if known is None:
        return random_card(problem, 1)
    if problem.fingerprint not in CARDS:
        surrogate = learned(problem)
        assert isinstance(surrogate, Surrogate)
        people = problem.read(known.people.head(400))
        options = ScorecardOptions(people=150)
        CARDS[problem.fingerprint] = ScorecardDistiller(
            problem, people, BlackBox(known.model), surrogate, options
        ).run()
    return CARDS[problem.fingerprint]


CARDS: dict[str, Scorecard] = {}
PROGRAMS: dict[str, Program] = {}
AGENTS: dict[str, Agent] = {}
SURROGATES: dict[str, Surrogate] = {}


def cascade(problem: Problem, box: BlackBox) -> Planner:
    agent = trained(problem)
    planners = [
        PolicyPlanner(problem, box, agent),
        GuidedPlanner(problem, box, learned(problem)),
        SearchPlanner(problem, box, agent, settings=SHORT),
        ExactPlanner(problem, box),
    ]
    return CascadePlanner(problem, box, planners)


BRIEF = EvolutionSettings(generations=6, population=40, batch_size=256)
SHORT = SearchSettings(simulations=64, retry_factor=2, max_queries=1_000)
"""Cached answers do not count as queries: with fewer of them, copies of a person would be searched for longer."""
PLANNERS: dict[str, Callable[[Problem, BlackBox], Planner]] = {
    "auto": lambda problem, box: AutoPlanner(problem, box, learned={"surrogate": lambda: learned(problem)}),
    "exact": ExactPlanner,
    "evolution": lambda problem, box: EvolutionPlanner(problem, box, settings=BRIEF),
    "search": lambda problem, box: SearchPlanner(problem, box, trained(problem), settings=SHORT),
    "paper": lambda problem, box: SearchPlanner(problem, box, trained(problem), settings="paper"),
    "guided": lambda problem, box: GuidedPlanner(problem, box, learned(problem)),
    "policy": lambda problem, box: PolicyPlanner(problem, box, trained(problem)),
    "paper's policy": lambda problem, box: PolicyPlanner(problem, box, trained(problem), settings="paper"),
    "program": lambda problem, box: ProgramPlanner(problem, box, distilled(problem)),
    "card": lambda problem, box: CardPlanner(problem, box, card_of(problem), surrogate=learned(problem)),
    "cascade": cascade,
}
UNFOUNDED = "the black box does not find the final state favourable"


def faults(plan: Plan, problem: Problem, box: BlackBox) -> list[str]:
    """What a replay finds, but that a plan which nobody checked may end in a refusal."""
    return [fault for fault in plan.replay(problem, box).faults if plan.verified or fault != UNFOUNDED]


@pytest.fixture(scope="module", params=PLANNERS)
def make(request: pytest.FixtureRequest) -> Callable[[Problem, BlackBox], Planner]:
    return PLANNERS[request.param]


@pytest.fixture(scope="module", params=["german", "syn"])
def benchmark(request: pytest.FixtureRequest) -> Benchmark:
    return benchmarks.load(request.param)


def test_plans_are_legal_priced_right_and_favourable(make, benchmark: Benchmark) -> None:
    box = BlackBox(benchmark.model)
    people = benchmark.refused_test.head(20)
    plans = make(benchmark.problem, box).plan(people)
    assert len(plans) == len(people)
    assert plans.counts["found"] >= 3
    immutable = [
        feature.name
        for feature in benchmark.problem.features
        if feature.index not in benchmark.problem.transitions.mutable
    ]
    fresh = BlackBox(benchmark.model)
    for plan in plans:
        assert faults(plan, benchmark.problem, fresh) == []
        assert len(plan.steps) <= benchmark.problem.max_actions
        for step in plan.steps:
            assert [step.after[name] for name in immutable] == [plan.start[name] for name in immutable]


def test_the_same_again(make) -> None:
    benchmark = benchmarks.load("german")
    people = benchmark.refused_test.head(10)
    first = make(benchmark.problem, BlackBox(benchmark.model)).plan(people)
    second = make(benchmark.problem, BlackBox(benchmark.model)).plan(people)
    assert first.to_json() == second.to_json()


def test_one_by_one_as_together(make, benchmark: Benchmark) -> None:
    people = benchmark.refused_test.head(4)
    together = make(benchmark.problem, BlackBox(benchmark.model)).plan(people)
    planner = make(benchmark.problem, BlackBox(benchmark.model))
    for row, plan in enumerate(together):
        alone = planner.plan(people.iloc[[row]])[0]
        assert (alone.person, alone.status, alone.actions, alone.cost) == (
            plan.person,
            plan.status,
            plan.actions,
            plan.cost,
        )


def test_questions_are_counted_by_the_meter(make) -> None:
    benchmark = benchmarks.load("german")
    rows = 0

    def counting(frame: pd.DataFrame) -> np.ndarray:
        nonlocal rows
        rows += len(frame)
        return benchmark.model.labels(frame)

    box = BlackBox(counting)
    planner = make(benchmark.problem, box)
    plans = planner.plan(benchmark.refused_test.head(10))
    assert plans.queries == box.queries == rows
    assert sum(plan.queries for plan in plans) >= plans.queries
    again = planner.plan(benchmark.refused_test.head(10))
    assert again.queries == 0
    assert again.cached > 0


def test_what_is_forbidden_is_not_done(make, benchmark: Benchmark) -> None:
    people = benchmark.refused_test.head(8)
    planner = make(benchmark.problem, BlackBox(benchmark.model))
    free = planner.plan(people)
    often = pd.Series([action for plan in free for action in plan.actions]).value_counts().index[0]
    function = often.split("=")[0]
    assert not any(step.function == function for plan in planner.plan(people, forbid=function) for step in plan.steps)
    assert not any(often in plan.actions for plan in planner.plan(people, forbid=[often]))
    person = next(plan.person for plan in free if often in plan.actions)
    for plan in planner.plan(people, forbid={person: [function]}):
        assert plan.person != person or function not in [step.function for step in plan.steps]
        assert plan.person == person or plan.actions == free[plan.person].actions
    mask = np.ones((len(people), len(benchmark.problem.transitions)), bool)
    mask[:, :-1] = False
    assert planner.plan(people, allowed=mask).counts["found"] == 0
    with pytest.raises(SettingError, match="no such function"):
        planner.plan(people, forbid=["FLY"])
    with pytest.raises(SettingError, match="no such person"):
        planner.plan(people, forbid={"nobody": [function]})
    with pytest.raises(SettingError, match="is neither"):
        planner.plan(people, forbid=5)
    with pytest.raises(SettingError, match="shape"):
        planner.plan(people, allowed=mask[:, 1:])


def test_nobody_somebody_and_the_already_favourable(make, benchmark: Benchmark) -> None:
    planner = make(benchmark.problem, BlackBox(benchmark.model))
    nobody = planner.plan(benchmark.refused_test.head(0))
    assert len(nobody) == 0
    assert nobody.queries == 0
    assert "nothing to do" in nobody.to_text()
    lucky = benchmark.test[benchmark.model.labels(benchmark.test) == "granted"].head(3)
    if benchmark.name == "german":
        lucky = benchmark.test[benchmark.model.labels(benchmark.test) == "good"].head(3)
    plans = planner.plan(lucky)
    assert {plan.status for plan in plans} == {Status.ALREADY_FAVOURABLE}
    assert all(plan.cost == 0 and not plan.steps for plan in plans)
    with pytest.raises(PeopleError, match="lacks the column"):
        planner.plan(pd.DataFrame({"nothing": [1]}))


def test_people_known_to_be_refused_are_not_asked_about(make) -> None:
    benchmark = benchmarks.load("german")
    people = benchmark.refused_test.head(10)
    asked = make(benchmark.problem, BlackBox(benchmark.model)).plan(people)
    known = make(benchmark.problem, BlackBox(benchmark.model)).plan(people, refused=True)
    assert [plan.actions for plan in known] == [plan.actions for plan in asked]
    assert known.queries <= asked.queries


def test_with_a_budget_of_0_nobody_is_asked_and_nothing_is_verified(make, benchmark: Benchmark) -> None:
    box = BlackBox(benchmark.model)
    planner = make(benchmark.problem, box)
    for refused in (True, False):
        plans = planner.plan(benchmark.refused_test.head(12), budget=0, refused=refused)
        assert plans.queries == plans.cached == box.queries == 0
        assert not any(plan.verified or plan.queries for plan in plans)
        if planner.name in ("exact", "search", "evolution"):
            assert {plan.status for plan in plans} == {Status.NOT_FOUND}
        else:
            assert plans.counts["found"] > 5
        for plan in plans:
            assert faults(plan, benchmark.problem, box) == []
        box = BlackBox(benchmark.model)
        planner = make(benchmark.problem, box)
        assert len(planner.plan(benchmark.test.head(0), budget=0, refused=refused)) == 0


def test_thousands_of_people(make) -> None:
    benchmark = benchmarks.load("german")
    people = pd.concat([benchmark.test] * 10, ignore_index=True)
    plans = make(benchmark.problem, BlackBox(benchmark.model)).plan(people)
    assert len(plans) == 2_000
    costs = plans.costs.reshape(10, -1)
    assert np.array_equal(costs, np.broadcast_to(costs[0], costs.shape), equal_nan=True)


@settings(max_examples=12)
@given(st.data())
def test_holds_in_random_worlds(make, data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    box = BlackBox(data.draw(worlds.black_boxes(problem)))
    functions = [function.name for function in problem.transitions.functions]
    forbid = data.draw(st.lists(st.sampled_from(functions), max_size=1))
    shape = (len(table), len(problem.transitions))
    seed = data.draw(st.none() | st.integers(0, 1000))
    weights = None if seed is None else np.random.default_rng(seed).choice([0.01, 0.5, 1.0, 3.0], shape)
    done = 0

    def progress(people: int) -> None:
        nonlocal done
        done += people

    plans = make(problem, box).plan(table, forbid=forbid, weights=weights, progress=progress)
    assert done == len(table)
    names = [str(action) for action in problem.transitions.actions]
    for row, plan in enumerate(plans):
        assert faults(plan, problem, box) == []
        assert [step.weight for step in plan.steps] == [
            1.0 if weights is None else weights[row, names.index(step.action)] for step in plan.steps
        ]
        assert not any(step.function in forbid for step in plan.steps)


def test_costs_are_weighted(make, benchmark: Benchmark) -> None:
    people, transitions = benchmark.refused_test.head(4), benchmark.problem.transitions
    random = np.random.default_rng(0)
    weights = random.choice([0.2, 0.5, 1.0, 2.0, 7.0], (len(people), len(transitions)))
    planner = make(benchmark.problem, BlackBox(benchmark.model))
    plans = planner.plan(people, weights=weights, refused=True)
    names = [str(action) for action in transitions.actions]
    states = benchmark.problem.read(people).states
    fresh = BlackBox(benchmark.model)
    for row, plan in enumerate(plans):
        assert faults(plan, benchmark.problem, fresh) == []
        state = states[[row]]
        for step in plan.steps:
            action = names.index(step.action)
            assert step.weight == weights[row, action]
            assert step.cost == pytest.approx(transitions.cost(state)[0, action] * step.weight, abs=1e-8)
            state = transitions.apply(state, np.array([action]))
        if planner.name in ("policy", "program") and plan.steps:
            assert "not planned with your own effort weights" in plan.caution
        alone = planner.plan(people.iloc[[row]], weights=weights[[row]], refused=True)[0]
        assert (alone.status, alone.actions, alone.cost) == (plan.status, plan.actions, plan.cost)
    same = make(benchmark.problem, BlackBox(benchmark.model)).plan(people, weights=np.ones(weights.shape))
    assert same.to_json() == make(benchmark.problem, BlackBox(benchmark.model)).plan(people).to_json()
    with pytest.raises(SettingError, match="'weights' must be numbers from"):
        planner.plan(people, weights=0 * weights)


def test_a_budget_that_makes_no_sense_is_refused(make, benchmark: Benchmark) -> None:
    planner = make(benchmark.problem, BlackBox(benchmark.model))
    for budget in ("3", float("nan"), True, -1, 2.5):
        with pytest.raises(SettingError, match="'budget' must be an integer, zero or more"):
            planner.plan(benchmark.refused_test.head(2), budget=budget)
    assert planner.box.queries == 0


def test_a_budget_of_any_size_is_no_limit(make, benchmark: Benchmark) -> None:
    planner = make(benchmark.problem, BlackBox(benchmark.model))
    assert len(planner.plan(benchmark.refused_test.head(1), budget=10**20)) == 1


def alike(one: Plans, other: Plans) -> bool:
    """Whether plans have the same status, steps and guarantees."""
    facts = [[(p.person, p.status, p.actions, p.verified, p.optimal) for p in plans] for plans in (one, other)]
    return facts[0] == facts[1] and np.array_equal(one.costs, other.costs, equal_nan=True)


def for_targets(name: str, problem: Problem, box: BlackBox) -> TargetPlanner:
    return TargetPlanner(problem, box, lambda target: PLANNERS[name](problem.with_target(target), box))


@pytest.mark.parametrize("name", PLANNERS)
def test_the_favourable_one_of_two_outcomes_as_target_changes_nothing(name: str) -> None:
    german = benchmarks.load("german")
    people = german.refused_test.head(6)
    plans = PLANNERS[name](german.problem, BlackBox(german.model)).plan(people)
    targeted = for_targets(name, german.problem, BlackBox(german.model)).plan(people, target="good")
    assert alike(plans, targeted)
    assert (plans.queries, plans.cached) == (targeted.queries, targeted.cached)
    assert targeted.final_states.tolist() == plans.final_states.tolist()


@pytest.mark.parametrize("name", PLANNERS)
def test_every_planner_plans_for_targets_of_three_classes(name: str) -> None:
    box, people = BlackBox(grades.model), grades.people(12, seed=1)
    planner, targets = for_targets(name, GRADES, box), ["A", "B", "C"] * 4
    plans = planner.plan(people, target=targets)
    labels, fresh = grades.model(people), BlackBox(grades.model)
    assert plans.counts["found"] >= 2
    exact = for_targets("exact", GRADES, BlackBox(grades.model)).plan(people, target=targets)
    for row, (plan, best) in enumerate(zip(plans, exact, strict=True)):
        assert plan.target == (targets[row],)
        assert (plan.status is Status.ALREADY_FAVOURABLE) == (labels[row] == targets[row])
        assert [fault for fault in plan.replay(GRADES, fresh).faults if plan.verified or UNFOUNDED not in fault] == []
        if plan.verified and plan.steps:
            assert grades.model(pd.DataFrame([plan.steps[-1].after])) == [targets[row]]
            assert plan.cost >= best.cost - 1e-9
        assert plan.status is not Status.INFEASIBLE or best.status is Status.INFEASIBLE
    for row in (4, 6):
        alone = for_targets(name, GRADES, BlackBox(grades.model)).plan(people.iloc[[row]], target=targets[row])
        assert alike(alone, plans.take(np.array([row])))
    for target in ("A", "B", "C"):
        run = for_targets(name, GRADES, BlackBox(grades.model)).plan(people, target=target)
        rows = np.array([row for row in range(12) if targets[row] == target])
        assert alike(run.take(rows), plans.take(rows))
