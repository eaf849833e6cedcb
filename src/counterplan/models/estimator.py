"""Models with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import ModelError
from counterplan.models.casting import as_trained, select
from counterplan.models.identity import identity_of
from counterplan.models.outputs import Array, as_array, as_labels, as_scores, favourable_probability, model_errors
from counterplan.models.protocol import scores_or_none
from counterplan.models.registry import package_of, training_of
from counterplan.models.sklearn import probability_threshold
from counterplan.problem.values import text_of


class EstimatorModel:
    """A model with scikit-learn's interface: `predict`, and `predict_proba` and `classes_` for scores.

    It receives the columns that it was trained on, with the types that it knows (`dtypes`).

    Parameters
    ----------
    estimator : object
        A fitted estimator.
    name : str, optional
        Its name in messages; default: its class.
    batch : int, default=10_000
        The largest number of rows per call.
    """

    casts = True

    def __init__(self, estimator: Any, *, name: str | None = None, batch: int = 10_000) -> None:
        self.estimator = estimator
        self.name = name or f"model '{type(estimator).__name__}'"
        self.batch = batch
        self.classes = _classes_of(self._scorer)

    @property
    def _scorer(self) -> Any:
        return package_of(self.estimator).scorer(self.estimator)

    @property
    def identity(self) -> str:
        """A digest of the fitted state."""
        return identity_of(self.estimator)

    @property
    def columns(self) -> list[str] | None:
        """The columns that it was fitted on, if known; other columns do not affect its outputs."""
        return training_of(self.estimator).columns

    @property
    def dtypes(self) -> Mapping[str, Any]:
        """The types that it was fitted on by column, as far as it knows them."""
        return training_of(self.estimator).dtypes

    def labels(self, people: pd.DataFrame) -> Array:
        """The output [B] of `predict`."""
        return self._labels(self._as_trained(people))

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The sum of `predict_proba` over the favourable classes [B]; without any, the numbers of `predict`."""
        self.classes = _classes_of(self._scorer)  # it may have been fitted since
        if not favourable:
            if self.classes is not None:
                raise ModelError(f"{self.name} gives labels, not numbers: a favourable score needs a regression model")
            return as_scores(self.labels(people), self.name)
        if not hasattr(self._scorer, "predict_proba"):
            raise ModelError(
                f"{self.name} has no predict_proba, so it has no scores; "
                "to take the numbers of its predict as scores, use that method itself as the model"
            )
        if self.classes is None:
            raise ModelError(f"{self.name} has no classes_, so it is not known which label a probability is of")
        return favourable_probability(self._probabilities(people), self.classes, favourable, self.name)

    def labels_and_scores(self, people: pd.DataFrame, favourable: Collection[str]) -> tuple[Array, Array | None]:
        """The outputs of `predict` and `predict_proba`; from the latter alone where it determines the labels."""
        self.classes = _classes_of(self._scorer)
        exact = package_of(self.estimator).argmax and hasattr(self.estimator, "predict_proba")
        if exact and self.classes is not None and set(favourable) <= set(self.classes) and favourable:
            probabilities = self._probabilities(people)
            labels = np.asarray(self.estimator.classes_)[probabilities.argmax(axis=1)]
            return labels, favourable_probability(probabilities, self.classes, favourable, self.name)
        return self.labels(people), scores_or_none(self, people, favourable)

    def label_threshold(self, favourable: Collection[str]) -> float | None:
        """The probability of the `favourable` classes from which on its label is one of them; None if unknown.

        Known of scikit-learn's estimators with a decision threshold of their own.
        """
        threshold, positive = probability_threshold(self.estimator)
        if threshold is None or self.classes is None or len(self.classes) != 2:
            return None
        return threshold if {positive or self.classes[1]} == set(favourable) else 1 - threshold

    def _labels(self, table: pd.DataFrame | Array) -> Array:
        with model_errors(self.name, table):
            labels = self.estimator.predict(table)
        return as_labels(labels, self.name)

    def _probabilities(self, people: pd.DataFrame) -> Array:
        table = self._as_trained(people)
        with model_errors(self.name, people):
            return as_array(self._scorer.predict_proba(table), self.name)

    def _as_trained(self, people: pd.DataFrame) -> pd.DataFrame | Array:
        """The table as in `fit`: the same columns in the same order with the same types, or an array."""
        training = training_of(self.estimator)
        if training.columns is None:
            # An estimator fitted on an array has n_features_in_ but no feature_names_in_.
            return people.to_numpy(copy=True) if hasattr(self.estimator, "n_features_in_") else people.copy()
        table = select(people, training.columns, self.name)
        table = as_trained(table, training.dtypes, self.name, closed=training.package.closed)
        return training.package.prepare(table, self.name, training.estimator)


def _classes_of(estimator: Any) -> tuple[str, ...] | None:
    classes = getattr(estimator, "classes_", None)
    if (
        classes is None or not len(classes) or any(np.ndim(label) for label in classes)
    ):  # one list per output of a multi-output estimator
        return None
    return tuple(text_of(label) for label in classes)
