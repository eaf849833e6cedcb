"""LightGBM, XGBoost and CatBoost: the same decisions from a typed table, from texts and from a CSV file."""

from __future__ import annotations

import pickle
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline

from counterplan import BlackBox, ExactPlanner, Plans, Problem
from counterplan.errors import ModelError
from counterplan.models import adapt, dtypes_of, labels_and_scores
from counterplan.problem import read_table
from packages import required

lightgbm, xgboost, catboost = required("lightgbm"), required("xgboost"), required("catboost")

JOBS = ["worker", "clerk", "manager"]


def people(rows: int = 120) -> pd.DataFrame:
    """People with a text category, codes as a category, a boolean, and numbers of which some are missing."""
    rng = np.random.default_rng(3)
    income = rng.normal(3, 1, rows).round(3)
    income[::11] = np.nan
    return pd.DataFrame(
        {
            "job type": pd.Categorical(rng.choice(JOBS, rows), categories=[*JOBS, "director"]),
            "income": income,
            "education": pd.Categorical(rng.integers(1, 5, rows), categories=[4, 3, 2, 1]),
            "owner": rng.random(rows) > 0.5,
            "children": rng.integers(0, 4, rows),
        }
    )


def verdicts(table: pd.DataFrame) -> np.ndarray:
    points = table["income"].fillna(3) + (table["job type"] == "manager") + (table["education"] == 4) + table["owner"]
    return (points > 4).to_numpy().astype(int)


PEOPLE = people()
GOOD = verdicts(PEOPLE)
WORDS = np.where(GOOD, "good", "bad")
PROBLEM = Problem.from_dict(
    {
        "counterplan": 1,
        "name": "loan",
        "outcome": {"column": "loan", "values": ["bad", "good"], "favourable": "good", "codes": {"bad": 0, "good": 1}},
        "max_actions": 2,
        "features": {
            "job type": {"kind": "category", "values": [*JOBS, "director"]},
            "income": {"kind": "number", "missing": True},
            "education": {"kind": "ordered", "values": ["1", "2", "3", "4"]},
            "owner": {"kind": "category", "values": [False, True]},
            "children": {"kind": "number", "integer": True},
        },
        "functions": {"EARN": {"add": "income", "arguments": [1, 2], "cost": 1}},
    }
)


def lgb_classifier(target: Any = WORDS, trees: int = 4) -> Any:
    return lightgbm.LGBMClassifier(n_estimators=trees, min_child_samples=5, n_jobs=1, verbose=-1).fit(PEOPLE, target)


def lgb_booster(trees: int = 4) -> Any:
    settings = {"objective": "binary", "min_data_in_leaf": 5, "num_threads": 1, "verbose": -1}
    return lightgbm.train(settings, lightgbm.Dataset(PEOPLE, GOOD), trees)


def xgb_classifier(trees: int = 4) -> Any:
    return xgboost.XGBClassifier(n_estimators=trees, max_depth=3, n_jobs=1, enable_categorical=True).fit(PEOPLE, GOOD)


def xgb_booster(trees: int = 4, objective: str = "binary:logistic") -> Any:
    matrix = xgboost.DMatrix(PEOPLE, GOOD, enable_categorical=True)
    return xgboost.train({"objective": objective, "max_depth": 3, "nthread": 1}, matrix, trees)


CAT_TABLE = PEOPLE.astype({"job type": object, "education": int})


def cat_classifier(trees: int = 4) -> Any:
    settings = {"iterations": trees, "thread_count": 1, "verbose": 0, "allow_writing_files": False, "depth": 3}
    categories = ["job type", "education", "owner"]
    return catboost.CatBoostClassifier(**settings, cat_features=categories).fit(CAT_TABLE, WORDS)


MAKERS = {
    "LGBMClassifier": lgb_classifier,
    "lightgbm.Booster": lgb_booster,
    "XGBClassifier": xgb_classifier,
    "xgboost.Booster": xgb_booster,
    "CatBoostClassifier": cat_classifier,
}


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return {name: make() for name, make in MAKERS.items()}


