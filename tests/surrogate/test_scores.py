"""Surrogates of scores: margins, fits, learning, planning and storage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import worlds
from counterplan import (
    BlackBox,
    GuidedPlanner,
    GuideSettings,
    LearningSettings,
    Problem,
    Recourse,
    SettingError,
    benchmarks,
)
from counterplan.search.synthetic import random_walk
from counterplan.storage.answer_cache import LabelledStates
from counterplan.surrogate import Surrogate, load_surrogate, save_surrogate
from counterplan.surrogate.active_learning import ActiveLearner, LearningProgress
from counterplan.surrogate.belief import PROBIT, ErrorModel
from counterplan.surrogate.fitting import FitSettings
from counterplan.surrogate.score_fitting import ScoreFitSettings, fit_scores
from counterplan.surrogate.score_link import MAX_MARGIN, ScoreLink
from counterplan.surrogate.surrogate import Calibration
from counterplan.surrogate.trees import LEAVES, Trees, histogram_boosted, tree_inputs

QUICK = ScoreFitSettings(steps=200, trees=40)
FIT = FitSettings(members=2, steps=50, trees=5)


def scored_states(name: str, count: int) -> tuple[BlackBox, np.ndarray, np.ndarray, np.ndarray]:
    """A black box, states of people and ends of random plans, with answers and scores."""
    benchmark = benchmarks.load(name)
    people, box = benchmark.problem.read(benchmark.train.head(count)), BlackBox(benchmark.model)
    rows = np.repeat(np.arange(count), 2)
    states = people.states[rows]
    states[1::2] = random_walk(benchmark.problem, states[1::2], np.random.default_rng(0))
    session = box.session(benchmark.problem, people, scores=True)
    return box, states, session(states, rows), session.known_scores(states, rows)


@pytest.fixture(scope="module")
def fitted() -> tuple[Surrogate, np.ndarray, np.ndarray, np.ndarray]:
    _, states, answers, scores = scored_states("german", 400)
    link = ScoreLink.from_answers(scores, answers, 0.5)
    assert link is not None
    return fit_scores(benchmarks.load("german").problem, states, scores, link, QUICK), states, answers, scores


def test_scores_cost_no_more_queries_than_decisions() -> None:
    box, states, _, scores = scored_states("german", 50)
    assert box.queries == len(np.unique(states, axis=0))
    assert np.isfinite(scores).all()
    plain = BlackBox(benchmarks.load("german").model)
    people = benchmarks.load("german").problem.read(benchmarks.load("german").train.head(5))
    session = plain.session(benchmarks.load("german").problem, people)
    session(people.states, np.arange(5))
    assert np.isnan(session.known_scores(people.states, np.arange(5))).all(), "only if they are wanted"


def test_margins_have_the_sign_of_the_decision() -> None:
    for name in ("german", "adult", "taiwan"):
        _, _, answers, scores = scored_states(name, 200)
        link = ScoreLink.from_answers(scores, answers, 0.5)
        assert link is not None
        margins = link.margin(scores)
        assert ((margins >= 0) == answers).mean() > 0.99, name
        assert np.abs(margins).max() <= MAX_MARGIN


def test_scores_that_tell_no_more_than_decisions_are_not_used() -> None:
    _, _, answers, scores = scored_states("syn", 200)
    assert set(np.unique(scores)) == {0.0, 1.0}
    assert ScoreLink.from_answers(scores, answers, 0.5) is None
    random = np.random.default_rng(0)
    assert ScoreLink.from_answers(random.random(200), random.random(200) < 0.5, 0.5) is None, "no cutoff separates them"
    assert ScoreLink.from_answers(np.append(random.random(99), np.nan), np.ones(100, bool), 0.5) is None
    assert ScoreLink.from_answers(np.empty(0), np.empty(0, bool), 0.5) is None


def test_numbers_that_are_no_probabilities_have_margins_too() -> None:
    scores = np.random.default_rng(0).normal(600, 50, size=300)
    link = ScoreLink.from_answers(scores, scores >= 650, 650.0)
    assert link is not None
    assert not link.probability
    assert link.cutoff == 650
    np.testing.assert_allclose(link.margin(np.array([650.0, 650 + scores.std()])), [0, 1])


@pytest.mark.parametrize(
    "wrong", [{"cutoff": 1.5, "probability": True}, {"cutoff": np.nan}, {"cutoff": 1.0, "scale": 0.0}]
)
def test_invalid_links_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingError, match="cutoff"):
        ScoreLink(**({"probability": False} | wrong))  # type: ignore[arg-type]


def test_a_fit_predicts_decisions_of_people_it_has_not_seen(fitted: tuple[Surrogate, ...]) -> None:
    surrogate, states, answers, _ = fitted
    rows, logits = surrogate.held_out(states)
    assert len(rows) > 100
    assert ((logits >= 0) == answers[rows]).mean() > 0.85
    immutable = set(range(states.shape[1])) - set(surrogate.problem.transitions.mutable.tolist())
    assert set(surrogate.fold_features) == immutable, "all states of a person are in one fold"


def test_histogram_trees_as_arrays_predict_the_same() -> None:
    for seed in range(5):
        problem = Problem.from_dict(worlds.random_problem(seed))
        states = problem.read(worlds.random_people(problem, seed, 300)).states
        x = tree_inputs(problem.features, states)
        y = np.random.default_rng(seed).normal(3, 1, size=300)
        model = HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=LEAVES, min_samples_leaf=5).fit(x, y)
        trees = Trees.mean_of(problem.features, [histogram_boosted(model), histogram_boosted(model)])
        np.testing.assert_allclose(trees(states), model.predict(x), atol=1e-4)


def test_a_surrogate_of_scores_is_saved_whole(tmp_path: Path, fitted: tuple[Surrogate, ...]) -> None:
    surrogate, states, _, scores = fitted
    save_surrogate(surrogate, tmp_path)
    again = load_surrogate(tmp_path, surrogate.problem)
    assert (again.errors, again.link, again.fold_features) == (
        surrogate.errors,
        surrogate.link,
        surrogate.fold_features,
    )
    np.testing.assert_array_equal(again.logit(states), surrogate.logit(states))
    assert again.link is not None
    np.testing.assert_array_equal(again.link.margin(scores), surrogate.link.margin(scores))  # type: ignore[union-attr]


def test_learning_from_scores_plans_with_few_queries(tmp_path: Path) -> None:
    german = benchmarks.load("german")
    settings = LearningSettings(budget=700, score_fit=QUICK)
    recourse = Recourse(german.problem, german.model).fit(german.train, settings=settings, folder=tmp_path)
    surrogate = recourse.surrogate_
    assert surrogate is not None
    assert surrogate.link is not None
    assert recourse.n_queries_["guided"] <= 700
    assert np.isfinite(recourse.answers_.scores).all(), "every answer is stored with its score"
    recourse.save(tmp_path)
    stored = LabelledStates.load(tmp_path / "answers.csv.gz", german.problem)
    assert dict(stored.by_key) == dict(recourse.answers_.by_key)
    box = BlackBox(german.model)
    plans = GuidedPlanner(german.problem, box, surrogate).plan(german.refused_test)
    assert plans.counts["found"] >= 0.95 * len(plans)
    assert all(plan.replay(german.problem, box).ok for plan in plans if plan.status == "found")
    labels_only = LearningSettings(budget=300, scores=False, rounds=1)
    other = Recourse(german.problem, german.model).fit(german.train, settings=labels_only)
    assert other.surrogate_ is not None
    assert other.surrogate_.link is None
    assert np.isnan(other.answers_.scores).all()


def test_all_queries_of_learning_from_scores_go_to_people_and_random_plans() -> None:
    """With a small budget nothing is spent on validation; a few plans are queried for each refused person."""
    german = benchmarks.load("german")
    people, box = german.problem.read(german.train), BlackBox(german.model)
    learner = ActiveLearner(german.problem, people, box, LearningSettings(budget=600, score_fit=QUICK), seed=0)
    reports: list[LearningProgress] = []
    surrogate = learner.run(reports.append)
    assert surrogate.link is not None
    assert learner.queries == box.queries == 600
    assert reports[-1].success is None
    assert reports[-1].error == pytest.approx(PROBIT / surrogate.link.unit)
    as_they_are = {state.tobytes() for state in people.states}
    plans = sum(state.tobytes() not in as_they_are for state in learner.labelled_set.states)
    refused = len(learner.query_pool)
    assert refused < plans < 6 * refused


def test_learning_from_scores_ends_when_the_error_no_longer_falls() -> None:
    german = benchmarks.load("german")
    settings = LearningSettings(people=60, plans=60, validation=9, score_tolerance=0.999, score_fit=QUICK)
    learner = ActiveLearner(german.problem, german.problem.read(german.train), BlackBox(german.model), settings, seed=0)
    learner.run()
    assert learner.round == 3, "errors of two rounds are not compared"
    assert learner.queries < 1_500
    assert learner.metrics[-1]["success"] > 0.5, "what is left of the budget pays for a validation"
    assert all(row["success"] is None for row in learner.metrics[:-1])
    precise = replace(settings, score_precision=10.0)
    learner = ActiveLearner(german.problem, german.problem.read(german.train), BlackBox(german.model), precise, seed=0)
    learner.run()
    assert learner.round == 1


def test_scores_that_are_not_used_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    german = benchmarks.load("german")
    few = LearningSettings(people=60, plans=60, validation=9, rounds=1, scores=False, fit=FIT)
    first = Recourse(german.problem, german.model).fit(german.train, settings=few, quality=False)
    caplog.set_level("INFO", "counterplan")
    again = Recourse(german.problem, german.model)
    again.fit(german.train, settings=replace(few, scores=True), answers=first.answers_, seed=1, quality=False)
    assert again.surrogate_ is not None
    assert again.surrogate_.link is None
    assert "the scores of the model are not used: " in caplog.text
    assert "answers have no score" in caplog.text


def test_a_run_on_scores_resumes_to_the_same_surrogate(tmp_path: Path) -> None:
    german = benchmarks.load("german")

    def fit(folder: Path, budget: int, resume: bool = False) -> Surrogate:
        settings = LearningSettings(budget=budget, rounds=3, patience=9, score_fit=QUICK)
        recourse = Recourse(german.problem, german.model)
        recourse.fit(german.train, settings=settings, folder=folder, resume=resume)
        assert recourse.surrogate_ is not None
        return recourse.surrogate_

    whole = fit(tmp_path / "whole", 2_000)
    again = fit(tmp_path / "whole", 2_000, resume=True)
    states = german.problem.read(german.test.head(50)).states
    np.testing.assert_array_equal(whole.logit(states), again.logit(states))


def test_people_whom_nothing_helps_cost_few_queries(fitted: tuple[Surrogate, ...]) -> None:
    surrogate, *_ = fitted
    german = benchmarks.load("german")
    outcome = german.problem.outcome
    unfavourable = next(value for value in outcome.values if value not in outcome.favourable)
    uncertain = {
        parts: Calibration(c.networks / 20, c.trees / 20, c.shift) for parts, c in surrogate.calibrations.items()
    }

    def queries(errors: ErrorModel | None) -> float:
        box = BlackBox(lambda people: np.full(len(people), unfavourable))
        believed = replace(surrogate, calibrations=uncertain, errors=errors, link=None)
        planner = GuidedPlanner(german.problem, box, believed, settings=GuideSettings(min_chance=0.2))
        plans = planner.plan(german.refused_test.head(20))
        assert plans.counts["found"] == 0
        return float(np.mean([plan.queries for plan in plans]))

    assert queries(surrogate.errors) < 0.8 * queries(None), "answers about a person lower the chances of all states"
