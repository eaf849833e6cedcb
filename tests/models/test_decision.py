"""What makes an output favourable: values, codes of the outcome, thresholds, and scores of regression models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from counterplan import BlackBox, Plans, Problem, Recourse
from counterplan.errors import ModelError
from counterplan.models import Decision, adapt, labels_and_scores

PEOPLE = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0]})


def problem(**outcome: Any) -> Problem:
    return Problem.from_dict(
        {
            "counterplan": 1,
            "name": "loan",
            "outcome": {"column": "loan"} | outcome,
            "max_actions": 3,
            "features": {"income": {"kind": "number", "maximum": 9}},
            "functions": {"EARN": {"add": "income", "arguments": [1], "cost": 1}},
        }
    )


LABELS = problem(values=["bad", "good"], favourable="good")
CODED = problem(values=["bad", "good"], favourable="good", codes={"bad": 0, "good": 1})


def classifier(no: object, yes: object) -> LogisticRegression:
    return LogisticRegression().fit(PEOPLE, np.where(PEOPLE["income"] > 2, yes, no))


@pytest.mark.parametrize("model", [classifier(0, 1), classifier("bad", "good"), lambda people: people["income"] > 2])
def test_codes_stand_for_values_and_values_for_themselves(model) -> None:
    outcome = (
        CODED if not callable(model) else problem(values=["b", "g"], favourable="g", codes={"b": False, "g": True})
    )
    assert BlackBox(model).favourable(outcome, PEOPLE).tolist() == [False, False, True, True]
    if not callable(model):
        assert BlackBox(model, threshold=0.5).favourable(CODED, PEOPLE).tolist() == [False, False, True, True]
        assert BlackBox(model, "bad", threshold=0.5).favourable(CODED, PEOPLE).tolist() == [True, True, False, False]


def test_labels_without_codes_name_the_way_out() -> None:
    with pytest.raises(ModelError, match=r"unknown outcome '0'; .* \('codes' in the outcome of the problem map"):
        BlackBox(classifier(0, 1)).favourable(LABELS, PEOPLE)


REGRESSION = LinearRegression().fit(PEOPLE, PEOPLE["income"] * 100)


@pytest.mark.parametrize("model", [REGRESSION, REGRESSION.predict, lambda people: people["income"] * 100])
def test_scores_of_a_regression_model_decide(model) -> None:
    high, low = problem(favourable={"at_least": 299.9}), problem(favourable={"at_most": 200.1})
    assert BlackBox(model).favourable(high, PEOPLE).tolist() == [False, False, True, True]
    assert BlackBox(model).favourable(low, PEOPLE).tolist() == [True, True, False, False]
    assert BlackBox(model, threshold=399.9).favourable(high, PEOPLE).tolist() == [False, False, False, True]
    assert BlackBox(model, threshold=100.1).favourable(low, PEOPLE).tolist() == [True, False, False, False]
    plans = Recourse(high, model).recommend(PEOPLE, planner="exact")
    assert [len(plan.steps) for plan in plans] == [2, 1, 0, 0]
    assert all(plan.replay(high, BlackBox(model)).ok for plan in plans)


def test_rules_are_part_of_the_identity_of_answers() -> None:
    model, limits = BlackBox(REGRESSION), [{"at_least": 3}, {"at_least": 3.00001}, {"at_most": 3}]
    problems = [problem(favourable=favourable) for favourable in limits]
    assert len({one.query_fingerprint for one in problems}) == 3
    assert len({model.fingerprint(one) for one in problems}) == 3
    assert BlackBox(REGRESSION, threshold=3).fingerprint(problems[1]) == model.fingerprint(problems[0])
    assert CODED.query_fingerprint != LABELS.query_fingerprint
    assert Problem.from_dict(problems[2].to_dict()).outcome == problems[2].outcome


def test_a_classifier_has_no_scores_for_a_regression_problem() -> None:
    score = problem(favourable={"at_least": 650})
    with pytest.raises(ModelError, match="gives labels, not numbers: a favourable score needs a regression model"):
        BlackBox(classifier(0, 1)).favourable(score, PEOPLE)
    with pytest.raises(ModelError, match="gives labels"):
        BlackBox(lambda people: ["good"] * len(people)).favourable(score, PEOPLE)
    with pytest.raises(ModelError, match="the problem's outcome is a score, favourable if at least 650"):
        BlackBox(REGRESSION, "good").favourable(score, PEOPLE)


def test_a_problem_of_scores_is_shown() -> None:
    assert "favourable loan: at least 1,650.5" in problem(favourable={"at_least": 1650.5})._repr_html_()


def test_scores_come_with_labels_where_the_model_has_both() -> None:
    model = classifier("bad", "good")
    labels, scores = labels_and_scores(adapt(model), PEOPLE, {"good"})
    assert labels.tolist() == model.predict(PEOPLE).tolist()
    np.testing.assert_array_equal(scores, model.predict_proba(PEOPLE)[:, 1])
    assert labels_and_scores(adapt(LinearSVC().fit(PEOPLE, PEOPLE["income"] > 2)), PEOPLE, {"true"})[1] is None

    class Foreign:
        name, batch, classes = "foreign", 10, None

        def labels(self, people):
            return np.array(["good"] * len(people))

        def scores(self, people, favourable):
            raise ModelError("no scores")

    assert labels_and_scores(Foreign(), PEOPLE, {"good"})[1] is None


def test_answers_with_scores_are_larger_the_more_favourable() -> None:
    model = adapt(lambda people: people["income"] * 100)
    least, most = (Decision.of(problem(favourable={key: 200}).outcome, None, None) for key in ("at_least", "at_most"))
    assert least.answers_and_scores(model, PEOPLE)[1].tolist() == [100, 200, 300, 400]
    answers, scores = most.answers_and_scores(model, PEOPLE)
    assert (answers.tolist(), scores.tolist()) == ([True, True, False, False], [-100, -200, -300, -400])
    labels = Decision.of(problem(values=[0, 1], favourable=1).outcome, None, None)
    answers, scores = labels.answers_and_scores(adapt(lambda people: (people["income"] > 2) * 1.0), PEOPLE)
    assert (answers.tolist(), scores) == ([False, False, True, True], None), "labels that are numbers are not scores"
    answers, scores = labels.answers_and_scores(adapt(classifier(0, 1)), PEOPLE)
    assert answers.tolist() == [False, False, True, True]
    assert (scores > 0.5).tolist() == answers.tolist()


BANK = """
def score(people):
    return people["income"] * 100 + 50 * people["owner"]
