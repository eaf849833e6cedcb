"""Several models as one black box, by brute force, with every planner, on the meter and in the cache."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier

import grades
import worlds
from counterplan import (
    Agreement,
    BlackBox,
    ExactPlanner,
    ForeignAnswersWarning,
    LearningSettings,
    ModelError,
    QueryBudgetExceeded,
    Recourse,
    SettingError,
    Status,
    benchmarks,
)
from counterplan.agent import Agent, NetworkConfig
from counterplan.planners import CascadePlanner
from counterplan.planners.registry import NAMES
from planners.brute_force import brute_force, indices
from quick import FIT, SCORE_FIT


@settings(max_examples=25)
@given(st.data())
def test_exact_plans_convince_so_many_models_at_the_least_cost(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    models = data.draw(st.lists(worlds.black_boxes(problem), min_size=1, max_size=4))
    at_least = data.draw(st.integers(1, len(models)))
    people = problem.read(table)
    boxes = [BlackBox(model) for model in models]

    def votes(frame: pd.DataFrame) -> np.ndarray:
        answers = np.array(models[0].answers, object)
        return answers[(sum(model.favourable(frame).astype(int) for model in models) >= at_least).astype(int)]

    counted = BlackBox(votes)
    for row, plan in enumerate(ExactPlanner(problem, Agreement(models, at_least)).plan(table)):
        best = brute_force(problem, people, row, counted)
        if best is None:
            assert plan.status is Status.INFEASIBLE
            continue
        cost, _, actions = best
        assert plan.optimal
        assert plan.cost == pytest.approx(cost, abs=1e-5)
        assert indices(problem, plan) == actions
        assert sum(plan.replay(problem, box).ok for box in boxes) >= at_least


class Shifted:
    """The network of german with other labels: favourable from `threshold` on."""

    batch, classes = 100_000, None

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.name = self.identity = f"german from {threshold}"

    def labels(self, people: pd.DataFrame) -> np.ndarray:
        return np.where(german().model.scores(people, {"good"}) >= self.threshold, "good", "bad")

    def scores(self, people: pd.DataFrame, favourable: frozenset[str]) -> np.ndarray:
        return german().model.scores(people, favourable)

    def label_threshold(self, favourable: frozenset[str]) -> float:
        return self.threshold


@cache
def german() -> benchmarks.Benchmark:
    return benchmarks.load("german")


MODELS = (Shifted(0.5), Shifted(0.55), Shifted(0.6))
STATES = 40


def known(at_least: int, scores: bool) -> list[tuple[bool, float | None]]:
    """The answers of an agreement about people of german."""
    people = german().problem.read(german().test.head(STATES))
    session = Agreement(MODELS, at_least).session(german().problem, people, scores=scores)
    return [(answer.favourable, answer.score) for answer in session.answers(people.states, np.arange(STATES))]


@pytest.mark.parametrize("at_least", [1, 2, 3])
def test_scores_are_those_of_the_deciding_model(at_least: int) -> None:
    threshold = (0.5, 0.55, 0.6)[at_least - 1]  # models disagree by their thresholds alone: the third decides for all
    favourable, scores = map(np.array, zip(*known(at_least, True), strict=True))
    assert [answer for answer, _ in known(at_least, False)] == favourable.tolist()
    assert np.array_equal(scores >= 0.5, favourable)
    chance = german().model.scores(german().test.head(STATES), {"good"})
    expected = np.log(chance / (1 - chance)) - np.log(threshold / (1 - threshold))
    assert np.log(scores / (1 - scores)) == pytest.approx(expected, abs=2e-6)
    assert len(set(favourable.tolist())) == 2


def test_a_model_without_scores_leaves_the_agreement_without() -> None:
    people = german().problem.read(german().test.head(STATES))
    box = Agreement([MODELS[0], MODELS[2].labels])
    answers = box.session(german().problem, people, scores=True).answers(people.states, np.arange(STATES))
    assert {answer.score for answer in answers} == {None}
    assert [answer.favourable for answer in answers] == (MODELS[2].labels(people.table) == "good").tolist()


def test_labels_with_a_threshold_of_their_own_give_scores_relative_to_it() -> None:
    problem, people = grades.grades(values=["A", "C"], favourable="A"), grades.people(300)
    inputs, labels = people[["income", "debt"]], np.where(grades.points(people) >= 6, "A", "C")
    fitted = LogisticRegression(max_iter=1000).fit(inputs / 1000, labels)
    strict = FixedThresholdClassifier(fitted, threshold=0.8, pos_label="A").fit(inputs / 1000, labels)
    read = problem.read(people)

    class Thousands:
        """Takes incomes in thousands."""

        def __init__(self, estimator: FixedThresholdClassifier) -> None:
            self.estimator, self.classes_, self.pos_label = estimator, estimator.classes_, "A"
            self.response_method, self.threshold = "auto", 0.8

        def predict(self, frame: pd.DataFrame) -> np.ndarray:
            return self.estimator.predict(frame[["income", "debt"]] / 1000)

        def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
            return self.estimator.predict_proba(frame[["income", "debt"]] / 1000)

    session = Agreement([Thousands(strict)]).session(problem, read, scores=True)
    answers = session.answers(read.states, np.arange(len(read)))
    probability = fitted.predict_proba(inputs / 1000)[:, 0]
    between = (probability > 0.55) & (probability < 0.75)
    assert between.any()
    scores = np.array([answer.score for answer in answers])
    assert (scores[between] < 0.45).all()
    assert [answer.favourable for answer in answers] == (probability >= 0.8).tolist()


def test_scores_that_are_no_probabilities() -> None:
    problem = grades.grades(values=None, favourable={"at_least": 6})
    read = problem.read(grades.people(50))
    high = BlackBox(grades.points, threshold=8)
    box = Agreement([grades.points, high])
    answers = box.session(problem, read, scores=True).answers(read.states, np.arange(50))
    points = grades.points(grades.people(50))
    assert [answer.favourable for answer in answers] == (points >= 8).tolist()
    scores = np.array([answer.score for answer in answers])
    assert np.array_equal(scores >= 0.5, points >= 8)
    inside = np.abs(points - 8) < 7
    assert np.log(scores / (1 - scores))[inside] == pytest.approx((points - 8)[inside], abs=1e-5)


def test_one_row_is_one_query_and_models_are_queried_until_the_decision_is_certain() -> None:
    rows = german().refused_test.head(10)
    box = Agreement([BlackBox(model) for model in MODELS], at_least=2)
    assert not box.favourable(german().problem, rows).any()
    assert box.queries == 10
    assert [member.queries for member in box.members] == [10, 10, 0]
    box.favourable(german().problem, rows)
    assert (box.queries, box.cached) == (10, 10)
    with pytest.raises(QueryBudgetExceeded):
        Agreement(MODELS, budget=3).favourable(german().problem, rows)


def test_the_identity_is_that_of_the_models_in_any_order() -> None:
    problem = german().problem
    first, second, third = MODELS
    box = Agreement([first, second], at_least=1)
    same = Agreement([second, first], at_least=1)
    assert box.fingerprint(problem) == same.fingerprint(problem)
    assert box.is_model(same.model_id, problem)
    others = [
        Agreement([first, second], at_least=2),
        Agreement([first, third], at_least=1),
        Agreement([first, second, second], at_least=1),
        Agreement([first, BlackBox(second, threshold=0.7)], at_least=1),
        Agreement([first, BlackBox(second, favourable="bad")], at_least=1),
        BlackBox(first),
    ]
    assert len({box.fingerprint(problem), *(other.fingerprint(problem) for other in others)}) == 7
    assert not any(box.is_model(other.model_id, problem) for other in others)
    assert "at least 1 of 2 models (german from 0.5, german from 0.55)" in box.model_id


def test_each_model_keeps_its_dtypes_and_sees_the_extra_columns() -> None:
    seen: list[tuple[str, object]] = []

    def model(name: str):
        def decide(people: pd.DataFrame) -> np.ndarray:
            seen.append((name, people["job"].dtype))
            return np.where(people["branch"] == name, "A", "C")

        return decide

    people = grades.people(4).assign(branch=["x", "y", "x", "z"])
    category = pd.CategoricalDtype(["none", "clerk", "manager"])
    boxes = [BlackBox(model("x"), dtypes={"job": category}), BlackBox(model("y"))]
    assert Agreement(boxes, 1).favourable(grades.grades(), people).tolist() == [True, True, True, False]
    assert dict(seen)["x"] == category
    assert dict(seen)["y"] != category


def test_several_outcomes_and_targets() -> None:
    problem, people = grades.grades(), grades.people(30)
    lenient = grades.model

    def strict(frame: pd.DataFrame) -> np.ndarray:
        return np.select([grades.points(frame) >= 9, grades.points(frame) >= 6], ["A", "B"], "C")

    plans = Recourse(problem, Agreement([lenient, strict])).recommend(people, "exact", target="A")
    for plan in plans:
        if plan.status is Status.FOUND:
            assert strict(pd.DataFrame([plan.steps[-1].after]))[0] == "A"
    assert plans.counts["found"] > 3
    mixed = Recourse(problem, Agreement([lenient, BlackBox(strict, threshold=0.5)]))
    with pytest.raises(SettingError, match="threshold"):
        mixed.recommend(people, "exact", target="A")


def test_errors_name_the_model() -> None:
    def broken(people: pd.DataFrame) -> list[str]:
        raise ValueError("no connection")

    with pytest.raises(ModelError, match=r"model 2 of 2 that have to agree: model 'broken'.*no connection"):
        Agreement([lambda people: ["good"] * len(people), broken]).favourable(german().problem, german().test.head(2))
    with pytest.raises(ModelError, match=r"model 1 of 1 that have to agree: 'excellent' is not one of"):
        Agreement([BlackBox(broken, "excellent")]).favourable(german().problem, german().test.head(2))
    with pytest.raises(SettingError, match="from 1 to 2, not 3"):
        Agreement(MODELS[:2], 3)
    with pytest.raises(SettingError, match="from 1 to 2, not True"):
        Agreement(MODELS[:2], True)
    with pytest.raises(SettingError, match="at least one model"):
        Agreement([])
    with pytest.raises(SettingError, match="at least one model"):
        Agreement("bank:decide")
    with pytest.raises(SettingError, match="budget of its own"):
        Agreement([BlackBox(MODELS[0], budget=5)])


@cache
def learned() -> Recourse:
    """A surrogate of the agreement of two of three models, and an untrained agent."""
    box = Agreement(MODELS, at_least=2)
    problem, train = german().problem, german().train
    agent = Agent.new(problem, problem.read(train), NetworkConfig(8, 8), np.random.default_rng(0))
    recourse = Recourse(problem, box, agent=agent)
    settings = LearningSettings(people=120, plans=120, rounds=2, validation=12, fit=FIT, score_fit=SCORE_FIT)
    recourse.fit(train, settings=settings, quality=False)
    recourse.distil(train.head(300), traces=100, rounds=1)
    return recourse


def test_a_surrogate_learns_from_the_scores_of_the_agreement() -> None:
    surrogate = learned().surrogate_
    assert surrogate is not None
    assert surrogate.link is not None
    assert (surrogate.link.cutoff, surrogate.link.probability) == (0.5, True)


@pytest.mark.parametrize("name", NAMES)
def test_every_planner_plans_for_an_agreement(name: str) -> None:
    people = german().refused_test.head(12)
    source = learned()
    parts = {"agent": source.agent_, "surrogate": source.surrogate_, "program": source.program_}
    if name == "card":
        parts["card"] = source.distil(german().train, form="card", traces=200)
    recourse = Recourse(german().problem, Agreement(MODELS, at_least=2), **parts)
    planner = recourse.planner(name)
    if name == "evolution":
        planner.settings = type(planner.settings)(generations=6, population=40)
    plans = planner.plan(people)
    assert plans.counts["found"] >= 3 or name in ("policy", "search")
    boxes = [BlackBox(model) for model in MODELS]
    for plan in plans:
        if plan.status is Status.FOUND and plan.verified:
            assert sum(plan.replay(german().problem, box).ok for box in boxes) >= 2
    if isinstance(planner, CascadePlanner):
        assert plans.counts["found"] == 12


@pytest.mark.parametrize("name", ["exact", "guided", "auto"])
def test_one_model_alone_is_that_model(name: str) -> None:
    people = german().refused_test.head(12)
    boxes = [BlackBox(german().model), Agreement([german().model], at_least=1)]
    surrogate = learned().surrogate_
    first, second = (Recourse(german().problem, box, surrogate=surrogate).recommend(people, name) for box in boxes)
    assert [plan.actions for plan in first] == [plan.actions for plan in second]
    assert [plan.status for plan in first] == [plan.status for plan in second]


@pytest.mark.parametrize("name", ["exact", "guided"])
def test_plans_do_not_depend_on_the_number_of_processes(name: str) -> None:
    people = german().refused_test.head(40)
    found = []
    for jobs in (1, 2):
        recourse = Recourse(german().problem, Agreement(MODELS, 2), surrogate=learned().surrogate_)
        planner = recourse.planner(name)
        if name == "exact":
            planner.batch_size = 10
        found.append((planner.plan(people, jobs=jobs).to_json(), recourse.box.queries))
    assert found[0] == found[1]


def test_answers_of_a_folder_are_those_of_the_agreement(tmp_path) -> None:
    problem = german().problem
    recourse = Recourse(problem, Agreement(MODELS, 2), surrogate=learned().surrogate_)
    recourse.recommend(german().refused_test.head(5), "exact")
    known = len(recourse.answers_)
    assert known > 20
    recourse.save(tmp_path / "learned")
    again = Recourse.load(tmp_path / "learned", Agreement(MODELS[::-1], 2))
    assert len(again.answers_) == known
    with pytest.warns(ForeignAnswersWarning, match="at least 2 of 3"):
        other = Recourse.load(tmp_path / "learned", BlackBox(MODELS[0]))
    assert len(other.answers_) == 0
