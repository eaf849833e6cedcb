"""A scorecard from a surrogate: what holds for every card, what its model card says, and clear errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import grades
import worlds
from counterplan import BlackBox, Problem, benchmarks
from counterplan.distillation.scorecard_bins import NumberEffect, merge_bins
from counterplan.distillation.scorecard_distiller import ScorecardDistiller, ScorecardOptions
from counterplan.distillation.scorecard_fitting import ScorecardFitSettings, fit_entries
from counterplan.errors import NotFittedError, PeopleError, SettingError
from counterplan.scorecard import Scorecard

pytest.importorskip("jax")
from counterplan.surrogate.active_learning import ActiveLearner, LearningSettings
from counterplan.surrogate.surrogate import Surrogate
from quick import FIT, SCORE_FIT

GERMAN = benchmarks.load("german")
OPTIONS = ScorecardOptions(people=200)
SETTINGS = LearningSettings(
    people=120, plans=120, rounds=2, validation=12, fit=replace(FIT, trees=20), score_fit=SCORE_FIT
)


@pytest.fixture(scope="module")
def surrogate() -> Surrogate:
    people = GERMAN.problem.read(GERMAN.train)
    return ActiveLearner(GERMAN.problem, people, BlackBox(GERMAN.model), SETTINGS, 0).run()


def distil(surrogate: Surrogate | None, options: ScorecardOptions = OPTIONS) -> Scorecard:
    people = GERMAN.problem.read(GERMAN.train)
    return ScorecardDistiller(GERMAN.problem, people, BlackBox(GERMAN.model), surrogate, options).run()


@pytest.fixture(scope="module")
def card(surrogate: Surrogate) -> Scorecard:
    return distil(surrogate)


def test_a_card_is_small_and_without_protected_features(card: Scorecard) -> None:
    assert card.entries <= 45
    assert max(max(one.points) for one in card.features) == 20
    assert all(min(one.all_points) == 0 for one in card.features)
    assert not any(GERMAN.problem.features[one.feature].protected for one in card.features)
    assert card.slope > 0
    assert card.needed * card.slope > card.shift, "enough points are more likely favourable than not"


def test_the_same_seed_makes_the_same_card(card: Scorecard, surrogate: Surrogate) -> None:
    again = distil(surrogate)
    assert (again.features, again.needed, again.slope, again.shift) == (
        card.features,
        card.needed,
        card.slope,
        card.shift,
    )
    assert again.model_card == card.model_card


def test_the_model_card_says_how_it_was_made_and_how_it_does(card: Scorecard) -> None:
    made: Any = card.model_card
    assert made.made_with["method"] == "additive points fitted to a surrogate"
    assert made.seed == 0
    assert sum(made.people) <= 200
    assert 0 < made.success <= 1
    assert made.cost_ratio >= 1
    checked = made.extra["checked"]
    assert checked["queries"] == 3
    assert checked["mean_queries"] <= 3
    assert checked["success"] >= made.success - 0.1
    assert checked["cost_ratio"] <= made.cost_ratio
    assert set(made.groups) == {"sex"}
    assert made.protected_tested == ()
    assert made.protected_avoided == ("sex",)
    assert made.queries["its_plans_checked"] <= 3 * sum(made.tried_on)
    assert made.examples
    assert set(made.ranges) == {"age", "credit_amount", "duration"}


def test_clear_errors(surrogate: Surrogate) -> None:
    with pytest.raises(NotFittedError, match="distilled with a surrogate"):
        distil(None)
    people = GERMAN.problem.read(GERMAN.train)
    lucky = people.take(np.flatnonzero(surrogate.logit(people.states) > 3))
    with pytest.raises(PeopleError, match="none of the"):
        ScorecardDistiller(GERMAN.problem, lucky, BlackBox(GERMAN.model), surrogate, OPTIONS).run()
    with pytest.raises(PeopleError, match="nobody"):
        ScorecardDistiller(GERMAN.problem, people.take(np.arange(0)), BlackBox(GERMAN.model), surrogate, OPTIONS)
    for wrong in ({"seed": -1}, {"people": 0}, {"ends": 0}, {"max_cost_ratio": 0.5}, {"success": 0.0}):
        with pytest.raises(SettingError):
            ScorecardOptions(**wrong)  # type: ignore[arg-type]


def test_protected_features_are_used_if_allowed(surrogate: Surrogate) -> None:
    data = GERMAN.problem.to_dict()
    for spec in data["features"].values():
        spec["protected"] = True
    problem = Problem.from_dict(data)
    people, box = problem.read(GERMAN.train), BlackBox(GERMAN.model)
    with pytest.raises(SettingError, match="protected=True"):
        ScorecardDistiller(problem, people, box, surrogate.with_problem(problem), OPTIONS).run()
    made = ScorecardDistiller(
        problem, people, box, surrogate.with_problem(problem), replace(OPTIONS, protected=True)
    ).run()
    assert made.model_card.protected_tested


def test_three_outcomes() -> None:
    problem = grades.grades()
    people = problem.read(grades.people(300))
    learned = ActiveLearner(problem, people, BlackBox(grades.model), SETTINGS, 0).run()
    made = ScorecardDistiller(problem, people, BlackBox(grades.model), learned, OPTIONS).run()
    assert made.entries
    assert made.model_card.success is not None


@pytest.mark.parametrize("seed", range(6))
def test_entries_of_random_problems_are_valid(seed: int) -> None:
    """Gaps, categories, truths and numbers; the effect of the first feature is found."""
    problem = Problem.from_dict(worlds.random_problem(seed))
    states = problem.read(worlds.random_people(problem, seed, 400)).states
    first = np.nan_to_num(states[:, 0], nan=-1.0)
    logits = 8.0 * (first - np.median(first))
    if not logits.any():
        with pytest.raises(PeopleError, match="nearly the same"):
            fit_entries(problem, states, logits, problem.features, ScorecardFitSettings())
        return
    fitted = fit_entries(problem, states, logits, problem.features, ScorecardFitSettings())
    made = Scorecard(problem, fitted.features, 0, fitted.slope, fitted.shift)
    assert np.corrcoef(made.points(states), np.clip(logits, -3, 3))[0, 1] > 0.7


def test_bins_are_merged_where_the_effect_is_constant() -> None:
    effect = NumberEffect(np.arange(1.0, 8.0), np.array([0, 0, 0, 5, 5, 5, 9, 9.0]), np.ones(8))
    assert merge_bins({0: effect}, 7, 20) == {0: (3.0, 6.0)}
    assert merge_bins({0: effect}, 7, 2) == {0: (3.0,)}
    assert merge_bins({0: effect}, 1, 20) == {0: ()}