"""


def test_a_score_from_a_table_to_plans(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "scorecard", raising=False)
    (tmp_path / "scorecard.py").write_text(BANK)
    table = pd.DataFrame({"income": [i / 4 for i in range(40)], "owner": [0, 1] * 20})
    table.assign(score=table["income"] * 100 + 50 * table["owner"]).to_csv("people.csv", index=False)
    assert run("init", "people.csv", "--outcome", "score", "--out", "loan.yaml").code == 0
    text = (tmp_path / "loan.yaml").read_text()
    assert "favourable: {at_least: 512.5}" in text
    head, _, _ = text.partition("\nfunctions:")
    (tmp_path / "loan.yaml").write_text(head + "\nfunctions:\n  EARN: {add: income, arguments: [1, 2], cost: 1}\n")
    checked = run("check", "loan.yaml")
    assert checked.code == 0, checked.err
    words = ("recommend", "loan.yaml", "--people", "people.csv", "--model", "scorecard:score", "--planner", "exact")
    ran = run(*words, "--json", "plans.json")
    assert ran.code == 0, ran.err
    plans = Plans.from_json((tmp_path / "plans.json").read_text())
    refused = 100 * table["income"] + 50 * table["owner"] < 512.5
    assert [plan.status == "already_favourable" for plan in plans] == (~refused).tolist()
    assert {plan.status for plan in plans} > {"found"}
