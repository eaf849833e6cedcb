"""Requests and responses of inference services: KServe V1, Open Inference Protocol V2, MLflow."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from counterplan.models.outputs import Array
from counterplan.problem.values import cut, is_missing, text_of

_DATATYPES = {
    frozenset([bool]): "BOOL",
    frozenset([int]): "INT64",
    frozenset([float]): "FP64",
    frozenset([int, float]): "FP64",
    frozenset(): "FP64",
}
"""The datatype of a tensor by the types of its values; all others are texts."""
_SCORES = re.compile(r"prob|score", re.IGNORECASE)


class Predictions(NamedTuple):
    """The response of a service: labels (or numbers) [B], probabilities [B, C], or both."""

    labels: list[Any] | None
    probabilities: Array | None = None


@dataclass(frozen=True)
class InferenceProtocol:
    """How people are written in a request, and predictions read from a response.

    Attributes
    ----------
    request : callable
        From columns of plain JSON values to the body of a request.
    predictions : callable
        From a parsed response to the predictions; a ValueError says what the response lacks.
    """

    request: Callable[[Mapping[str, list[Any]]], Any]
    predictions: Callable[[Any], Predictions]


def protocol_of(url: str) -> str:
    """The name of the protocol that an address belongs to."""
    path = urlsplit(url).path.rstrip("/")
    if re.search(r"/v2/models/[^/]+(/versions/[^/]+)?/infer$", path):
        return "v2"
    return "mlflow" if path.endswith("/invocations") else "v1"


def plain_columns(people: pd.DataFrame) -> dict[str, list[Any]]:
    """The columns of a table as JSON values; ValueError if a value has no JSON form."""
    columns = {}
    for column, values in people.items():
        try:
            columns[str(column)] = [_plain(value) for value in values.astype(object)]
        except ValueError as error:
            raise ValueError(f"column '{column}' holds {error}, which JSON cannot") from error
    return columns


def _plain(value: Any) -> Any:
    """Convert a table's value to JSON; ValueError if that is impossible."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, date):  # datetime and Timestamp too
        return value.isoformat()
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    raise ValueError(cut(repr(value)))


def _rows(columns: Mapping[str, list[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*columns.values(), strict=True))


def _instances(columns: Mapping[str, list[Any]]) -> Any:
    return {"instances": [dict(zip(columns, row, strict=True)) for row in _rows(columns)]}


def _split(columns: Mapping[str, list[Any]]) -> Any:
    return {"dataframe_split": {"columns": list(columns), "data": [list(row) for row in _rows(columns)]}}


def _tensors(columns: Mapping[str, list[Any]]) -> Any:
    """One tensor [B, 1] per column; missing values are null."""
    inputs = []
    for name, values in columns.items():
        kinds = frozenset(type(value) for value in values if value is not None)
        datatype = _DATATYPES.get(kinds, "BYTES")
        data = values if kinds in _DATATYPES else [None if value is None else text_of(value) for value in values]
        inputs.append({"name": name, "shape": [len(values), 1], "datatype": datatype, "data": data})
    return {"parameters": {"content_type": "pd"}, "inputs": inputs}


def _listed(response: Any) -> Predictions:
    """`{"predictions": [...]}` or a bare list: one label, number or list of probabilities per person."""
    predictions = response.get("predictions") if isinstance(response, dict) else response
    if not isinstance(predictions, list):
        raise ValueError("without a list of predictions")
    if predictions and all(isinstance(one, dict) and len(one) == 1 for one in predictions):  # a table of one column
        predictions = [next(iter(one.values())) for one in predictions]
    if predictions and all(isinstance(one, list) and len(one) > 1 for one in predictions):
        return Predictions(None, _matrix(predictions))
    if any(isinstance(one, (list, dict)) for one in predictions):
        raise ValueError("with predictions that are not one label or number each")
    return Predictions(predictions)


def _named(response: Any) -> Predictions:
    """`{"outputs": [{"name", "shape", "data"}, ...]}`: labels, probabilities [B, C], or both."""
    outputs = response.get("outputs") if isinstance(response, dict) else None
    if not isinstance(outputs, list) or not all(isinstance(one, dict) for one in outputs) or not outputs:
        raise ValueError("without a list of outputs")
    labels: list[Any] | None = None
    probabilities: Array | None = None
    for output in outputs:
        name, shape, data = (output.get(key) for key in ("name", "shape", "data"))
        if not isinstance(shape, list) or not isinstance(data, list) or not shape:
            raise ValueError(f"with an output {cut(repr(name))} that has no shape or no data")
        values = _flat(data)
        width = math.prod(shape[1:]) if all(type(size) is int for size in shape) else -1
        if width < 1 or shape[0] * width != len(values):
            raise ValueError(f"with an output {cut(repr(name))} of shape {shape} with {len(values)} values")
        if width > 1 or (len(outputs) > 1 and _SCORES.search(str(name))):
            matrix = _matrix([values[i : i + width] for i in range(0, len(values), width)])
            probabilities = matrix if probabilities is None else probabilities
        elif labels is None:
            labels = values
    return Predictions(labels, probabilities)


def _flat(data: list[Any]) -> list[Any]:
    """The values of a tensor, which may be nested lists."""
    while data and all(isinstance(one, list) for one in data):
        data = [value for one in data for value in one]
    return data


def _matrix(rows: list[Any]) -> Array:
    try:
        matrix = np.array(rows, dtype=float)
    except (TypeError, ValueError):
        raise ValueError("with probabilities that are not numbers, as many for each person") from None
    return matrix


PROTOCOLS = {
    "v1": InferenceProtocol(_instances, _listed),
    "v2": InferenceProtocol(_tensors, _named),
    "mlflow": InferenceProtocol(_split, _listed),
}
