"""scikit-learn: the types that its estimators know, and the estimators inside of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterplan.models.package import Package
from counterplan.problem.values import text_of


def _dtypes(estimator: Any) -> Mapping[str, Any] | None:
    """The categories of `HistGradientBoosting…`, which encodes them; object for texts that a pipeline encodes."""
    columns, categorical = getattr(estimator, "feature_names_in_", None), getattr(estimator, "is_categorical_", None)
    encoder = getattr(getattr(estimator, "_preprocessor", None), "named_transformers_", {}).get("encoder")
    if columns is None or categorical is None or encoder is None:
        return None if columns is None else dict.fromkeys(_encoded_texts(estimator, columns), np.dtype(object))
    names = [str(name) for name, is_category in zip(columns, categorical, strict=True) if is_category]
    seen = [[value for value in values if not pd.isna(value)] for values in encoder.categories_]
    return {name: pd.CategoricalDtype(values) for name, values in zip(names, seen, strict=True)}


def _encoded_texts(transformer: Any, columns: Sequence[Any]) -> Iterator[str]:
    """Those of the `columns` of a fitted transformer that an encoder in it was fitted on as texts."""
    if (categories := getattr(transformer, "categories_", None)) is not None and len(categories) == len(columns):
        for column, values in zip(columns, categories, strict=True):
            if any(isinstance(value, str) for value in values):
                yield str(column)
    for _, part, chosen in getattr(transformer, "transformers_", ()):
        if isinstance(chosen, (list, np.ndarray)) and all(isinstance(name, str) for name in chosen):
            yield from _encoded_texts(part, list(chosen))
    for _, step in getattr(transformer, "steps", ()):
        yield from _encoded_texts(step, columns)


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


def probability_threshold(estimator: Any) -> tuple[float | None, str | None]:
    """The probability from which on `estimator` predicts its positive class, and that class if it was given.

    Known of `FixedThresholdClassifier` and `TunedThresholdClassifierCV`; None of all others.
    """
    threshold = getattr(estimator, "best_threshold_", getattr(estimator, "threshold", None))
    response = getattr(estimator, "response_method", None)
    if response not in ("auto", "predict_proba") or not isinstance(threshold, float) or not 0 < threshold < 1:
        return None, None
    positive = getattr(estimator, "pos_label", None)
    return threshold, None if positive is None else text_of(positive)


PACKAGE = Package("sklearn", dtypes=_dtypes, inner=_inner, closed=False)
"""Estimators treat categories that they have not seen in their own way, mostly as missing values."""
