"""Reasons by points: they add up, agree with every answer, and options are what they are called."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grades
import worlds
from counterplan import BlackBox, ExactPlanner, GuidedPlanner, Plan, Plans, Problem, Recourse, Status, benchmarks
from counterplan.explanation import explain
from counterplan.explanation.targets import explain_targets
from counterplan.planners.targets import TargetPlanner
from counterplan.plans import PlanColumns, PlanOption, Reason
from counterplan.program import INTERVENE, Choice, Leaf, Program
from counterplan.search.orders import rollout
from counterplan.search.schedule import schedule
from counterplan.surrogate.belief import ErrorModel

GERMAN = benchmarks.load("german")
PEOPLE = GERMAN.refused_test.head(30)


@dataclass
class StandIn:
    """A surrogate with an error model: the scores of the true model, and noise that depends on the state."""

    problem: Problem
    score: Any
    noise: float = 0.5
    link: None = None

    @property
    def errors(self) -> ErrorModel:
        return ErrorModel(scale=(1.0,) * len(self.problem.features))

    def logit(self, states: np.ndarray) -> np.ndarray:
        noise = np.sin(np.nan_to_num(states, nan=3.3).sum(axis=1) * 7.3)
        return np.asarray(self.score(states) + self.noise * noise, float)

    def __call__(self, states: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-self.logit(states)))


def german_score(states: np.ndarray) -> np.ndarray:
    chance = np.clip(GERMAN.model.score(states), 1e-6, 1 - 1e-6)
    return 12 * np.log(chance / (1 - chance))


SURROGATE: Any = StandIn(GERMAN.problem, german_score)


def guided(box: BlackBox, people: pd.DataFrame = PEOPLE, **options: Any) -> Plans:
    return GuidedPlanner(GERMAN.problem, box, SURROGATE.logit).plan(people, refused=True, **options)


@pytest.fixture(scope="module")
def box() -> BlackBox:
    return BlackBox(GERMAN.model)


@pytest.fixture(scope="module")
def plans(box: BlackBox) -> Plans:
    return guided(box)


@pytest.fixture(scope="module")
def explained(plans: Plans, box: BlackBox) -> Plans:
    return explain(plans, GERMAN.problem, box, surrogate=SURROGATE)


def source_of(plan: Plan) -> set[str]:
    return {step.because.source if step.because else "none" for step in plan.steps}


def gains(plan: Plan) -> list[int]:
    return [step.because.points for step in plan.steps if step.because and step.because.points is not None]


def end_of(problem: Problem, plan: Plan, actions: Iterable[str]) -> tuple[np.ndarray, float, bool]:
    """Final state [1, F], cost and legality of other actions of the same person."""
    index = {str(action): action.index for action in problem.transitions.actions}
    numbers = np.array([[index[name] for name in actions]], np.intp)
    state, cost, legal = rollout(problem.transitions, problem.state(plan.start)[None], numbers)
    return state, float(cost[0]), bool(legal[0])


def check_options(problem: Problem, box: BlackBox, plan: Plan) -> None:
    """Every option is legal, costs what it says, and is not known to be refused."""
    row = pd.DataFrame([[value for _, value in plan.row]], columns=[name for name, _ in plan.row])
    session = box.session(problem, problem.read(row))
    assert len(plan.options) <= 3
    for option in plan.options:
        state, cost, legal = end_of(problem, plan, option.actions)
        assert legal
        assert option.cost == pytest.approx(cost)
        assert plan.lower_bound is None or option.cost >= plan.lower_bound - 1e-9
        assert option.actions != tuple(plan.actions)
        answer = session.cached(state, np.array([0]))[0]
        if option.checked:
            assert answer is not None
            assert answer.favourable
        else:
            assert answer is None
            assert option.points >= 125


def test_parts_add_up_and_one_source_explains_a_plan(explained: Plans) -> None:
    steps = int(explained.lengths.sum())
    assert steps > 30
    assert explained.reasons == {"rule": 0, "card": 0, "points": steps, "contrast": 0, "none": 0}
    for plan in explained:
        if not plan.steps:
            continue
        assert source_of(plan) == {"points"}
        total = {fact["total"] for step in plan.steps for fact in step.because.conditions[:1]}  # type: ignore[union-attr]
        assert total == {sum(gains(plan))}
        assert sum(gains(plan)) >= 100
        assert {step.because.needed for step in plan.steps if step.because} == {100}
        assert all("(estimated)" in (step.reason or "") for step in plan.steps)


def test_no_query_is_sent(plans: Plans, explained: Plans) -> None:
    assert explained.queries == plans.queries


def test_options_are_legal_and_not_known_to_be_refused(explained: Plans, box: BlackBox) -> None:
    assert sum(len(plan.options) for plan in explained) > 5
    for plan in explained:
        check_options(GERMAN.problem, box, plan)
        states = [end_of(GERMAN.problem, plan, option.actions)[0] for option in plan.options]
        assert all(not np.array_equal(state[0], GERMAN.problem.state(plan.steps[-1].after)) for state in states)


def test_points_of_a_person_do_not_depend_on_others(plans: Plans, explained: Plans, box: BlackBox) -> None:
    some = np.array([7, 2, 11])
    again = explain(plans.take(some), GERMAN.problem, box, surrogate=SURROGATE)
    assert again.plans == explained.take(some).plans
    assert explain(explained, GERMAN.problem, box, surrogate=SURROGATE).plans == explained.plans


def test_cheaper_refusals_are_binding(plans: Plans, box: BlackBox) -> None:
    """Each queried state of a person has 100 points if and only if the model favours it."""
    from counterplan.explanation.arrays import groups, unexplained
    from counterplan.explanation.point_reasons import PointExplainer

    checked = 0
    explainer = PointExplainer(GERMAN.problem, box, SURROGATE)
    for group in groups(GERMAN.problem, plans, unexplained(plans)):
        for _, fits, known in explainer.fits(group):
            for row, state, favourable in zip(known.rows, known.states, known.favourable, strict=True):
                points = fits.points[row]
                assert points is not None
                assert (points(state[None])[0] >= 100) == favourable
                checked += 1
    assert checked > len(plans)


def test_requested_answers_are_binding_too(plans: Plans) -> None:
    """If the model refuses a plan without a step, the other steps have fewer than 100 points."""
    box = BlackBox(GERMAN.model)
    explained = explain(plans, GERMAN.problem, box, surrogate=SURROGATE, ask=True)
    assert 0 < box.queries <= plans.lengths.sum()
    assert explained.queries == plans.queries + box.queries
    several = 0
    for plan in explained:
        functions = [step.function for step in plan.steps]
        for t, step in enumerate(plan.steps):
            state, _, legal = end_of(GERMAN.problem, plan, [*plan.actions[:t], *plan.actions[t + 1 :]])
            if source_of(plan) == {"points"} and legal and functions.count(step.function) == 1 and len(functions) > 1:
                others = sum(gains(plan)) - gains(plan)[t]
                assert (others >= 100) == GERMAN.model.favourable(state)[0]
                several += 1
    assert several > 5


def test_contradictory_answers_fall_back_to_a_contrast() -> None:
    """Either of two changes is enough, and both together are not."""
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "parity",
            "outcome": {"column": "given", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": 2,
            "features": {name: {"kind": "ordered", "values": ["low", "high"]} for name in ("school", "job")},
            "functions": {
                "LEARN": {"set": "school", "arguments": "all", "cost": 5},
                "WORK": {"set": "job", "arguments": "all", "cost": 10},
            },
        }
    )
    box = BlackBox(lambda frame: np.where((frame["job"] == "high") != (frame["school"] == "high"), "yes", "no"))
    table = pd.DataFrame({"school": ["low"], "job": ["low"]})
    plans = ExactPlanner(problem, box).plan(table)
    believed: Any = StandIn(problem, lambda states: np.where(states.sum(axis=1) > 0, 2.0, -2.0), noise=0.0)
    assert source_of(explain(plans, problem, box, surrogate=believed)[0]) == {"points"}
    box.favourable(problem, pd.DataFrame({"school": ["low", "high"], "job": ["high", "high"]}))
    refused = explain(plans, problem, box, surrogate=believed)[0]
    assert source_of(refused) == {"contrast"}
    assert refused.options == ()


def test_order_of_sources(plans: Plans, box: BlackBox) -> None:
    """Rules explain a plan only if there is one for every step; otherwise points explain all of it."""
    problem = GERMAN.problem
    numbers = {str(action): action.index for action in problem.transitions.actions}
    two = next(plan for plan in plans if len(plan.steps) == 2)
    first, second = (numbers[action] for action in two.actions)
    start, then = Leaf((Choice(first),)), Leaf((Choice(second),))
    own = Plans((two,))
    whole = Program(problem, {INTERVENE: start, two.steps[0].function: then})
    part = Program(problem, {INTERVENE: start, two.steps[0].function: Leaf((Choice(problem.transitions.stop),))})
    assert source_of(explain(own, problem, box, whole, SURROGATE)[0]) == {"rule"}
    assert source_of(explain(own, problem, box, part, SURROGATE)[0]) == {"points"}
    assert source_of(explain(own, problem, box, part)[0]) == {"rule", "contrast"}
    by_points = explain(plans, problem, box, surrogate=SURROGATE)
    assert explain(by_points, problem, box) == by_points, "points stay where there is no surrogate to replace them"


def test_a_plan_that_the_surrogate_does_not_believe_in_has_no_points(plans: Plans) -> None:
    """Nothing is known about its end, and the prediction is unfavourable."""
    doubt: Any = StandIn(GERMAN.problem, lambda states: np.full(len(states), -3.0))
    explained = explain(plans, GERMAN.problem, BlackBox(GERMAN.model), surrogate=doubt)
    assert explained.reasons["points"] == 0
    assert explained.reasons["none"] == 0


def work(scale: float) -> Problem:
    """School makes the job cheaper, and a car needs the job; only car and job count."""
    kinds = {name: {"kind": "ordered", "values": ["low", "high"]} for name in ("school", "job", "car")}
    return Problem.from_dict(
        {
            "counterplan": 1,
            "name": "work",
            "outcome": {"column": "given", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": 3,
            "features": kinds,
            "functions": {
                "LEARN": {"set": "school", "arguments": "all", "cost": 5},
                "WORK": {"set": "job", "arguments": "all", "cost": 20},
                "DRIVE": {"set": "car", "arguments": "all", "cost": 4, "when": 'job == "high"'},
            },
            "causes": [{"from": "school", "to": "job", "scale": {"high": scale}}],
        }
    )


def test_a_step_without_points_is_explained_by_what_it_is_there_for() -> None:
    problem = work(0.5)
    people = problem.read(pd.DataFrame({"school": ["low"], "job": ["low"], "car": ["low"]}))
    numbers = {str(action): action.index for action in problem.transitions.actions}
    columns = PlanColumns.empty(1, 3)
    columns.actions[0] = numbers["LEARN=high"], numbers["WORK=high"], numbers["DRIVE=high"]
    columns.status, columns.verified[0] = [Status.FOUND], True
    plans = Plans.from_columns(problem, people, columns)
    box = BlackBox(lambda frame: np.where(frame["car"] == "high", "yes", "no"))
    worth = np.array([-1.0, -0.5, 6.0])
    surrogate: Any = StandIn(problem, lambda states: states @ worth - 3.0, noise=0.0)
    plan = explain(plans, problem, box, surrogate=surrogate)[0]
    first, second, third = (step.reason or "" for step in plan.steps)
    assert gains(plan)[0] <= 0
    assert gains(plan)[1] <= 0
    assert "but it lowers the effort of" in first
    assert "from 20.0 to 10.0" in first
    assert second.endswith(f"but without it, “{plan.steps[2].text}” would not be possible")
    assert third.startswith("it brings")


def test_forbidden_changes_are_not_suggested(box: BlackBox) -> None:
    forbid = ["CHANGE_PURPOSE", "CHANGE_SAVINGS=quite_rich"]
    explained = explain(guided(box, forbid=forbid), GERMAN.problem, box, surrogate=SURROGATE)
    offered = [action for plan in explained for option in plan.options for action in option.actions]
    assert offered
    assert not any(action.split("=")[0] == forbid[0] or action == forbid[1] for action in offered)
    read = Plans.from_json(explained.to_json())
    assert not any(plan.options for plan in explain(read, GERMAN.problem, box, surrogate=SURROGATE)), (
        "plans of a file do not know what was forbidden"
    )


def test_options_end_before_the_deadline(box: BlackBox) -> None:
    problem, deadline = GERMAN.problem, 4.0
    explained = explain(guided(box, deadline=deadline), problem, box, surrogate=SURROGATE)
    without = explain(guided(box), problem, box, surrogate=SURROGATE)
    index = {str(action): action.index for action in problem.transitions.actions}

    def durations(plans: Plans) -> list[float]:
        return [
            float(schedule(problem.transitions, problem.state(plan.start)[None], actions).makespan[0])
            for plan in plans
            for option in plan.options
            for actions in [np.array([[index[name] for name in option.actions]])]
        ]

    assert durations(explained)
    assert max(durations(explained)) <= deadline < max(durations(without))


def test_options_cost_what_the_person_finds_hard(box: BlackBox) -> None:
    problem = GERMAN.problem
    weights = np.linspace(0.5, 3.0, len(PEOPLE) * len(problem.transitions)).reshape(len(PEOPLE), -1)
    explained = explain(guided(box, weights=weights), problem, box, surrogate=SURROGATE)
    index = {str(action): action.index for action in problem.transitions.actions}
    seen = 0
    for row, plan in enumerate(explained):
        for option in plan.options:
            actions = np.array([[index[name] for name in option.actions]])
            _, cost, legal = rollout(problem.transitions, problem.state(plan.start)[None], actions, weights[[row]])
            assert legal[0]
            assert option.cost == pytest.approx(cost[0])
            seen += 1
    assert seen


def test_a_state_that_was_queried_is_offered_as_checked(plans: Plans) -> None:
    """Somebody has queried the model about another plan of the same person."""
    box = BlackBox(GERMAN.model)
    before = explain(guided(box), GERMAN.problem, box, surrogate=SURROGATE)
    row, option = next((row, plan.options[0]) for row, plan in enumerate(before) if plan.options)
    state = end_of(GERMAN.problem, before[row], option.actions)[0]
    assert before.people is not None
    answer = box.session(GERMAN.problem, before.people)(state, np.array([row]))[0]
    after = explain(before, GERMAN.problem, box, surrogate=SURROGATE)[row]
    known = [one for one in after.options if one.actions == option.actions]
    assert [one.checked for one in known] == ([True] if answer else [])


def test_in_text_html_and_files(explained: Plans, tmp_path: Path) -> None:
    plan = next(plan for plan in explained if len(plan.steps) > 1 and plan.options)
    parts = " + ".join(map(str, gains(plan))).replace("+ -", "− ")
    total = f"You are 100 points short (estimated). The steps bring {parts} = {sum(gains(plan))}."
    text, html = str(plan), plan._repr_html_()
    marks = {"checked with the model" if option.checked else "likely, not checked" for option in plan.options}
    for shown in (text, html):
        assert total in shown
        assert "What else would do:" in shown
        assert all(mark in " ".join(shown.split()) for mark in marks)
    for name in ("plans.json", "plans.parquet"):
        explained.save(tmp_path / name)
        assert Plans.load(tmp_path / name) == explained
    frame = explained.to_frame()
    assert frame["points"].dropna().tolist() == [gain for plan in explained for gain in gains(plan)]
    assert frame["options"].str.contains("effort").any()
    assert explained.to_arrow()["points"].null_count == frame["points"].isna().sum()


def test_files_without_points_load(explained: Plans) -> None:
    data = json.loads(explained.to_json())
    for plan in data["plans"]:
        plan.pop("options", None)
        for step in plan["steps"]:
            step["because"] = {"source": "contrast", "rule": "", "conditions": []}
    old = Plans.from_json(json.dumps(data))
    assert old.reasons["contrast"] == explained.lengths.sum()
    assert all(step.because == Reason("contrast") for plan in old for step in plan.steps)


def test_lasting_plans_say_that_options_are_for_todays_model(explained: Plans) -> None:
    from counterplan.plans import Robustness

    plan = next(plan for plan in explained if plan.options)
    lasting = replace(plan, robustness=Robustness(survival=0.7))
    assert "What else would do with today's model:" in str(lasting)
    assert "What else would do with today&#x27;s model:" in lasting._repr_html_()
    one = replace(plan, options=(PlanOption(("A=1",), "<b>", 1.0, 130, False),))
    assert "&lt;b&gt;" in one._repr_html_()


def test_targets_have_options_of_their_own() -> None:
    problem, box = grades.grades(), BlackBox(grades.model)
    people = grades.people(60)
    planner = TargetPlanner(problem, box, lambda target: ExactPlanner(problem.with_target(target), box))
    plans = planner.plan(people, target=["A" if row % 2 else "B" for row in range(len(people))])

    def part(target: tuple[str, ...], own: Plans) -> Plans:
        goal = problem.with_target(frozenset(target))

        def score(states: np.ndarray) -> np.ndarray:
            frame = goal.read(people.head(1)).frame(states, np.zeros(len(states), np.intp))
            return np.where(np.isin(grades.model(frame), target), 3.0, -3.0)

        surrogate: Any = StandIn(goal, score, noise=0.2)
        return explain(own, goal, box, surrogate=surrogate)

    explained = explain_targets(plans, problem, part)
    assert explained.reasons["none"] == 0
    assert explained.reasons["points"] > 0
    for plan in explained:
        check_options(problem.with_target(frozenset(plan.target)), box, plan)


@settings(max_examples=25)
@given(st.data())
def test_holds_in_random_worlds(data: st.DataObject) -> None:
    """One source for each plan, parts that add up, agreement with what is known, options that may be taken."""
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    model: Any = data.draw(worlds.black_boxes(problem))
    box = BlackBox(model)
    people = problem.read(table)

    def score(states: np.ndarray) -> np.ndarray:
        frame = people.frame(states, np.zeros(len(states), np.intp))
        return np.where(model.favourable(frame), 2.0, -2.0)

    surrogate: Any = StandIn(problem, score, noise=data.draw(st.sampled_from([0.0, 1.5, 4.0])))
    kinds = {"exact": ExactPlanner(problem, box), "guided": GuidedPlanner(problem, box, surrogate.logit)}
    plans = kinds[data.draw(st.sampled_from(sorted(kinds)))].plan(table)
    explained = explain(plans, problem, box, surrogate=surrogate, ask=data.draw(st.booleans()))
    assert explained.reasons["none"] == 0
    assert explain(plans, problem, box, surrogate=surrogate).plans == explained.plans
    assert Plans.from_json(explained.to_json()) == explained
    for plan in explained:
        if not plan.steps:
            continue
        assert source_of(plan) in ({"points"}, {"contrast"})
        if source_of(plan) == {"points"}:
            assert (sum(gains(plan)) >= 100) == plan.verified
            check_options(problem, box, plan)
            prefix = 0
            session = box.session(problem, people)
            for t, gain in enumerate(gains(plan)[:-1]):
                prefix += gain
                state = problem.state(plan.steps[t].after)[None]
                answer = session.cached(state, np.array([plans.persons.index(plan.person)]))[0]
                assert answer is None or (prefix >= 100) == answer.favourable
        else:
            assert plan.options == ()


def test_recourse_explains_by_points() -> None:
    recourse = Recourse(GERMAN.problem, GERMAN.model)
    recourse.surrogate_ = SURROGATE
    plans = recourse.recommend(PEOPLE.head(5), "guided", refused=True)
    assert recourse.explain(plans).reasons["points"] == plans.lengths.sum()
