"""Services by KServe V1, Open Inference Protocol V2 and MLflow: requests, labels, probabilities and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterplan.errors import ModelError
from counterplan.models import HttpModel, adapt, labels_and_scores
from services import answering

PEOPLE = pd.DataFrame(
    {
        "income": [1.5, np.nan, 4.0],
        "children": [0, 1, 2],
        "owner": [True, False, True],
        "job": pd.Categorical(["clerk", None, "manager"]),
        "code": [1, None, "x"],
    }
)
CHANCES = [0.2, 0.4, 0.9]
LABELS = ["bad", "bad", "good"]
MATRIX = [[1 - chance, chance] for chance in CHANCES]
V2 = "/v2/models/loan/infer"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


def v2(**outputs: Any) -> dict[str, Any]:
    """Outputs by name in the form of the Open Inference Protocol, with flat data."""
    shaped = {name: np.array(values, dtype=object) for name, values in outputs.items()}
    return {
        "model_name": "loan",
        "outputs": [
            {"name": name, "shape": list(array.shape), "datatype": "FP64", "data": array.ravel().tolist()}
            for name, array in shaped.items()
        ],
    }


@pytest.mark.parametrize(
    ("path", "protocol"),
    [
        ("/v1/models/loan:predict", "v1"),
        ("/predict", "v1"),
        (V2, "v2"),
        ("/v2/models/loan/versions/3/infer", "v2"),
        ("/invocations", "mlflow"),
        ("/team/invocations/", "mlflow"),
    ],
)
def test_the_protocol_follows_from_the_address(path: str, protocol: str) -> None:
    assert adapt(f"http://127.0.0.1:1{path}").protocol == protocol
    assert HttpModel(f"http://127.0.0.1:1{path}", protocol="v2").protocol == "v2"


def test_a_protocol_that_does_not_exist() -> None:
    with pytest.raises(ModelError, match="there is no protocol 'v3'; there are v1, v2, mlflow"):
        HttpModel("http://127.0.0.1:1/", protocol="v3")


def test_v1_sends_instances() -> None:
    with answering("/v1/models/loan:predict", lambda request: {"predictions": LABELS}) as (url, requests):
        assert adapt(url).labels(PEOPLE).tolist() == LABELS
    first = {"income": 1.5, "children": 0, "owner": True, "job": "clerk", "code": 1}
    assert requests[0]["instances"][0] == first
    assert requests[0]["instances"][1]["income"] is None


def test_mlflow_sends_a_split_table() -> None:
    with answering("/invocations", lambda request: {"predictions": [{"0": label} for label in LABELS]}) as (url, asked):
        assert adapt(url).labels(PEOPLE).tolist() == LABELS
    assert asked[0]["dataframe_split"] == {
        "columns": ["income", "children", "owner", "job", "code"],
        "data": [[1.5, 0, True, "clerk", 1], [None, 1, False, None, None], [4.0, 2, True, "manager", "x"]],
    }


def test_v2_sends_a_tensor_for_each_column() -> None:
    with answering(V2, lambda request: v2(label=LABELS)) as (url, requests):
        assert adapt(url).labels(PEOPLE).tolist() == LABELS
    assert requests[0]["inputs"] == [
        {"name": "income", "shape": [3, 1], "datatype": "FP64", "data": [1.5, None, 4.0]},
        {"name": "children", "shape": [3, 1], "datatype": "INT64", "data": [0, 1, 2]},
        {"name": "owner", "shape": [3, 1], "datatype": "BOOL", "data": [True, False, True]},
        {"name": "job", "shape": [3, 1], "datatype": "BYTES", "data": ["clerk", None, "manager"]},
        {"name": "code", "shape": [3, 1], "datatype": "BYTES", "data": ["1", None, "x"]},
    ]


@pytest.mark.parametrize(
    "response",
    [
        v2(predict=LABELS, predict_proba=MATRIX),
        v2(predict_proba=MATRIX, predict=LABELS),
        v2(output_label=[[label] for label in LABELS], probabilities=MATRIX),
        v2(probabilities=MATRIX),
        {"outputs": [{"name": "p", "shape": [3, 2], "datatype": "FP64", "data": MATRIX}]},
    ],
)
def test_v2_labels_and_probabilities_come_in_one_request(response: Any) -> None:
    with answering(V2, lambda request: response) as (url, requests):
        labels, scores = labels_and_scores(HttpModel(url, classes=["bad", "good"]), PEOPLE, {"good"})
    assert labels.tolist() == LABELS
    np.testing.assert_allclose(scores, CHANCES)
    assert len(requests) == 1


def test_v2_scores_without_classes() -> None:
    with answering(V2, lambda request: v2(label=LABELS, score=CHANCES)) as (url, _):
        labels, scores = labels_and_scores(adapt(url), PEOPLE, {"good"})
        assert (labels.tolist(), scores.tolist()) == (LABELS, CHANCES)
    with answering(V2, lambda request: v2(label=[0, 0, 1], probabilities=MATRIX)) as (url, _):
        assert labels_and_scores(adapt(url), PEOPLE, {"1"})[1].tolist() == CHANCES
    with answering(V2, lambda request: v2(label=LABELS, probabilities=MATRIX)) as (url, _):
        assert labels_and_scores(adapt(url), PEOPLE, {"good"})[1] is None
        with pytest.raises(ModelError, match=r"does not say which label each probability is of: .* classes="):
            adapt(url).scores(PEOPLE, {"good"})


@pytest.mark.parametrize("path", ["/predict", "/invocations"])
def test_lists_of_probabilities_have_classes(path: str) -> None:
    with answering(path, lambda request: {"predictions": MATRIX}) as (url, requests):
        labels, scores = labels_and_scores(HttpModel(url, classes=["bad", "good"]), PEOPLE, {"good"})
        assert (labels.tolist(), len(requests)) == (LABELS, 1)
        np.testing.assert_allclose(scores, CHANCES)
        with pytest.raises(ModelError, match=r"gave probabilities of shape \(3, 2\) for 3 classes"):
            HttpModel(url, classes=["bad", "good", "best"]).labels(PEOPLE)


def test_numbers_are_scores_and_labels_are_not() -> None:
    with answering("/predict", lambda request: {"predictions": [600, 700, 650.5]}) as (url, _):
        assert adapt(url).scores(PEOPLE, ()).tolist() == [600, 700, 650.5]
    with answering("/predict", lambda request: {"predictions": LABELS}) as (url, _):
        assert labels_and_scores(adapt(url), PEOPLE, {"good"})[1] is None


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({"predictions": LABELS}, "without a list of outputs"),
        ({"outputs": []}, "without a list of outputs"),
        ({"outputs": [{"name": "label", "data": LABELS}]}, "an output 'label' that has no shape or no data"),
        ({"outputs": [{"name": "p", "shape": [3, 2], "data": [1, 2]}]}, r"'p' of shape \[3, 2\] with 2 values"),
        ({"outputs": [{"name": "p", "shape": [1, 2], "data": ["a", "b"]}]}, "probabilities that are not numbers"),
        ({"outputs": [{"name": "p", "shape": ["3", 2], "data": [1, 2]}]}, "'p' of shape"),
        ({"outputs": [{"name": "p", "shape": [None], "data": []}]}, "'p' of shape"),
    ],
)
def test_v2_responses_that_cannot_be_read(response: Any, message: str) -> None:
    with answering(V2, lambda request: response) as (url, _), pytest.raises(ModelError, match=message):
        adapt(url).labels(PEOPLE)
