"""Survival through `Recourse`: its sources, what is saved, and what each planner does with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import grades
from counterplan import (
    Agreement,
    BlackBox,
    ExactPlanner,
    LearningSettings,
    Plans,
    Recourse,
    SettingError,
    benchmarks,
)
from counterplan.benchmarks import retrained
from counterplan.errors import ForeignAnswersWarning, StorageError
from quick import FIT, SCORE_FIT

GERMAN = benchmarks.load("german")
PEOPLE = GERMAN.refused_test.head(12)
LABELS = GERMAN.model.labels
QUICK = LearningSettings(people=120, plans=120, rounds=2, validation=12, fit=FIT, score_fit=SCORE_FIT)
REFITS = [retrained(GERMAN, "seed", 100 + number) for number in range(3)]


@pytest.fixture(scope="module")
def fitted() -> Recourse:
    """A surrogate of scores and a committee."""
    return Recourse(GERMAN.problem, GERMAN.model).fit(GERMAN.train, settings=QUICK, quality=False)


@pytest.fixture(scope="module")
def balanced(fitted: Recourse) -> Plans:
    return fitted.recommend(PEOPLE, "exact", survival="balanced")


def test_the_outcome_column_gives_a_committee(fitted: Recourse, balanced: Plans) -> None:
    assert fitted.survival_.source == "committee"
    assert repr(fitted.survival_).startswith("CommitteeEstimator(committee=Committee(problem=Problem(")
    assert len(repr(fitted.survival_)) < 400, "no weights"
    cheapest = fitted.recommend(PEOPLE, "exact")
    assert (balanced.costs >= cheapest.costs).all()
    assert balanced.survivals.mean() > cheapest.survivals.mean() + 0.1
    plan = balanced[int(np.argmax(balanced.costs / cheapest.costs))]
    assert plan.robustness.proved
    assert plan.robustness.basis.weight == 4
    assert plan.robustness.cheapest_survival < plan.survival
    assert "retrained models would too. The cheapest plan takes" in " ".join(str(plan).split())
    high = fitted.recommend(PEOPLE, "exact", survival="high")
    assert high.costs.sum() >= balanced.costs.sum()
    assert high.survivals.mean() >= balanced.survivals.mean()


def test_survival_is_saved_and_loaded(fitted: Recourse, balanced: Plans, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    loaded = Recourse.load(tmp_path, GERMAN.model)
    again = loaded.recommend(PEOPLE, "exact", survival="balanced")
    np.testing.assert_array_equal(again.survivals, balanced.survivals)
    np.testing.assert_array_equal(again.actions, balanced.actions)
    with pytest.warns(ForeignAnswersWarning):
        other = Recourse.load(tmp_path, REFITS[0])
    assert other.survival_.source == "margin", "the committee was calibrated on another model"
    text = (tmp_path / "survival.json").read_text()
    (tmp_path / "survival.json").write_text(text.replace('"shared"', '"shred"'))
    with pytest.raises(StorageError, match=r"survival\.json.*damaged"):
        Recourse.load(tmp_path, GERMAN.model)


@pytest.mark.parametrize("planner", ["auto", "guided", "exact", "cascade"])
def test_planners_that_plan_for_survival(fitted: Recourse, balanced: Plans, planner: str) -> None:
    plans = fitted.recommend(PEOPLE, planner, survival="balanced")
    assert plans.verified.all()
    assert not plans[0].robustness.basis.ignored
    assert plans.costs.sum() <= 1.1 * balanced.costs.sum()
    assert plans.survivals.mean() >= balanced.survivals.mean() - 0.03


def test_several_processes_plan_the_same(fitted: Recourse) -> None:
    people = GERMAN.refused_test.head(70)
    plans = [fitted.recommend(people, "exact", survival="high", jobs=jobs) for jobs in (1, 2)]
    assert plans[0].to_json() == plans[1].with_queries(plans[0].queries, plans[0].cached).to_json()


def test_a_chance_that_is_demanded(fitted: Recourse) -> None:
    plans = fitted.recommend(PEOPLE, "exact", survival_at_least=0.8)
    met = plans.survivals >= 0.8
    assert [plan.robustness.met for plan in plans] == met.tolist()
    impossible = fitted.recommend(PEOPLE.head(2), "exact", survival_at_least=0.97)[0]
    assert impossible.robustness.met is False
    assert "No plan within the rules reaches" in str(impossible)
    assert impossible.survival >= plans[0].survival
    with pytest.raises(SettingError, match=r"committee never states more than 0\.98"):
        fitted.recommend(PEOPLE, "exact", survival_at_least=1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"survival": "balance"}, "did you mean 'balanced'"),
        ({"survival": -1}, "from 0 to 1000"),
        ({"survival": True}, "from 0 to 1000"),
        ({"survival_at_least": 0}, "above 0 and at most 1"),
        ({"survival_at_least": "much"}, "above 0 and at most 1"),
        ({"survival": "high", "survival_at_least": 0.8}, "not both"),
        ({"execution": 2}, "share from 0 to 1"),
        ({"execution": {"CHANGE_JOBS": 0.1}}, "there is no function 'CHANGE_JOBS'"),
    ],
)
def test_mistakes(fitted: Recourse, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        fitted.recommend(PEOPLE, "exact", **wrong)


def test_without_outcomes_the_margin_is_used(fitted: Recourse) -> None:
    bare = Recourse(GERMAN.problem, GERMAN.model)
    assert bare.survival_.source == "margin"
    plans = bare.recommend(PEOPLE, "auto")
    assert np.isfinite(plans.survivals).all()
    assert bare.box.queries == Recourse(GERMAN.problem, GERMAN.model).planner("auto").plan(PEOPLE).queries
    lasting = bare.recommend(PEOPLE, "exact", survival="high")
    assert lasting.survivals.mean() > plans.survivals.mean() + 0.1
    assert (lasting.queries_per_person > plans.queries_per_person).any(), "the score of a state is a query"
    assert lasting[0].robustness.basis.source == "margin"
    guided = Recourse(GERMAN.problem, GERMAN.model, surrogate=fitted.surrogate_)
    assert guided.recommend(PEOPLE, "guided", survival="high").survivals.mean() > plans.survivals.mean() + 0.1


def test_decisions_alone_state_nothing() -> None:
    refused_only = GERMAN.train.drop(columns=[GERMAN.problem.outcome.column])
    recourse = Recourse(GERMAN.problem, LABELS).fit(refused_only, settings=QUICK, quality=False)
    assert recourse.survival_.source == ""
    plan = recourse.recommend(PEOPLE, "exact")[0]
    assert plan.survival is None
    assert "after it is trained again is not known" in str(plan)
    with pytest.raises(SettingError, match=r"no estimate of survival.*refits.*column of the outcome"):
        recourse.recommend(PEOPLE, survival="balanced")
    unfitted = Recourse(GERMAN.problem, LABELS)
    for goal in ({"survival": "balanced"}, {"survival_at_least": 0.8}):
        with pytest.raises(SettingError, match="gives no probabilities"):
            unfitted.recommend(PEOPLE, "exact", **goal)
    with_outcomes = Recourse(GERMAN.problem, LABELS).fit(GERMAN.train, settings=QUICK, quality=False)
    assert with_outcomes.survival_.source == "committee", "decisions calibrate a committee"
    assert np.isfinite(with_outcomes.recommend(PEOPLE, "exact").survivals).all()


def test_a_planner_that_cannot_plan_for_it_says_so(fitted: Recourse) -> None:
    program = fitted.distil(GERMAN.train, traces=300, rounds=1, survival="balanced")
    assert program.model_card.made_with["survival"] == 4
    found = next(plan for plan in fitted.recommend(PEOPLE, "program", survival="balanced") if plan.steps)
    assert not found.robustness.basis.ignored, "it was distilled toward this weight"
    found = next(plan for plan in fitted.recommend(PEOPLE, "program", survival="high") if plan.steps)
    assert found.robustness.basis.ignored
    assert "not planned to last" in str(found)
    stated = fitted.recommend(PEOPLE, "program")
    assert np.isfinite(stated.survivals[stated.lengths > 0]).all()


def test_refits_come_first_and_their_calibration_is_saved(fitted: Recourse, tmp_path: Path) -> None:
    recourse = Recourse(GERMAN.problem, GERMAN.model, refits=REFITS)
    queries = recourse.box.queries
    plans = recourse.recommend(PEOPLE, "exact", survival="balanced")
    assert recourse.box.queries - queries == plans.queries, "the calibration queries only the refits"
    basis = plans[0].robustness.basis
    assert basis.source == "refits"
    assert basis.refits == tuple(BlackBox(model).fingerprint(GERMAN.problem) for model in REFITS)
    report = plans.survival([*REFITS, retrained(GERMAN, "bootstrap", 0)])
    assert report.plans[0].robustness.judged == 1, "refits that planning used are no judges"
    recourse = Recourse(GERMAN.problem, GERMAN.model, refits=REFITS).fit(GERMAN.train, settings=QUICK, quality=False)
    recourse.save(tmp_path)
    before = recourse.recommend(PEOPLE, "exact", survival="high")
    after = Recourse.load(tmp_path, GERMAN.model, refits=REFITS).recommend(PEOPLE, "exact", survival="high")
    np.testing.assert_array_equal(after.survivals, before.survivals)
    without = Recourse.load(tmp_path, GERMAN.model)
    assert without.survival_.source == "committee"


def test_refits_from_a_function() -> None:
    made = []

    def refit(seed: int) -> object:
        made.append(seed)
        return retrained(GERMAN, "seed", 100 + seed)

    recourse = Recourse(GERMAN.problem, GERMAN.model, refit=refit)
    assert made == [1, 2, 3, 4, 5]
    assert recourse.recommend(PEOPLE.head(2), "exact")[0].robustness.basis.source == "refits"
    with pytest.raises(SettingError, match="not both"):
        Recourse(GERMAN.problem, GERMAN.model, refit=refit, refits=REFITS)


def test_falling_short_lowers_survival(fitted: Recourse) -> None:
    plain = fitted.recommend(PEOPLE, "exact")
    short = fitted.recommend(PEOPLE, "exact", execution=0.5)
    np.testing.assert_array_equal(short.actions, plain.actions)
    assert (short.survivals <= plain.survivals + 0.05).all()
    assert (short.survivals < plain.survivals - 1e-6).any()
    concerned = [plan for plan in short if "fall a little short" in " ".join(str(plan).split())]
    adding = ("CHANGE_CREDIT", "CHANGE_DURATION")
    assert concerned == [plan for plan in short if any(step.function in adding for step in plan.steps)]
    lasting = fitted.recommend(PEOPLE, "exact", execution=0.5, survival="high")
    assert lasting.survivals.mean() > short.survivals.mean()


def test_targets_have_an_estimate_each(tmp_path: Path) -> None:
    people = grades.people(300)
    people["grade"] = grades.model(people)
    recourse = Recourse(grades.grades(), grades.model)
    recourse.fit(people, target=["A", "B"], settings=QUICK, quality=False)
    assert recourse.for_target("A").survival_.source == "committee"
    plans = recourse.recommend(people.head(20), "exact", target="A", survival="balanced")
    found = [plan for plan in plans if plan.steps]
    assert found
    assert all(plan.survival is not None for plan in found)
    recourse.save(tmp_path)
    again = Recourse.load(tmp_path, grades.model).recommend(people.head(20), "exact", target="A", survival="balanced")
    np.testing.assert_array_equal(again.survivals, plans.survivals)


def test_members_of_an_agreement_are_no_judges() -> None:
    plans = ExactPlanner(GERMAN.problem, Agreement([GERMAN.model, *REFITS], at_least=3)).plan(PEOPLE)
    report = plans.survival([*REFITS, retrained(GERMAN, "bootstrap", 0)])
    assert report.plans[0].robustness.judged == 1
    read = Plans.from_json(plans.to_json())
    assert read.survival([*REFITS], GERMAN.problem).plans[0].robustness.judged == 0


def test_few_people_do_not_calibrate_refits() -> None:
    recourse = Recourse(GERMAN.problem, GERMAN.model, refits=REFITS)
    alone = recourse.recommend(PEOPLE.head(1), "exact", survival="high")
    assert recourse.recommend(PEOPLE.head(2), "exact", survival="high").survivals[0] == alone.survivals[0]
    together = recourse.recommend(GERMAN.refused_test.head(80), "exact", survival="high")
    assert recourse.recommend(PEOPLE.head(1), "exact", survival="high").survivals[0] == together.survivals[0]
    one = Recourse(GERMAN.problem, GERMAN.model, refits=REFITS[:1])
    one.recommend(GERMAN.refused_test.head(60), "exact", budget=0)
    assert one.box.queries == 0


def test_outcomes_that_are_not_understood_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    column = GERMAN.problem.outcome.column
    people = GERMAN.train.assign(**{column: (GERMAN.train[column] == "good").map({True: "yes", False: "no"})})
    with caplog.at_level("INFO", logger="counterplan"):
        recourse = Recourse(GERMAN.problem, GERMAN.model).fit(people, settings=QUICK, quality=False)
    assert (
        f"the column '{column}' is not used to estimate survival: it has 'no', 'yes', and the outcomes" in caplog.text
    )
    assert recourse.survival_.source == "margin"
    assert recourse.survival_.largest < 0.9
    plan = recourse.recommend(PEOPLE, "exact")[0]
    assert "Judging by its score alone" in str(plan)
    assert "score of the model alone" in recourse._repr_html_()


def test_training_an_agent_keeps_the_committee(fitted: Recourse) -> None:
    committee = fitted._survival.committee
    fitted._survival.fit(GERMAN.problem.read(PEOPLE), 0, None)
    assert fitted._survival.committee is committee


def test_refits_have_the_threshold_of_the_model() -> None:
    strict = BlackBox(GERMAN.model, threshold=0.7)
    recourse = Recourse(GERMAN.problem, strict, refits=iter(REFITS))
    given = Recourse(GERMAN.problem, strict, refits=[BlackBox(model, threshold=0.7) for model in REFITS])
    plans, same = (one.recommend(PEOPLE, "exact", survival="high") for one in (recourse, given))
    np.testing.assert_array_equal(plans.survivals, same.survivals)
    lenient = Recourse(GERMAN.problem, strict, refits=[BlackBox(model) for model in REFITS])
    stated = [one.recommend(PEOPLE, "exact").survivals for one in (recourse, lenient)]
    assert (stated[0] < stated[1]).all(), "black boxes keep their own rule"


def test_a_cascade_without_a_planner_for_survival_says_so(fitted: Recourse) -> None:
    program = fitted.distil(GERMAN.train, traces=300, rounds=1)
    recourse = Recourse(GERMAN.problem, GERMAN.model, program=program)
    plans = recourse.recommend(PEOPLE, "cascade", survival="high")
    assert next(plan for plan in plans if plan.steps).robustness.basis.ignored


def test_a_committee_costs_no_query(fitted: Recourse) -> None:
    bare = GERMAN.train.drop(columns=[GERMAN.problem.outcome.column])
    without = Recourse(GERMAN.problem, GERMAN.model).fit(bare, settings=QUICK, quality=False)
    assert without.survival_.source == "margin"
    assert without.n_queries_ == fitted.n_queries_


def test_programs_toward_survival_last_longer(fitted: Recourse) -> None:
    people, stated = GERMAN.refused_test.head(60), []
    for weight in ("none", 16):
        fitted.distil(GERMAN.train, traces=600, rounds=1, survival=weight)
        plans = fitted.recommend(people, "program")
        stated.append(float(plans.survivals[plans.lengths > 0].mean()))
    assert stated[1] > stated[0] + 0.03
