"""scikit-learn: the types that its estimators know, and the estimators inside of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from counterplan.models.package import Package


def _dtypes(estimator: Any) -> Mapping[str, Any] | None:
    """The categories of `HistGradientBoosting…`, which encodes them itself."""
    columns, categorical = getattr(estimator, "feature_names_in_", None), getattr(estimator, "is_categorical_", None)
    encoder = getattr(getattr(estimator, "_preprocessor", None), "named_transformers_", {}).get("encoder")
    if columns is None or categorical is None or encoder is None:
        return None
    names = [str(name) for name, is_category in zip(columns, categorical, strict=True) if is_category]
    seen = [[value for value in values if not pd.isna(value)] for values in encoder.categories_]
    return {name: pd.CategoricalDtype(values) for name, values in zip(names, seen, strict=True)}


def _inner(estimator: Any) -> Any:
    """The fitted estimator that `estimator` passes its table to unchanged."""
    if steps := getattr(estimator, "steps", None):
        return steps[-1][1] if all(step in (None, "passthrough") for _, step in steps[:-1]) else None
    if calibrated := getattr(estimator, "calibrated_classifiers_", None):
        return calibrated[0].estimator
    for attribute in ("best_estimator_", "estimator_"):
        if (inner := getattr(estimator, attribute, None)) is not None:
            return inner
    return getattr(estimator, "estimator", None) if type(estimator).__name__ == "FrozenEstimator" else None


PACKAGE = Package("sklearn", dtypes=_dtypes, inner=_inner, closed=False)
"""Estimators treat categories that they have not seen in their own way, mostly as missing values."""
