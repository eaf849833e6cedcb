"""Retrained models: their logits, votes, cache and errors, and the calibration of what they say about plans."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest

import grades
from counterplan import Agreement, BlackBox, ModelError, People, Recourse, SettingError, benchmarks
from counterplan.benchmarks import retrained
from counterplan.survival.calibration import LogisticCalibration
from counterplan.survival.leaving_out import exchange_roles, leave_one_out
from counterplan.survival.plan_ends import FrontierEnds
from counterplan.survival.refits import RefitEstimator, Refits, make_refits

PROBLEM = grades.grades(values=["A", "C"], favourable="A")
PEOPLE = PROBLEM.read(grades.people(40))
ROWS = np.arange(40)


class Points:
    """A logistic model of the points, with a cutoff of its own; counts its calls."""

    batch, classes = 10_000, None

    def __init__(self, cutoff: float, slope: float = 1.0) -> None:
        self.cutoff, self.slope, self.calls, self.rows = cutoff, slope, 0, 0
        self.name = self.identity = f"points from {cutoff}, {slope}"

    def _count(self, people: pd.DataFrame) -> np.ndarray:
        self.calls, self.rows = self.calls + 1, self.rows + len(people)
        return self.slope * (grades.points(people) - self.cutoff)

    def labels(self, people: pd.DataFrame) -> np.ndarray:
        return np.where(self._count(people) >= 0, "A", "C")

    def scores(self, people: pd.DataFrame, favourable: frozenset[str]) -> np.ndarray:
        return 1 / (1 + np.exp(-self._count(people)))

    def labels_and_scores(self, people: pd.DataFrame, favourable: frozenset[str]) -> tuple[np.ndarray, np.ndarray]:
        odds = self._count(people)
        return np.where(odds >= 0, "A", "C"), 1 / (1 + np.exp(-odds))


def expected(*cutoffs: float) -> np.ndarray:
    return np.mean([np.clip(grades.points(grades.people(40)) - cutoff, -8, 8) for cutoff in cutoffs], axis=0)


def test_the_logit_is_the_mean_relative_to_each_cutoff() -> None:
    refits = Refits([Points(4), Points(5), Points(7)])
    assert len(refits) == 3
    assert refits.logit(PROBLEM, PEOPLE, PEOPLE.states, ROWS) == pytest.approx(expected(4, 5, 7), abs=1e-5)
    assert refits.logit(PROBLEM, PEOPLE, PEOPLE.states, ROWS, leave_out=1) == pytest.approx(expected(4, 7), abs=1e-5)


def test_thresholds_of_black_boxes_count() -> None:
    """A threshold of .731 in probability is 1 in log odds."""
    refits = Refits([BlackBox(Points(4), threshold=1 / (1 + np.exp(-1))), Points(6)])
    assert refits.logit(PROBLEM, PEOPLE, PEOPLE.states, ROWS) == pytest.approx(expected(5, 6), abs=1e-5)


def test_one_call_of_each_model_for_all_states_and_none_for_known_ones() -> None:
    models = [Points(4), Points(5)]
    refits = Refits(models)
    twice = np.concatenate([PEOPLE.states, PEOPLE.states]), np.concatenate([ROWS, ROWS])
    refits.logit(PROBLEM, PEOPLE, *twice)
    distinct = len(np.unique(PEOPLE.states, axis=0))
    assert [(model.calls, model.rows) for model in models] == [(1, distinct)] * 2
    refits.logit(PROBLEM, PEOPLE, PEOPLE.states, ROWS, leave_out=0)
    refits.favourable(PROBLEM, PEOPLE, PEOPLE.states, ROWS)
    assert [model.calls for model in models] == [1, 1]
    assert [box.queries for box in refits.boxes] == [distinct] * 2


def test_many_states_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterplan.survival.refits.CACHE_SIZE", 25)
    monkeypatch.setattr("counterplan.survival.refits._CHUNK", 10)
    refits = Refits([Points(4), Points(5)])
    for _ in range(2):
        assert refits.logit(PROBLEM, PEOPLE, PEOPLE.states, ROWS) == pytest.approx(expected(4, 5), abs=1e-5)
    assert refits.boxes[0].queries > 40


def test_an_answer_without_its_score_is_queried_again() -> None:
    box = BlackBox(Points(4))
    box.favourable(PROBLEM, PEOPLE)
    assert Refits([box]).logit(PROBLEM, PEOPLE, PEOPLE.states, ROWS) == pytest.approx(expected(4), abs=1e-5)


def test_votes_are_counted_if_a_model_gives_decisions_only() -> None:
    refits = Refits([Points(4), Points(5).labels, Points(7)])
    points = grades.points(grades.people(40))
    yes = (points >= 4).astype(int) + (points >= 5) + (points >= 7)
    assert refits.logit(PROBLEM, PEOPLE, PEOPLE.states, ROWS) == pytest.approx(np.log((yes + 1) / (4 - yes)))
    assert np.array_equal(refits.favourable(PROBLEM, PEOPLE, PEOPLE.states, ROWS).sum(axis=1), yes)


def test_columns_that_the_problem_does_not_describe_are_passed_on() -> None:
    table = grades.people(2).assign(branch=["x", "y"])
    table.iloc[1, :4] = table.iloc[0, :4]
    people = PROBLEM.read(table)
    refits = Refits([lambda frame: np.where(frame["branch"] == "x", "A", "C")])
    assert refits.favourable(PROBLEM, people, people.states, np.arange(2)).tolist() == [[True], [False]]


def test_an_estimate_depends_on_the_state_alone_unless_a_model_may_use_other_columns() -> None:
    refits, calibration = Refits([Points(4), Points(6)]), LogisticCalibration(1.0, 0.0)
    alone = RefitEstimator(refits, calibration, PROBLEM, PEOPLE)
    chance = alone.of_states(PEOPLE.states)
    assert chance is not None
    assert np.array_equal(chance, alone.chance(PROBLEM, PEOPLE, PEOPLE.states, ROWS))
    branches = PROBLEM.read(grades.people(2).assign(branch=["x", "y"]))
    assert RefitEstimator(refits, calibration, PROBLEM, branches).of_states(PEOPLE.states) is None
    assert RefitEstimator(refits, calibration, PROBLEM).of_states(PEOPLE.states) is None


def test_refits_stay_in_this_process() -> None:
    with pytest.raises(TypeError, match="not sent to other processes"):
        pickle.dumps(Refits([Points(4)]))
    recourse = Recourse(PROBLEM, Points(5), refits=[Points(4), Points(6), Points(7)])
    one, two = (recourse.recommend(grades.people(60), "exact", survival="high", jobs=jobs) for jobs in (1, 2))
    assert [plan.actions for plan in one] == [plan.actions for plan in two]
    assert np.array_equal(one.survivals, two.survivals, equal_nan=True)


def test_errors_name_the_refit() -> None:
    def broken(people: pd.DataFrame) -> list[str]:
        raise ValueError("out of order")

    with pytest.raises(ModelError, match=r"refit 2 of 2: .*out of order"):
        Refits([Points(4), broken]).logit(PROBLEM, PEOPLE, PEOPLE.states, ROWS)
    with pytest.raises(ModelError, match=r"refit 1 of 1: 'nowhere' is not a model"):
        Refits(["nowhere"])
    with pytest.raises(SettingError, match="at least one retrained model"):
        Refits([])


def test_a_function_of_a_seed_makes_refits() -> None:
    boxes = make_refits(lambda seed: BlackBox(Points(seed)), 3)
    assert [box.model.name for box in boxes] == ["points from 1, 1.0", "points from 2, 1.0", "points from 3, 1.0"]
    assert len(make_refits(Points)) == 5


def failing(seed: int) -> Points:
    if seed == 2:
        raise RuntimeError("no data")
    return Points(seed)


@pytest.mark.parametrize(
    ("refit", "error", "message"),
    [
        (failing, ModelError, r"refit\(2\) failed: .*no data"),
        (lambda seed: None, ModelError, r"refit\(1\) returned None"),
        (lambda seed: 5, ModelError, r"refit\(1\) did not return a model"),
        (lambda seed: Points(1), SettingError, r"refit\(1\) and refit\(2\) return the same model"),
        (5, SettingError, "'refit' must be a function of a seed"),
    ],
)
def test_a_function_of_a_seed_that_fails(refit: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_refits(refit)


def refused() -> People:
    people = grades.people(60)
    return PROBLEM.read(people[grades.points(people) < 5])


def test_plans_of_one_refit_are_judged_by_another() -> None:
    """Refits that differ in their cutoff by a normal deviation of 1: the slope of the calibration is known."""
    random, people = np.random.default_rng(0), refused()
    today = BlackBox(Points(5.0))
    ends = FrontierEnds(PROBLEM, people, today.session(PROBLEM, people), factor=3)
    refits = Refits([Points(5 + deviation) for deviation in random.normal(size=8)])
    calibration = leave_one_out(refits, ends, PROBLEM, people)
    estimator = RefitEstimator(refits, calibration, PROBLEM)
    assert estimator.refits == refits.fingerprints(PROBLEM)
    assert estimator.source == "refits"
    states, rows = ends(lambda states, rows: estimator.chance(PROBLEM, people, states, rows))
    judges = Refits([Points(5 + deviation) for deviation in random.normal(size=200)])
    held = judges.favourable(PROBLEM, people, states, rows).mean()
    assert estimator.chance(PROBLEM, people, states, rows).mean() == pytest.approx(held, abs=0.12)
    cheap = Refits([Points(5)]).logit(PROBLEM, people, *ends(lambda states, rows: np.ones(len(states))))
    assert (calibration.chance(np.array([-1.0, 0.0, 2.0]))[[0, 2]] - 0.5 > 0).tolist() == [False, True]
    assert (cheap >= 0).all()


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_refits_play_the_model_of_today_in_turn(count: int) -> None:
    people = PROBLEM.read(grades.people(60))
    predicted = BlackBox(Points(5.0)).session(PROBLEM, people)
    deviations = np.random.default_rng(1).normal(size=200)
    refits = Refits([Points(5 + deviation) for deviation in deviations[:count]])
    calibration = exchange_roles(
        refits,
        PROBLEM,
        people,
        weights=(0.0, 4.0, 8.0),
        today=lambda states: predicted(states, np.zeros(len(states), int)),
    )
    assert 0 < calibration.chance(np.array([0.5]))[0] < 1
    assert calibration.slope > 0
    if count == 1:
        with pytest.raises(SettingError, match="one refit"):
            leave_one_out(refits, lambda chance: (people.states, ROWS), PROBLEM, people)
    if count == 5:
        states, rows = people.states, np.arange(60)
        estimator = RefitEstimator(refits, calibration, PROBLEM)
        held = (grades.points(grades.people(60))[:, None] >= 5 + deviations).mean(axis=1)
        assert np.corrcoef(estimator.chance(PROBLEM, people, states, rows), held)[0, 1] > 0.9


def test_nobody_to_plan_for() -> None:
    people = PROBLEM.read(grades.people(0))
    ends = FrontierEnds(PROBLEM, people, BlackBox(Points(5)).session(PROBLEM, people))
    start = LogisticCalibration(0.7, 0.1)
    refits = Refits([Points(4), Points(5)])
    assert leave_one_out(refits, ends, PROBLEM, people, initial=start) == start
    assert exchange_roles(refits, PROBLEM, people, weights=[4], initial=start) == start


def test_refits_that_tell_nothing_new_are_refused() -> None:
    people = grades.people(30)
    for model, refits, message in (
        (Points(5), [Points(4), Points(5)], "refit 2 is the model that plans are made for"),
        (Points(5), [Points(4), Points(4)], "refit 2 is the same model as refit 1"),
        (Agreement([Points(5), Points(6)]), [Points(6)], "refit 1 is the model that plans are made for"),
    ):
        with pytest.raises(SettingError, match=message):
            Recourse(PROBLEM, model, refits=refits).recommend(people, "exact")


def test_survival_by_refits_is_stated_and_planned_for() -> None:
    people = grades.people(60)
    recourse = Recourse(PROBLEM, Points(5), refits=[Points(cutoff) for cutoff in (4.4, 4.8, 5.3, 5.6, 6.1)])
    none, high, sure = (
        recourse.recommend(people, "exact", **words)
        for words in ({}, {"survival": "high"}, {"survival_at_least": 0.75})
    )
    found = np.flatnonzero(none.lengths)
    assert (high.survivals[found] >= none.survivals[found]).all()
    assert high.survivals[found].mean() - none.survivals[found].mean() > 0.1
    assert (high.costs[found] >= none.costs[found]).all()
    for plan in sure:
        if plan.robustness is not None and plan.survival is not None:
            assert plan.robustness.met == (plan.survival >= 0.75)
    refit = Recourse(PROBLEM, Points(5), refit=lambda seed: Points(4 + seed / 3))
    assert np.isfinite(refit.recommend(people, "exact").survivals[found]).all()


@cache
def german_study(seed: int) -> dict[float, tuple[float, float, float, float]]:
    """By weight: stated and realised survival, cost ÷ least, and the share of refits that agree.

    Five refits that differ in the training seed, and eight judges: two of each kind, which planning never saw.
    """
    benchmark = benchmarks.load("german", seed)
    problem, box = benchmark.problem, BlackBox(benchmark.model)
    refits = Refits([retrained(benchmark, "seed", 100 + number) for number in range(5)])
    kinds = ("seed", "bootstrap", "dropped", "split")
    judges = Refits([retrained(benchmark, kind, number) for kind in kinds for number in range(2)])
    train = problem.read(benchmark.refused_train.head(100))
    calibration = leave_one_out(refits, FrontierEnds(problem, train, box.session(problem, train)), problem, train)
    estimator = RefitEstimator(refits, calibration, problem)
    test = problem.read(benchmark.refused_test.head(100))
    session, results = box.session(problem, test), {}
    for weight in (0.0, 4.0, 8.0):
        ends = FrontierEnds(problem, test, session, weights=[weight])
        states, rows = ends(lambda states, rows: estimator.chance(problem, test, states, rows))
        stated = estimator.chance(problem, test, states, rows).mean()
        held, agreed = (models.favourable(problem, test, states, rows).mean() for models in (judges, refits))
        matched = (ends.rows[:, None] == rows) & (ends.states[:, None] == states).all(axis=2)
        results[weight] = float(stated), float(held), float(ends.ratio[matched.any(axis=1)].mean()), float(agreed)
    return results


def test_stated_survival_is_what_unseen_models_realise() -> None:
    studies = [german_study(seed) for seed in (3, 4, 5)]
    for weight in (4.0, 8.0):
        stated, held, ratio, agreed = np.mean([study[weight] for study in studies], axis=0)
        assert abs(stated - held) <= 0.05, weight
        assert agreed - held > stated - held, "counting the refits that agree would overstate"
    assert held >= 0.8
    assert ratio <= 2.0
    assert held - np.mean([study[0.0][1] for study in studies]) > 0.2