def own_scores(model: Any) -> np.ndarray:
    """The probability of a good decision, as the package itself gives it."""
    if isinstance(model, lightgbm.Booster):
        return model.predict(PEOPLE)
    if isinstance(model, xgboost.Booster):
        return model.predict(xgboost.DMatrix(PEOPLE, enable_categorical=True))
    return model.predict_proba(CAT_TABLE if isinstance(model, catboost.CatBoost) else PEOPLE)[:, 1]


def as_texts(table: pd.DataFrame) -> pd.DataFrame:
    """What a table becomes that knows no types: texts, also for codes and booleans."""
    return table.assign(**{name: table[name].astype(str).astype(object) for name in ("job type", "education", "owner")})


@pytest.mark.parametrize("name", MAKERS)
def test_typed_columns_texts_and_a_csv_get_the_same_answers(models, name: str, tmp_path: Path) -> None:
    model, expected = models[name], own_scores(models[name])
    adapted = adapt(model)
    favourable = {"good"} if "good" in adapted.classes else {"1"}
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    from_csv = read_table(tmp_path / "people.csv", PROBLEM.features)
    as_floats = PEOPLE.assign(education=PEOPLE["education"].astype(float))
    mixed = PEOPLE if name == "CatBoostClassifier" else as_texts(PEOPLE)  # it compares True with 1, not with a text
    for table in (PEOPLE, mixed, as_floats, from_csv, from_csv[from_csv.columns[::-1]].assign(note="x")):
        labels, scores = labels_and_scores(adapted, table, favourable)
        np.testing.assert_allclose(scores, expected, atol=1e-6)
        np.testing.assert_allclose(adapted.scores(table, favourable), expected, atol=1e-6)
        assert labels.tolist() == adapted.labels(table).tolist()
        box = BlackBox(model)
        assert box.favourable(PROBLEM, table).tolist() == (expected > 0.5).tolist()
        strict = BlackBox(model, threshold=0.7)
        assert strict.favourable(PROBLEM, table).tolist() == (expected >= 0.7).tolist()


@pytest.mark.parametrize("name", ["LGBMClassifier", "lightgbm.Booster", "XGBClassifier", "xgboost.Booster"])
def test_the_categories_of_the_training_data_are_known(models, name: str) -> None:
    dtypes = dtypes_of(adapt(models[name]))
    column = "job_type" if "lightgbm" in name.lower() or "LGBM" in name else "job type"
    assert list(dtypes[column].categories) == [*JOBS, "director"]
    assert list(dtypes["education"].categories) == [4, 3, 2, 1]
    assert "income" not in dtypes


@pytest.mark.parametrize("name", ["LGBMClassifier", "lightgbm.Booster", "XGBClassifier", "xgboost.Booster"])
def test_a_value_that_is_no_category_of_the_model(models, name: str) -> None:
    table = as_texts(PEOPLE.head(3)).assign(**{"job type": ["clerk", "mangaer", "clerk"]})
    message = r"column 'job.type' holds 'mangaer', which is not among the categories .* did you mean 'manager'\?"
    with pytest.raises(ModelError, match=message):
        adapt(models[name]).labels(table)


@pytest.mark.parametrize("name", MAKERS)
def test_numbers_that_are_no_numbers(models, name: str) -> None:
    table = as_texts(PEOPLE.head(3)).assign(income=["1", "much", "2"])
    with pytest.raises(ModelError, match=r"income|much"):
        adapt(models[name]).labels(table)


