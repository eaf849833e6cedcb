"""Reasons: every step of every plan has one, and each is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import (
    BlackBox,
    CascadePlanner,
    ExactPlanner,
    GuidedPlanner,
    Plan,
    PlanError,
    Planner,
    Plans,
    Problem,
    ProgramPlanner,
    SettingError,
    Status,
    Step,
    benchmarks,
)
from counterplan.explanation import explain
from counterplan.plans import PlanColumns
from counterplan.problem.binding import Scope, bind
from counterplan.program import INTERVENE, Choice, Leaf, Program, Split, Test
from program.programs import imitated
from program.random_programs import random_program

GERMAN = benchmarks.load("german")
PEOPLE = GERMAN.refused_test.head(25)


@pytest.fixture(scope="module")
def plans() -> Plans:
    return ExactPlanner(GERMAN.problem, GERMAN.model).plan(PEOPLE, refused=True)


def without(problem: Problem, plan: Plan, t: int) -> tuple[np.ndarray, float, str]:
    """The end and the cost of a plan without step t, and the first later step that is not legal then, if any."""
    numbers = {str(action): action.index for action in problem.transitions.actions}
    state, cost = problem.state(plan.start)[None], 0.0
    for place, step in enumerate(plan.steps):
        if place != t:
            after, added, legal = problem.transitions.step(state, np.array([numbers[step.action]]))
            if not legal[0]:
                return state, cost, step.action
            state, cost = after, cost + float(added[0])
    return state, cost, ""


def truths(problem: Problem, model: object, plan: Plan, forbid: Sequence[str] = ()) -> None:
    """Check every claim of every reason against the model and the transitions."""
    scope = Scope({feature.name: feature.column() for feature in problem.features})
    allowed = problem.allowed(forbid)
    numbers = {str(action): action.index for action in problem.transitions.actions}
    people = ExactPlanner(problem, model).problem.read(_frame(plan))
    ask = BlackBox(model).session(problem, people)
    for t, step in enumerate(plan.steps):
        assert step.reason
        assert step.because is not None
        if step.because.source == "rule":
            before = problem.state(step.before)[None]
            assert np.all(bind(step.because.rule, scope)(before)), step.because.rule
            legal = problem.transitions.legal(before)[0]
            for claim in step.because.conditions:
                name = claim.get("cannot", "STOP").split(" to ")[0]
                span = [i for i, action in enumerate(numbers) if action == name or action.split("=")[0] == name]
                assert name == "STOP" or not any(legal[i] and allowed[i] for i in span), claim
            continue
        assert step.because.conditions
        end, _, blocked = without(problem, plan, t)
        for claim in step.because.conditions:
            if "needed_by" in claim:
                assert claim["needed_by"] == blocked
            if claim.get("by") == "model":
                assert blocked == ""
                assert ask(end, np.array([0]))[0] == (claim["without"] == "favourable")
            if "cheaper" in claim:
                assert claim["effort"] < claim["otherwise"]
            if claim.get("without") == "as_it_is":
                assert len(plan.steps) == 1
            if "tried" in claim:
                state = problem.state(plan.start)[None]
                spent = 0.0
                for place, other in enumerate(plan.steps):
                    action = numbers[claim["tried"] if place == t else other.action]
                    state, added, legal = problem.transitions.step(state, np.array([action]))
                    assert legal[0]
                    spent += float(added[0])
                assert spent < plan.cost
                assert not ask(state, np.array([0]))[0]


def _frame(plan: Plan):  # type: ignore[no-untyped-def]
    import pandas as pd

    return pd.DataFrame([[value for _, value in plan.row]], columns=[name for name, _ in plan.row])


def test_every_step_has_a_reason_and_it_is_true(plans: Plans) -> None:
    box = BlackBox(GERMAN.model)
    explained = explain(plans, GERMAN.problem, box, ask=True)
    steps = sum(len(plan.steps) for plan in plans)
    assert steps > 25
    assert explained.reasons == {"rule": 0, "card": 0, "points": 0, "contrast": steps, "none": 0}
    assert 0 < box.queries <= steps
    assert explained.queries == plans.queries + box.queries
    for plan in explained:
        truths(GERMAN.problem, GERMAN.model, plan)
    bare = [replace(step, reason=None, because=None) for plan in explained for step in plan.steps]
    assert bare == [step for plan in plans for step in plan.steps]
    text = explained.to_text()
    assert "because without it the decision would still be unfavourable" in text


@pytest.mark.parametrize("options", [{"alternatives": 3}, {"pareto": True}])
def test_related_plans_have_true_reasons_without_queries(options: dict[str, Any]) -> None:
    """Alternatives and fronts, of a search and of a file; the reasons of the plans themselves do not change."""
    box = BlackBox(GERMAN.model)
    plans = ExactPlanner(GERMAN.problem, box).plan(PEOPLE.head(8), refused=True, **options)
    bare = [replace(plan, related={}) for plan in plans]
    queries = box.queries
    explained = explain(plans, GERMAN.problem, box)
    assert box.queries == queries
    assert [replace(plan, related={}) for plan in explained] == list(explain(Plans(bare), GERMAN.problem, box))
    first, second = BlackBox(GERMAN.model), BlackBox(GERMAN.model)
    explain(plans, GERMAN.problem, first, ask=True)
    explain(Plans(bare), GERMAN.problem, second, ask=True)
    assert first.queries == second.queries > 0, "none for related plans"
    others = [other for plan in explained for kind in plan.related.values() for other in kind]
    assert len(others) > 3
    for other in others:
        truths(GERMAN.problem, GERMAN.model, other)
        assert other.options == ()
    (kind,) = explained.related
    assert explained.related[kind].reasons["none"] == 0
    assert list(explained.related[kind]) == others
    loaded = Plans.from_json(plans.to_json())
    assert explain(loaded, GERMAN.problem, box) == explained == Plans.from_json(explained.to_json())


def test_no_query_unless_it_is_requested(plans: Plans) -> None:
    box = BlackBox(GERMAN.model)
    explained = explain(plans, GERMAN.problem, box)
    assert box.queries == 0
    assert explained.reasons["none"] == 0
    assert all(
        "was not tried without it" in (step.reason or "") or step.because.conditions
        for p in explained
        for step in p.steps
    )  # type: ignore[union-attr]
    assert Plans.from_json(explained.to_json()) == explained
    spent = BlackBox(GERMAN.model, budget=2)
    assert explain(plans, GERMAN.problem, spent, ask=True).reasons["none"] == 0
    assert spent.queries <= 2


def test_cached_answers_are_used(plans: Plans) -> None:
    box = BlackBox(GERMAN.model)
    again = ExactPlanner(GERMAN.problem, box).plan(PEOPLE, refused=True)
    queries = box.queries
    explained = explain(again, GERMAN.problem, box)
    assert box.queries == queries
    known = [c for plan in explained for step in plan.steps for c in step.because.conditions if c.get("by") == "model"]  # type: ignore[union-attr]
    tried = [c for plan in explained for step in plan.steps for c in step.because.conditions if "tried" in c]  # type: ignore[union-attr]
    assert known
    assert tried, "exact search has queried everything cheaper"
    for plan in explained:
        truths(GERMAN.problem, GERMAN.model, plan)
    assert "was tried with the model and is not enough" in explained.to_text()


def test_estimates_are_reported_as_such(plans: Plans) -> None:
    class Believes:
        def __call__(self, states: np.ndarray) -> np.ndarray:
            return np.linspace(0.2, 0.8, len(states))

    explained = explain(plans, GERMAN.problem, BlackBox(GERMAN.model), surrogate=Believes())  # type: ignore[arg-type]
    assert "estimated chance" in explained.to_text()
    assert "the model was not asked" in explained.to_text()


def test_the_programs_rule_comes_first(plans: Plans) -> None:
    problem = GERMAN.problem
    numbers = {str(action): action.index for action in problem.transitions.actions}
    first = next(plan for plan in plans if plan.steps).steps[0]
    age = next(feature for feature in problem.features if feature.name == "age")
    tree = Split(
        Test(age.index, at_least=0.0), Leaf((Choice(numbers[first.action]),)), Leaf((Choice(problem.transitions.stop),))
    )
    program = Program(problem, {INTERVENE: tree})
    explained = explain(plans, problem, BlackBox(GERMAN.model), program)
    counted = explained.reasons
    assert counted["rule"] > 0
    assert counted["contrast"] > 0
    assert counted["none"] == 0
    for plan in explained:
        for t, step in enumerate(plan.steps):
            assert step.because is not None
            assert (step.because.source == "rule") == (t == 0 and step.action == first.action)
    assert explain(explained, problem, BlackBox(GERMAN.model)) == explained, "a rule that is there stays"


def test_a_rule_is_no_reason_in_states_that_the_program_cannot_reach() -> None:
    """The program only ever makes people highly skilled or unskilled residents: to others, its rules do not apply."""
    problem = GERMAN.problem
    numbers = {str(action): action.index for action in problem.transitions.actions}
    job = next(feature for feature in problem.features if feature.name == "job")
    skilled, high, resident = (job.values.index(name) for name in ("skilled", "highly_skilled", "unskilled_resident"))
    first, second = numbers["CHANGE_JOB=highly_skilled"], numbers["CHANGE_JOB=unskilled_resident"]
    start = Split(Test(job.index, at_least=1.0), Leaf((Choice(first),)), Leaf((Choice(second),)))
    then = Leaf((Choice(numbers["CHANGE_SAVINGS=rich"]),))
    after = Split(Test(job.index, among=(high,)), Leaf((Choice(problem.transitions.stop),)), then)
    program = Program(problem, {INTERVENE: start, "CHANGE_JOB": after})
    person = problem.read(GERMAN.refused_test.head(1).assign(job="unskilled_non_resident", saving_accounts="little"))
    for value, expected in ((resident, "rule"), (skilled, "contrast")):
        result = PlanColumns.empty(1, 2)
        result.status[0] = Status.FOUND
        result.actions[0] = numbers[f"CHANGE_JOB={job.values[value]}"], numbers["CHANGE_SAVINGS=rich"]
        plans = Plans.from_columns(problem, person, result)
        explained = explain(plans, problem, BlackBox(GERMAN.model), program)[0].steps[1]
        assert explained.because is not None
        assert explained.because.source == expected


@pytest.mark.parametrize("forbid", [[], ["CHANGE_SAVINGS"], ["CHANGE_JOB", "CHANGE_CREDIT=-5000"]])
@pytest.mark.parametrize("who", ["program", "guided", "unchecked", "cascade", "exact"])
def test_reasons_of_every_planner_are_true(who: str, forbid: list[str]) -> None:
    """Rules hold in the state before the step, what they call impossible is, and contrasts agree with the model."""
    problem, model = GERMAN.problem, GERMAN.model
    program, box = imitated(), BlackBox(model)
    guided = GuidedPlanner(problem, box, lambda states: np.sin(states.sum(axis=1) * 7.3))
    planner: Planner = {
        "program": ProgramPlanner(problem, box, program),
        "cascade": CascadePlanner(problem, box, [ProgramPlanner(problem, box, program), guided]),
        "exact": ExactPlanner(problem, box),
    }.get(who, guided)
    people = GERMAN.refused_test.head(50)
    plans = planner.plan(people, forbid=forbid, **({"budget": 0} if who == "unchecked" else {}))
    explained = explain(plans, problem, box, program)
    assert explained.reasons["none"] == 0
    assert sum(explained.reasons.values()) > 20
    for plan in explained:
        truths(problem, model, plan, forbid)
        if not plan.verified:
            assert not any("holds with it" in (step.reason or "") for step in plan.steps)
    if who == "program":
        assert explained.reasons["contrast"] == 0
        assert (
            any("not possible for you" in (step.reason or "") for plan in explained for step in plan.steps)
            or not forbid
        )


def test_a_single_step_claims_nothing_about_today(plans: Plans) -> None:
    """That a person is refused is stated only if it is known."""
    one = next(plan for plan in plans if len(plan.steps) == 1)
    explained = explain(Plans((one,)), GERMAN.problem, BlackBox(GERMAN.model))[0].steps[0]
    assert explained.reason == "it is the whole plan: without it nothing would change"
    queried = explain(Plans((one,)), GERMAN.problem, BlackBox(GERMAN.model), ask=True)[0].steps[0]
    assert queried.reason == "without it the decision would still be unfavourable"


@pytest.mark.parametrize(("scale", "in_vain"), [(0.9, True), (0.1, False)])
def test_a_step_that_does_not_pay_is_called_so(scale: float, in_vain: bool) -> None:
    """It makes a later one cheaper, by less than it costs, and the decision is the same without it."""
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "work",
            "outcome": {"column": "given", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": 2,
            "features": {name: {"kind": "ordered", "values": ["low", "high"]} for name in ("school", "job")},
            "functions": {
                "LEARN": {"set": "school", "arguments": "all", "cost": 5},
                "WORK": {"set": "job", "arguments": "all", "cost": 10},
            },
            "causes": [{"from": "school", "to": "job", "scale": {"high": scale}}],
        }
    )
    people = problem.read(pd.DataFrame({"school": ["low"], "job": ["low"]}))
    numbers = {str(action): action.index for action in problem.transitions.actions}
    result = PlanColumns.empty(1, 2)
    result.actions[0] = numbers["LEARN=high"], numbers["WORK=high"]
    result.status, result.verified[0] = [Status.FOUND], True
    plans = Plans.from_columns(problem, people, result)
    box = BlackBox(lambda frame: np.where(frame["job"] == "high", "yes", "no"))
    first = explain(plans, problem, box, ask=True)[0].steps[0]
    assert f"it lowers the effort of “{plans[0].steps[1].text}” from 10.0 to {10 * scale:.1f}" in (first.reason or "")
    assert ("favourable without it too" in (first.reason or "")) == in_vain


def test_explained_plans_stay_columns(plans: Plans) -> None:
    """Plans from objects and from columns get the same reasons, and columns need no objects."""
    box = BlackBox(GERMAN.model)
    explained = explain(plans, GERMAN.problem, box, imitated(), ask=True)
    assert explained.people is not None
    read = explain(Plans.from_json(plans.to_json()), GERMAN.problem, box, imitated(), ask=True)
    assert read.plans == explained.plans
    again = explain(explained, GERMAN.problem, box, imitated())
    assert again.reasons == explained.reasons


def test_contrasts_compare_weighted_costs(plans: Plans) -> None:
    """With the same weight for every action, every cost that a reason states is multiplied by it, and nothing else."""
    assert plans.people is not None
    columns = replace(plans.columns, weights=np.full(plans.actions.shape, 4.0))
    weighted = Plans.from_columns(GERMAN.problem, plans.people, columns)

    def savings(of: Plans) -> dict[tuple[int | str, int, str], tuple[float, float]]:
        """The cost of a later step with and without a step, by person, step and action."""
        return {
            (plan.person, t, fact["cheaper"]): (fact["effort"], fact["otherwise"])
            for plan in explain(of, GERMAN.problem, BlackBox(GERMAN.model), ask=True)
            for t, step in enumerate(plan.steps)
            for fact in (step.because.conditions if step.because else ())
            if "cheaper" in fact
        }

    found, expected = savings(weighted), savings(plans)
    assert expected
    for place, costs in expected.items():
        assert found[place] == pytest.approx([4 * cost for cost in costs])


def test_foreign_plans_are_refused(plans: Plans) -> None:
    with pytest.raises(SettingError, match="expects Plans, as `recommend` returns them, not list"):
        explain([plans[0]], GERMAN.problem, BlackBox(GERMAN.model))  # type: ignore[arg-type]
    syn = benchmarks.load("syn")
    with pytest.raises(PlanError, match="made for another problem"):
        explain(plans, syn.problem, BlackBox(syn.model))
    step = Step("FLY", "home", 1.0, "Fly home", plans[0].start, plans[0].start)
    odd = Plans((replace(plans[0], steps=(step,)),))
    with pytest.raises(PlanError, match="has no action FLY=home"):
        explain(odd, GERMAN.problem, BlackBox(GERMAN.model))
    assert len(explain(Plans(()), GERMAN.problem, BlackBox(GERMAN.model))) == 0


@settings(max_examples=12)
@given(st.data())
def test_holds_in_random_worlds(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    model = data.draw(worlds.black_boxes(problem))
    box = BlackBox(model)
    plans = ExactPlanner(problem, box).plan(table)
    program = random_program(problem, data.draw(st.integers(0, 99)), stops=0.8) if data.draw(st.booleans()) else None
    explained = explain(plans, problem, box, program, ask=data.draw(st.booleans()))
    assert explained.reasons["none"] == 0
    for plan in explained:
        if plan.steps:
            truths(problem, model, plan)
