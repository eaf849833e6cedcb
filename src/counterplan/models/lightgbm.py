"""LightGBM: columns, categories and content of `LGBMClassifier` and `Booster`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from counterplan.models.booster import BoosterModel
from counterplan.models.casting import as_numeric
from counterplan.models.package import Package

_PROBABILITIES = {"binary", "multiclass", "multiclassova"}


def _model(model: Any, name: str | None) -> BoosterModel | None:
    if not hasattr(model, "model_to_string"):
        return None
    header = model.model_to_string(num_iteration=1)
    objective = _setting(header, r"^objective=(\w+)")
    columns = model.feature_name()
    from_array = columns == [f"Column_{i}" for i in range(len(columns))]
    return BoosterModel(
        model,
        model.predict,
        name=name or "LightGBM Booster",
        columns=None if from_array else columns,
        dtypes=_dtypes(model),
        classes=max(2, int(_setting(header, r"^num_class=(\d+)"))) if objective in _PROBABILITIES else 0,
        probabilities=True,
    )


def _booster(model: Any) -> Any:
    """The booster of an estimator, or the booster itself."""
    return model if hasattr(model, "model_to_string") else model.booster_


def _dtypes(model: Any) -> Mapping[str, Any] | None:
    """The categories of the training table, which LightGBM keeps in the order of their columns.

    None if there are ordered categories too: LightGBM takes them as numbers and does not say which columns they are.
    """
    booster = _booster(model)
    categories = booster.pandas_categorical or []
    indices = _setting(booster.model_to_string(num_iteration=1), r"^\[categorical_feature: ([\d,]+)\]")
    columns = [booster.feature_name()[int(index)] for index in indices.split(",") if index]
    if not categories or len(categories) != len(columns):
        return None
    return {column: pd.CategoricalDtype(values) for column, values in zip(columns, categories, strict=True)}


def _content(model: Any) -> object:
    """The trees and categories as text, without the settings of the training run."""
    booster = _booster(model)
    trees, _, rest = booster.model_to_string().partition("\nparameters:\n")
    return [trees, rest.partition("end of parameters")[2], getattr(model, "classes_", None)]


def _setting(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else ""


PACKAGE = Package("lightgbm", model=_model, dtypes=_dtypes, content=_content, prepare=as_numeric, argmax=True)