def test_booleans_with_missing_values_and_columns_of_objects() -> None:
    """Columns that are not categorical are numbers to a booster, whatever they are in the table."""
    truths = PEOPLE["owner"].astype(object)
    truths[::7] = None
    table = PEOPLE.assign(owner=truths.map({True: 1.0, False: 0.0}).astype(float))
    problem = PROBLEM.to_dict()
    problem["features"]["owner"]["missing"] = True
    problem = Problem.from_dict(problem)
    objects = table.assign(owner=truths).astype(object).where(table.notna(), None)
    texts = truths.map(lambda truth: truth if truth is None else str(truth))
    classifiers = (
        lightgbm.LGBMClassifier(n_estimators=4, min_child_samples=5, n_jobs=1, verbose=-1),
        xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1, enable_categorical=True),
    )
    for classifier in classifiers:
        expected = classifier.fit(table, GOOD).predict(table).astype(bool).tolist()
        raw = classifier.booster_ if hasattr(classifier, "booster_") else classifier.get_booster()
        for model in (classifier, raw):
            box = BlackBox(model, cache_size=0)
            people = (
                table.assign(owner=truths),
                table.assign(owner=truths.astype("boolean")),
                table.assign(owner=texts),
                objects,
                objects.to_dict("records"),
            )
            for form in people:
                assert box.favourable(problem, form).tolist() == expected
            person = objects.to_dict("records")[0]  # whose income and owner are missing
            assert person["income"] is None
            for form in (person, pd.DataFrame([person])):
                assert box.favourable(problem, form).tolist() == expected[:1]


