"""XGBoost: columns, categories and content of `XGBClassifier` and `Booster`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from counterplan.models.booster import BoosterModel
from counterplan.models.casting import as_numeric
from counterplan.models.package import Package


def _model(model: Any, name: str | None) -> BoosterModel | None:
    if hasattr(model, "get_booster"):
        return None
    learner = json.loads(model.save_config())["learner"]
    objective = learner["objective"]["name"]
    classes = max(2, int(learner["learner_model_param"]["num_class"]))
    matrix = sys.modules["xgboost"].DMatrix
    return BoosterModel(
        model,
        lambda people: model.predict(matrix(people, enable_categorical=True)),
        name=name or "XGBoost Booster",
        columns=model.feature_names,
        dtypes=_dtypes(model),
        classes=classes if objective.startswith(("binary:", "multi:")) and objective != "binary:logitraw" else 0,
        probabilities=objective in ("binary:logistic", "multi:softprob"),
    )


def _booster(model: Any) -> Any:
    """The booster of an estimator, or the booster itself."""
    return model.get_booster() if hasattr(model, "get_booster") else model


def _dtypes(model: Any) -> Mapping[str, Any] | None:
    """Booleans by the feature types, and the categories of the training table, which XGBoost stores since 3.1.

    The categories are read through Arrow, so that they are known only where pyarrow is installed.
    """
    booster = _booster(model)
    types = dict(zip(booster.feature_names or (), booster.feature_types or (), strict=True))
    dtypes: dict[str, Any] = {column: np.dtype(bool) for column, kind in types.items() if kind == "i"}
    if "c" in types.values():
        try:
            stored = booster.get_categories(export_to_arrow=True).to_arrow()
        except (AttributeError, ImportError, TypeError):
            stored = []
        dtypes |= {column: pd.CategoricalDtype(values.to_pylist()) for column, values in stored if values is not None}
    return dtypes


def _content(model: Any) -> object:
    """The serialized booster, without what scikit-learn's interface adds to a file."""
    booster = _booster(model).copy()
    booster.set_attr(scikit_learn=None)
    return [bytes(booster.save_raw("ubj")), getattr(model, "classes_", None), getattr(model, "missing", None)]


PACKAGE = Package("xgboost", model=_model, dtypes=_dtypes, content=_content, prepare=as_numeric, argmax=True)
