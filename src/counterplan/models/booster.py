"""Raw boosters, which return numbers: probabilities of classes 0, 1, …, classes, or scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import ModelError
from counterplan.models.casting import as_numeric, as_trained, select
from counterplan.models.identity import identity_of
from counterplan.models.outputs import Array, as_array, as_scores, favourable_probability, model_errors


class BoosterModel:
    """A booster of LightGBM or XGBoost without scikit-learn's interface.

    Its classes are 0, 1, …; the outcome of the problem may give their labels with `codes`.

    Parameters
    ----------
    booster : object
        The trained booster.
    predict : callable
        From a table with the columns and types of the training data, or from an array, to outputs [B] or [B, C].
    name : str
        Its name in messages.
    columns : sequence of str or None
        The columns that it was trained on; None if it was trained on an array.
    dtypes : mapping or None
        The types of these columns, as far as they are known.
    classes : int
        The number of classes that the outputs are about; 0 if they are scores.
    probabilities : bool
        Whether the outputs about classes are probabilities rather than classes.
    batch : int, default=10_000
        The largest number of rows per call.
    """

    casts = True

    def __init__(
        self,
        booster: Any,
        predict: Callable[[Any], Any],
        *,
        name: str,
        columns: Sequence[str] | None,
        dtypes: Mapping[str, Any] | None,
        classes: int,
        probabilities: bool,
        batch: int = 10_000,
    ) -> None:
        self.booster = booster
        self.name = name
        self.batch = batch
        self.columns = None if columns is None else list(columns)
        self.dtypes = dtypes
        self.classes = tuple(map(str, range(classes))) or None
        self._predict = predict
        self._probabilities = probabilities

    @property
    def identity(self) -> str:
        """A digest of the trained booster."""
        return identity_of(self.booster)

    def labels(self, people: pd.DataFrame) -> Array:
        """The class [B] of each person, or the score if there are no classes."""
        return self._labels(self._outputs(people))

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The probability of the favourable classes [B], or the score."""
        return self._scores(self._outputs(people), favourable)

    def labels_and_scores(self, people: pd.DataFrame, favourable: Collection[str]) -> tuple[Array, Array | None]:
        """Both, from one call."""
        outputs = self._outputs(people)
        scores = None if self.classes and not self._probabilities else self._scores(outputs, favourable)
        return self._labels(outputs), scores

    def _outputs(self, people: pd.DataFrame) -> Array:
        table = prepared(people, self.columns, self.dtypes, self.name)
        with model_errors(self.name, people):
            return as_array(self._predict(table), self.name)

    def _labels(self, outputs: Array) -> Array:
        if not self.classes:
            return outputs
        if not self._probabilities:
            return outputs.astype(np.intp)
        labels: Array = (outputs > 0.5).astype(np.intp) if outputs.ndim == 1 else outputs.argmax(axis=1)
        return labels

    def _scores(self, outputs: Array, favourable: Collection[str]) -> Array:
        if not self.classes or (not favourable and outputs.ndim == 1):
            return as_scores(outputs, self.name)
        if not self._probabilities:
            raise ModelError(f"{self.name} gives classes, not probabilities, so it has no scores")
        table = np.column_stack([1 - outputs, outputs]) if outputs.ndim == 1 else outputs
        return favourable_probability(table, self.classes, favourable, self.name)


def prepared(
    people: pd.DataFrame, columns: Sequence[str] | None, dtypes: Mapping[str, Any] | None, name: str
) -> pd.DataFrame | Array:
    """The table as in training: the same columns in the same order with the same types, or an array."""
    if columns is None:
        return people.to_numpy()
    return as_numeric(as_trained(select(people, columns, name), dtypes or {}, name), name)
