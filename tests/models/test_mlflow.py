"""MLflow models by object, folder and URI, with and without a signature, and served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from counterplan import BlackBox
from counterplan.errors import ModelError
from counterplan.models import adapt, dtypes_of, labels_and_scores
from packages import required
from services import answering

mlflow: Any = None


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """MLflow, whose import takes a second, is imported only where these tests run."""
    global mlflow
    mlflow = required("mlflow")
    required("mlflow.sklearn")


def people(rows: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "job": rng.choice(["clerk", "manager"], rows).astype(object),
            "income": rng.normal(3, 1, rows),
            "children": rng.integers(0, 4, rows),
            "owner": rng.random(rows) > 0.5,
        }
    )


PEOPLE = people()
TEXTS = PEOPLE.astype(str).astype(object)


def trained(rows: int = 40) -> Any:
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    table = PEOPLE.head(rows)
    return make_pipeline(columns, LogisticRegression()).fit(table, np.where(table["income"] > 3, "good", "bad"))


def saved(path: Path, model: Any, signed: bool = True) -> Path:
    signature = mlflow.models.infer_signature(PEOPLE, model.predict(PEOPLE)) if signed else None
    options = {"serialization_format": "cloudpickle", "pip_requirements": []}
    mlflow.sklearn.save_model(model, path, signature=signature, **options)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("mlflow") / "model", trained())


def test_a_signature_gives_columns_and_types(folder: Path) -> None:
    model, estimator = adapt(folder), trained()
    assert model.name == f"model '{folder}'"
    assert {name: dtype.kind for name, dtype in dtypes_of(model).items()} == {
        "job": "O",
        "income": "f",
        "children": "i",
        "owner": "b",
    }
    for table in (PEOPLE, TEXTS, PEOPLE.astype({"children": float, "job": "category"}), TEXTS.iloc[:, ::-1]):
        labels, scores = labels_and_scores(model, table.assign(note="x"), {"good"})
        assert labels.tolist() == estimator.predict(PEOPLE).tolist()
        np.testing.assert_allclose(scores, estimator.predict_proba(PEOPLE)[:, 1])
    with pytest.raises(ModelError, match="column 'children' holds 'two', but the model takes numbers"):
        model.labels(PEOPLE.assign(children="two"))


def test_an_object_and_a_uri_are_the_same_model(folder: Path, tmp_path: Path) -> None:
    loaded, by_name = BlackBox(mlflow.pyfunc.load_model(str(folder))), BlackBox(folder)
    assert loaded.model_id.rpartition(" (")[2] == by_name.model_id.rpartition(" (")[2] != ""
    again = BlackBox(saved(tmp_path / "again", trained()))
    other = BlackBox(saved(tmp_path / "other", trained(30)))
    assert again.model_id.rpartition(" (")[2] == by_name.model_id.rpartition(" (")[2]
    assert other.model_id.rpartition(" (")[2] != by_name.model_id.rpartition(" (")[2]


def test_a_model_without_a_signature_gets_the_columns_of_the_estimator(tmp_path: Path) -> None:
    model = adapt(saved(tmp_path / "model", trained(), signed=False))
    assert dtypes_of(model) == {"job": object}  # which its encoder was fitted on as texts
    assert model.columns == list(PEOPLE.columns)
    assert model.labels(PEOPLE.assign(note="x")).tolist() == trained().predict(PEOPLE).tolist()


def test_a_regression_model(tmp_path: Path) -> None:
    table = PEOPLE[["income", "children"]]
    regression = LinearRegression().fit(table, table["income"] * 2)
    signature = mlflow.models.infer_signature(table)
    options = {"serialization_format": "cloudpickle", "pip_requirements": []}
    mlflow.sklearn.save_model(regression, tmp_path / "model", signature=signature, **options)
    np.testing.assert_allclose(adapt(tmp_path / "model").scores(PEOPLE, ()), table["income"] * 2)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of runs and models in a folder."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setattr(mlflow.tracking._tracking_service.utils, "_tracking_uri", (tmp_path / "store").as_uri())


@pytest.mark.usefixtures("store")
def test_a_model_of_a_run() -> None:
    with mlflow.start_run() as run:
        logged = mlflow.sklearn.log_model(
            trained(), name="model", serialization_format="cloudpickle", pip_requirements=[]
        )
    for uri in (logged.model_uri, f"runs:/{run.info.run_id}/model"):
        model = adapt(uri)
        assert model.name == f"model '{uri}'"
        assert model.labels(PEOPLE).tolist() == trained().predict(PEOPLE).tolist()


@pytest.mark.usefixtures("store")
def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "MLmodel").write_text("flavors: {}")
    with pytest.raises(ModelError, match="not a usable MLflow model"):
        adapt(tmp_path)
    with pytest.raises(ModelError, match="models:/none/1: not a usable MLflow model"):
        adapt("models:/none/1")


def test_a_served_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    model = mlflow.pyfunc.load_model(str(folder))

    def serve(request: dict[str, Any]) -> dict[str, Any]:
        return {"predictions": model.predict(pd.DataFrame(**request["dataframe_split"])).tolist()}

    with answering("/invocations", serve) as (url, requests):
        assert adapt(url).labels(PEOPLE).tolist() == trained().predict(PEOPLE).tolist()
    assert len(requests) == 1