def test_native_categories_from_the_command_line(run, models, tmp_path: Path, monkeypatch) -> None:
    """From a CSV file to plans that hold, for boosters that were trained on a typed table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loan.yaml").write_text(yaml.safe_dump(PROBLEM.to_dict(), sort_keys=False))
    PEOPLE.head(12).to_csv(tmp_path / "people.csv", index=False)
    module = types.ModuleType("shop")
    monkeypatch.setitem(sys.modules, "shop", module)
    for name in ("LGBMClassifier", "xgboost.Booster"):
        module.model = models[name]  # type: ignore[attr-defined]
        words = ("recommend", "loan.yaml", "--people", "people.csv", "--model", "shop:model")
        ran = run(*words, "--planner", "exact", "--json", "plans.json")
        assert ran.code == 0, ran.err
        plans = Plans.from_json((tmp_path / "plans.json").read_text())
        expected = ExactPlanner(PROBLEM, BlackBox(models[name])).plan(PEOPLE.head(12))
        np.testing.assert_array_equal(plans.costs, expected.costs)
        assert {plan.status for plan in plans} >= {"found", "already_favourable"}


def test_categories_that_the_model_does_not_tell_are_to_be_given() -> None:
    """LightGBM takes ordered categories as numbers, and does not say which columns they are."""
    table = PEOPLE.assign(**{"job type": PEOPLE["job type"].cat.as_ordered()})
    model = lightgbm.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1).fit(table, WORDS)
    assert adapt(model).labels(table).tolist() == model.predict(table).tolist()
    assert dtypes_of(adapt(model)) is None
    with pytest.raises(ModelError, match=r"column 'job_type' holds '.*', but .* dtypes=, or with --like FILE.parquet"):
        adapt(model).labels(as_texts(table))


def test_a_missing_category_of_catboost_is_to_be_filled(models) -> None:
    table = as_texts(PEOPLE.head(2)).assign(**{"job type": ["clerk", None]})
    with pytest.raises(ModelError, match=r"column 'job type' has a missing value; CatBoost takes .* as a text"):
        adapt(models["CatBoostClassifier"]).labels(table)


@pytest.mark.parametrize("wrap", [make_pipeline, lambda model: CalibratedClassifierCV(model, cv=2)])
def test_an_estimator_around_a_booster_gets_the_types_of_the_booster(wrap) -> None:
    model = wrap(lightgbm.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1)).fit(PEOPLE, WORDS)
    adapted = adapt(model)
    expected = model.predict_proba(PEOPLE)[:, 1]
    np.testing.assert_allclose(adapted.scores(as_texts(PEOPLE), {"good"}), expected, atol=1e-6)


def test_boosters_of_several_classes_and_of_numbers() -> None:
    settings = {"min_data_in_leaf": 5, "num_threads": 1, "verbose": -1}
    several = PEOPLE["education"].cat.codes.to_numpy()
    table = PEOPLE[["income", "children"]]
    multi = lightgbm.train({"objective": "multiclass", "num_class": 4, **settings}, lightgbm.Dataset(table, several), 2)
    labels, scores = labels_and_scores(adapt(multi), table, {"1", "3"})
    assert adapt(multi).classes == ("0", "1", "2", "3")
    assert labels.tolist() == multi.predict(table).argmax(axis=1).tolist()
    np.testing.assert_allclose(scores, multi.predict(table)[:, [1, 3]].sum(axis=1))

    number = lightgbm.train({"objective": "regression", **settings}, lightgbm.Dataset(table, table["children"]), 2)
    assert adapt(number).classes is None
    np.testing.assert_array_equal(adapt(number).scores(table, ()), number.predict(table))

    matrix = xgboost.DMatrix(table, several)
    classes = xgboost.train({"objective": "multi:softmax", "num_class": 4, "nthread": 1}, matrix, 2)
    labels, scores = labels_and_scores(adapt(classes), table, {"1"})
    assert labels.tolist() == classes.predict(matrix).astype(int).tolist()
    assert scores is None
    with pytest.raises(ModelError, match="gives classes, not probabilities"):
        adapt(classes).scores(table, {"1"})


def test_models_trained_on_arrays_get_arrays() -> None:
    table = PEOPLE[["income", "children"]]
    array = table.to_numpy()
    booster = lightgbm.train({"objective": "binary", "num_threads": 1, "verbose": -1}, lightgbm.Dataset(array, GOOD), 2)
    np.testing.assert_array_equal(adapt(booster).scores(table, {"1"}), booster.predict(array))
    matrix = xgboost.DMatrix(array, GOOD)
    booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, matrix, 2)
    np.testing.assert_array_equal(adapt(booster).scores(table, {"1"}), booster.predict(matrix))
    settings = {"iterations": 2, "thread_count": 1, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(**settings).fit(array, GOOD)
    np.testing.assert_array_equal(adapt(model).scores(table, {"1"}), model.predict_proba(array)[:, 1])


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_training_is_the_same_model_and_another_one_is_not(models, name: str) -> None:
    def model_id(model: object) -> str:
        return BlackBox(model).model_id

    model, make = models[name], MAKERS[name]
    before = model_id(model)
    assert "(" in before
    adapt(model).labels(PEOPLE)
    assert model_id(model) == before, "a query changes nothing"
    assert model_id(pickle.loads(pickle.dumps(model))) == before
    assert model_id(make()) == before
    assert model_id(make(trees=5)) != before
    assert model_id(lambda table: model.predict(table)) != model_id(lambda table: make(trees=5).predict(table))


LOAD = """
import sys, catboost, lightgbm, xgboost
from counterplan import BlackBox
cat, xgb = catboost.CatBoostClassifier(), xgboost.XGBClassifier()
cat.load_model("model.cbm")
xgb.load_model("model.ubj")
boosters = lightgbm.Booster(model_file="model.txt"), xgboost.Booster(model_file="model.ubj")
print(*(BlackBox(model).model_id for model in (cat, xgb, *boosters)), sep=chr(10))
"""


def test_a_saved_model_is_the_same_in_another_process(models, tmp_path: Path) -> None:
    models["CatBoostClassifier"].save_model(tmp_path / "model.cbm")
    models["XGBClassifier"].save_model(tmp_path / "model.ubj")
    models["LGBMClassifier"].booster_.save_model(tmp_path / "model.txt")
    ran = subprocess.run([sys.executable, "-c", LOAD], cwd=tmp_path, text=True, capture_output=True, check=True)
    boosters = models["LGBMClassifier"].booster_, models["XGBClassifier"].get_booster()
    expected = [models["CatBoostClassifier"], models["XGBClassifier"], *boosters]
    assert ran.stdout.splitlines() == [BlackBox(model).model_id for model in expected]
