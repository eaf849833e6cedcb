"""scikit-learn estimators that know the types of their training data, and those around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from counterplan import BlackBox, Problem
from counterplan.errors import ModelError
from counterplan.models import adapt, dtypes_of, labels_and_scores
from counterplan.problem.lint import lint_types


def people(rows: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "job": pd.Categorical(rng.choice(["clerk", "manager"], rows)),
            "education": pd.Categorical(rng.integers(1, 5, rows)),
            "income": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(3, 1, rows)),
        }
    )


PEOPLE = people()
LABELS = np.where((PEOPLE["income"].fillna(3) + PEOPLE["education"].astype(int)) > 5, "good", "bad")
TEXTS = PEOPLE.assign(job=PEOPLE["job"].astype(str), education=PEOPLE["education"].astype(str))


def boosting() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=4, categorical_features="from_dtype", min_samples_leaf=5)


@pytest.mark.parametrize(
    "estimator",
    [
        boosting(),
        make_pipeline(boosting()),
        make_pipeline("passthrough", boosting()),
        CalibratedClassifierCV(boosting(), cv=2),
        GridSearchCV(boosting(), {"max_depth": [2]}, cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_native_categories_are_known_also_inside_of_other_estimators(estimator: Any) -> None:
    model = adapt(estimator.fit(PEOPLE, LABELS))
    dtypes = dtypes_of(model)
    assert {name: list(dtype.categories) for name, dtype in dtypes.items()} == {
        "job": ["clerk", "manager"],
        "education": [1, 2, 3, 4],
    }
    expected = estimator.predict_proba(PEOPLE)[:, 1]
    for table in (PEOPLE, TEXTS, TEXTS[["income", "education", "job"]].assign(note="x")):
        labels, scores = labels_and_scores(model, table, {"good"})
        assert labels.tolist() == estimator.predict(PEOPLE).tolist()
        np.testing.assert_array_equal(scores, expected)


def test_categories_that_were_not_seen_are_left_to_the_estimator() -> None:
    estimator = boosting().fit(PEOPLE, LABELS)
    unseen, missing = TEXTS.assign(job="director"), PEOPLE.assign(job=PEOPLE["job"].where(PEOPLE["job"].isna()))
    np.testing.assert_array_equal(adapt(estimator).scores(unseen, {"good"}), estimator.predict_proba(missing)[:, 1])


def test_a_regressor_with_native_categories() -> None:
    estimator = HistGradientBoostingRegressor(max_iter=3, categorical_features="from_dtype")
    estimator.fit(PEOPLE, PEOPLE["income"].fillna(0) * 100)
    np.testing.assert_array_equal(adapt(estimator).scores(TEXTS, ()), estimator.predict(PEOPLE))


def test_a_pipeline_that_encodes_categories_itself() -> None:
    columns = make_column_transformer((OneHotEncoder(), ["job", "education"]), remainder="passthrough")
    table = TEXTS.assign(income=TEXTS["income"].fillna(0))
    estimator = make_pipeline(columns, LogisticRegression()).fit(table, LABELS)
    model = adapt(CalibratedClassifierCV(estimator, cv=2).fit(table, LABELS))
    assert dtypes_of(model) == {"job": object, "education": object}
    np.testing.assert_array_equal(model.scores(table, {"good"}), model.estimator.predict_proba(table)[:, 1])
    with pytest.raises(ModelError, match="unknown categories"):
        model.labels(table.assign(job="director"))


def test_an_unfitted_estimator_knows_nothing_yet() -> None:
    estimator = boosting()
    model = adapt(estimator)
    assert dtypes_of(model) is None
    estimator.fit(PEOPLE, LABELS)
    assert set(dtypes_of(model)) == {"job", "education"}


def test_categories_of_booleans_which_the_estimator_knows_as_numbers() -> None:
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "home",
            "max_actions": 1,
            "outcome": {"column": "ok", "values": ["bad", "good"], "favourable": "good"},
            "features": {
                "owner": {"kind": "category", "values": [False, True], "missing": True},
                "income": {"kind": "number", "missing": True},
            },
            "functions": {},
        }
    )
    owner = pd.Series(np.random.default_rng(1).random(len(PEOPLE)) < 0.5)
    table = pd.DataFrame({"owner": owner.astype("category"), "income": PEOPLE["income"]})
    model = boosting().fit(table, np.where(owner == (PEOPLE["income"] > 3), "good", "bad"))
    expected = (model.predict(table) == "good").tolist()
    assert {*expected} == {False, True}
    for column in (table["owner"], owner, owner.astype(str), owner.astype(str).astype("category"), owner.astype(int)):
        cast = adapt(model).labels(table.assign(owner=column))
        assert (cast == "good").tolist() == expected
        if column.dtype != "int64":
            assert BlackBox(model, dtypes=table).favourable(problem, table.assign(owner=column)).tolist() == expected
            assert BlackBox(model).favourable(problem, table.assign(owner=column)).tolist() == expected
    assert not list(lint_types(problem, {}, dtypes_of(adapt(model)) or {}))
