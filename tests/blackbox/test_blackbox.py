"""The meter: what is counted, remembered, limited and refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from counterplan import BlackBox, ModelError, Problem, QueryBudgetExceeded, SettingError, benchmarks
from counterplan.blackbox import MeteredOracle

PROBLEM = Problem.from_dict(
    {
        "counterplan": 1,
        "name": "meter",
        "outcome": {"column": "y", "values": ["bad", "fair", "good"], "favourable": "good"},
        "max_actions": 2,
        "features": {
            "x": {"kind": "number", "bins": []},
            "c": {"kind": "category", "values": ["a", "b"], "missing": True},
        },
        "functions": {"ADD": {"add": "x", "arguments": [1], "cost": 1}},
    }
)
GERMAN = benchmarks.load("german")
PEOPLE = pd.DataFrame({"x": [0.0, 1.0, 2.0, 1.0], "c": ["a", "b", None, "b"]})


class Recorder:
    """A model that records its queries."""

    def __init__(self, answer=lambda frame: np.where(frame["x"] >= 1, "good", "bad")) -> None:
        self.answer = answer
        self.frames: list[pd.DataFrame] = []

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        self.frames.append(frame.copy())
        return self.answer(frame)

    @property
    def rows(self) -> int:
        return sum(map(len, self.frames))


def test_counts_rows_and_caches_answers() -> None:
    model = Recorder()
    box = BlackBox(model)
    assert box.favourable(PROBLEM, PEOPLE).tolist() == [False, True, True, True]
    assert (box.queries, box.cached, model.rows) == (3, 1, 3), "two people are the same"
    assert box.favourable(PROBLEM, PEOPLE).tolist() == [False, True, True, True]
    assert (box.queries, box.cached, model.rows) == (3, 5, 3)
    box.clear_cache()
    box.favourable(PROBLEM, PEOPLE)
    assert (box.queries, model.rows) == (6, 6)


def test_the_cache_is_bounded_and_can_be_disabled() -> None:
    small = BlackBox(Recorder(), cache_size=2)
    for _ in range(2):
        assert small.favourable(PROBLEM, PEOPLE).tolist() == [False, True, True, True]
    assert small.queries == 4, "the oldest of three answers was dropped"
    none = BlackBox(Recorder(), cache_size=0)
    none.favourable(PROBLEM, PEOPLE)
    none.favourable(PROBLEM, PEOPLE)
    assert none.queries == 6


def test_a_full_cache_drops_the_oldest_answers() -> None:
    box = BlackBox(Recorder(), cache_size=20)
    people = pd.DataFrame({"x": np.arange(100.0), "c": "a"})
    for row in range(100):
        box.favourable(PROBLEM, people.iloc[[row]])
    sent = box.queries
    box.favourable(PROBLEM, people.iloc[-18:])
    assert box.queries == sent, "the newest answers are cached"
    box.favourable(PROBLEM, people.iloc[:80])
    assert box.queries == sent + 80, "the oldest are not"


def test_zero_has_no_sign_and_problems_do_not_mix() -> None:
    box = BlackBox(Recorder())
    box.favourable(PROBLEM, pd.DataFrame({"x": [0.0, -0.0], "c": ["a", "a"]}))
    assert box.queries == 1
    same = Problem.from_dict(PROBLEM.to_dict() | {"max_actions": 1})
    box.favourable(same, pd.DataFrame({"x": [0.0], "c": ["a"]}))
    assert box.queries == 1, "the model is asked the same"
    outcome = PROBLEM.to_dict()["outcome"] | {"favourable": "bad"}
    other = Problem.from_dict(PROBLEM.to_dict() | {"outcome": outcome})
    zero = pd.DataFrame({"x": [0.0], "c": ["a"]})
    assert box.favourable(other, zero).tolist() == BlackBox(Recorder()).favourable(other, zero).tolist()
    assert box.queries == 1, "the outcome is known, whichever is favourable"
    two = {"column": "y", "values": ["bad", "good"], "favourable": "good"}
    box.favourable(Problem.from_dict(PROBLEM.to_dict() | {"outcome": two}), zero)
    assert box.queries == 2


def test_extra_columns_reach_the_model_and_are_part_of_the_cache_key() -> None:
    model = Recorder(lambda frame: np.where(frame["secret"] > 5, "good", "bad"))
    box = BlackBox(model)
    people = pd.DataFrame({"id": [7, 8], "x": [1.0, 1.0], "c": ["a", "a"], "secret": [9, 1], "y": ["bad", "bad"]})
    assert box.favourable(PROBLEM, people).tolist() == [True, False]
    assert model.frames[0].columns.tolist() == ["id", "x", "c", "secret"], "never the outcome"


def test_the_names_of_extra_columns_matter_too() -> None:
    box = BlackBox(lambda frame: np.where(frame.get("z", pd.Series(0, frame.index)) > 1, "good", "bad"))
    people = pd.DataFrame({"x": [1.0], "c": ["a"]})
    assert box.favourable(PROBLEM, people.assign(z=5)).tolist() == [True]
    assert box.favourable(PROBLEM, people.assign(w=5)).tolist() == [False]


def test_cached_answers_can_be_added_to_another_cache() -> None:
    box = BlackBox(Recorder())
    people = PEOPLE.assign(extra=["p", "long text", "", "q"])
    answers = box.favourable(PROBLEM, people)
    other = BlackBox(Recorder())
    other.add_to_cache(PROBLEM, box.cached_answers(PROBLEM))
    assert (other.favourable(PROBLEM, people) == answers).all()
    assert (other.queries, other.cached) == (0, 4)


def test_answers_are_recorded_as_they_arrive_and_slow_models_get_small_batches() -> None:
    calls: list[int] = []

    def slow(frame: pd.DataFrame) -> np.ndarray:
        calls.append(len(frame))
        clock[0] += 0.25 * len(frame)
        if sum(calls) > 150:
            raise RuntimeError("out of order")
        return np.where(frame["x"] >= 1, "good", "bad")

    clock = [0.0]
    noted: dict[bytes, bool] = {}
    box = BlackBox(slow, clock=lambda: clock[0])
    people = pd.DataFrame({"x": np.arange(300.0), "c": "a"})
    assert box.seconds_per_row is box.marginal_seconds is None
    with box.recording(lambda problem, found: noted.update(found)), pytest.raises(ModelError, match="out of order"):
        box.favourable(PROBLEM, people)
    assert calls[0] == 32
    assert box.seconds_per_row == pytest.approx(0.25)
    assert box.marginal_seconds == pytest.approx(0.25 - 0.01 * (len(calls) - 1) / sum(calls[:-1]))
    assert max(calls[1:]) * 0.25 <= 4, "seconds"
    assert len(noted) == sum(calls[:-1]), "what was answered before it failed is not lost"
    assert noted == box.cached_answers(PROBLEM)
    other = BlackBox(Recorder())
    with other.recording(lambda problem, found: None):
        other.favourable(PROBLEM, people)
    assert [len(frame) for frame in other.model.function.frames] == [32, 64, 128, 76]  # type: ignore[attr-defined]
    other.clear_cache()
    other.favourable(PROBLEM, people)
    assert len(other.model.function.frames) == 5  # type: ignore[attr-defined]


def test_a_metered_oracle_counts_new_queries_and_never_raises() -> None:
    people = PROBLEM.read(PEOPLE)
    box = BlackBox(Recorder())
    ask = MeteredOracle(box.session(PROBLEM, people), 4)
    assert ask(people.states, np.arange(4)).tolist() == [False, True, True, True]
    assert ask.count.tolist() == [1, 1, 1, 0], "the last person is the same as the second"
    ask(people.states, np.arange(4))
    assert ask.count.sum() == 3
    paid: dict[bytes, bool] = {}
    again = MeteredOracle(box.session(PROBLEM, people), 4, budget=2, known_answers=paid)
    answers, known = again.query(people.states, np.arange(4))
    assert again.exhausted
    assert known.tolist() == [True, True, False, True]
    assert answers.tolist() == [False, True, False, True]
    assert (len(paid), again.count.sum()) == (2, 2)
    poor = MeteredOracle(BlackBox(Recorder(), budget=1).session(PROBLEM, people), 4)
    answers, known = poor.query(people.states, np.arange(4))
    assert (poor.exhausted, known.tolist(), poor.count.sum()) == (True, [True, False, False, False], 1)


def test_columns_that_an_estimator_does_not_use_are_not_part_of_the_cache_key() -> None:
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    estimator = LogisticRegression().fit(frame, ["bad", "bad", "good", "good"])
    box = BlackBox(estimator)
    people = pd.DataFrame({"x": [3.0, 3.0], "c": ["a", "a"], "id": [1, 2]})
    assert box.favourable(PROBLEM, people).tolist() == [True, True]
    assert box.queries == 1


def test_batches() -> None:
    model = Recorder()
    box = BlackBox(model, batch=2)
    people = pd.DataFrame({"x": np.arange(5.0), "c": ["a"] * 5})
    assert box.favourable(PROBLEM, people).tolist() == [False, True, True, True, True]
    assert [len(frame) for frame in model.frames] == [2, 2, 1]


def test_an_exhausted_budget_raises_with_the_answers_so_far() -> None:
    model = Recorder()
    box = BlackBox(model, budget=2)
    with pytest.raises(QueryBudgetExceeded, match="budget of 2 queries") as caught:
        box.favourable(PROBLEM, PEOPLE)
    assert caught.value.known.tolist() == [True, True, False, True]
    assert caught.value.answers.tolist() == [False, True, False, True]
    assert (box.queries, model.rows, box.remaining_budget) == (2, 2, 0)
    assert box.favourable(PROBLEM, PEOPLE.iloc[[0, 1, 3]]).tolist() == [False, True, True], "from memory"
    with pytest.raises(QueryBudgetExceeded):
        box.favourable(PROBLEM, PEOPLE.iloc[[2]])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda frame: ["good"], "number of answers: 1"),
        (lambda frame: ["good"] * (len(frame) + 1), "number of answers: 4"),
        (lambda frame: [np.nan] * len(frame), "returned no answer"),
        (lambda frame: [None, "good", "bad"], "returned no answer"),
        (lambda frame: ["godo"] * len(frame), "unknown outcome 'godo'; did you mean 'good'"),
        (lambda frame: np.linspace(0, 0.9, len(frame)), "set a threshold"),
        (lambda frame: frame["nothing"], "KeyError"),
        (lambda frame: np.ma.array(["good"] * len(frame), mask=[True] + [False] * (len(frame) - 1)), "masked array"),
        (lambda frame: np.ma.array(["good"] * len(frame)), "masked array"),
        (lambda frame: [np.ma.masked] + ["good"] * (len(frame) - 1), "one answer per person|masked"),
    ],
)
def test_invalid_answers_are_refused(answer, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        BlackBox(Recorder(answer)).favourable(PROBLEM, PEOPLE)


def test_thresholds() -> None:
    scores = Recorder(lambda frame: frame["x"] / 2)
    assert BlackBox(scores, threshold=0.5).favourable(PROBLEM, PEOPLE).tolist() == [False, True, True, True]
    assert BlackBox(scores, threshold=0.51).favourable(PROBLEM, PEOPLE).tolist() == [False, False, True, False]
    nan = Recorder(lambda frame: frame["x"] * np.nan)
    with pytest.raises(ModelError, match="NaN"):
        BlackBox(nan, threshold=0.5).favourable(PROBLEM, PEOPLE)
    train = pd.DataFrame({"x": [0.0, 1.0, 2.0] * 10})
    estimator = LogisticRegression().fit(train, ["bad", "fair", "good"] * 10)
    chance = estimator.predict_proba(pd.DataFrame({"x": [1.0]}))[0, 1:].sum()
    one = pd.DataFrame({"x": [1.0], "c": ["a"]})
    for shift, wanted in ((-1e-6, True), (1e-6, False)):
        box = BlackBox(estimator, favourable=["fair", "good"], threshold=chance + shift)
        assert box.favourable(PROBLEM, one).tolist() == [wanted]


def test_several_favourable_classes_and_other_types_of_labels() -> None:
    assert BlackBox(Recorder(), favourable={"bad", "good"}).favourable(PROBLEM, PEOPLE).all()
    assert BlackBox(Recorder(), favourable="bad").favourable(PROBLEM, PEOPLE).tolist() == [True, False, False, False]
    with pytest.raises(ModelError, match="did you mean 'good'"):
        BlackBox(Recorder(), favourable="goood").favourable(PROBLEM, PEOPLE)
    with pytest.raises(SettingError, match="empty"):
        BlackBox(Recorder(), favourable=[])
    truth = Problem.from_dict(
        PROBLEM.to_dict() | {"outcome": {"column": "y", "values": [False, True], "favourable": True}}
    )
    for answer in (lambda f: f["x"] >= 1, lambda f: (f["x"] >= 1).astype(bool).to_numpy(), lambda f: [True] * len(f)):
        assert BlackBox(answer).favourable(truth, PEOPLE)[1:].all()
    with pytest.raises(ModelError, match="unknown outcome '1'"):
        BlackBox(lambda f: (f["x"] >= 0).astype(int)).favourable(truth, PEOPLE)


def test_no_people_no_queries() -> None:
    model = Recorder()
    assert BlackBox(model).favourable(PROBLEM, PEOPLE.head(0)).tolist() == []
    assert model.rows == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": -1}, {"budget": 2.5}, {"batch": 0}, {"cache_size": -1}, {"threshold": float("nan")},
        {"threshold": "0.5"},
    ],
)  # fmt: skip
def test_invalid_settings_are_refused(wrong: dict) -> None:
    with pytest.raises(SettingError):
        BlackBox(Recorder(), **wrong)


def test_masked_probabilities_are_refused() -> None:
    class Masked(LogisticRegression):
        def predict_proba(self, table):  # type: ignore[no-untyped-def]
            return np.ma.array(super().predict_proba(table), mask=False)

    train = pd.DataFrame({"x": [0.0, 1.0, 2.0] * 10})
    estimator = Masked().fit(train, ["bad", "fair", "good"] * 10)
    with pytest.raises(ModelError, match="masked array"):
        BlackBox(estimator, threshold=0.5).favourable(PROBLEM, PEOPLE)


def test_known_answers_are_those_of_people_with_the_same_immutable_features() -> None:
    """An answer about a state belongs to everybody who differs from it in mutable features only, extras included."""
    problem, model = GERMAN.problem, GERMAN.model
    mutable = problem.transitions.mutable
    people = problem.read(GERMAN.refused_test.head(6))
    box = BlackBox(model)
    session = box.session(problem, people)
    states = people.states.copy()
    states[2, next(feature.index for feature in problem.features if feature.name == "duration")] += 1
    rows = np.array([0, 2, 2, 4])
    asked = np.stack([states[0], states[2], people.states[2], states[4]])
    answers = session(asked, rows)
    known = session.known_answers(mutable)
    assert known.rows.tolist() == rows.tolist()
    assert np.array_equal(known.states, asked, equal_nan=True)
    assert known.favourable.tolist() == answers.tolist()
    others = problem.read(GERMAN.refused_test.iloc[[5, 2]])
    assert box.session(problem, others).known_answers(mutable).rows.tolist() == [1, 1]
    assert not len(BlackBox(model).session(problem, people).known_answers(mutable).rows)
    table = GERMAN.refused_test.head(2).assign(note=["p", "q"])
    noted = problem.read(pd.concat([table.head(1), table.head(1).assign(note="r")], ignore_index=True))
    uses = BlackBox(lambda frame: np.where(frame["note"] == "p", "good", "bad"))
    session = uses.session(problem, noted)
    session(noted.states[:1], np.array([0]))
    assert session.known_answers(mutable).rows.tolist() == [0], "the other person has another note"
