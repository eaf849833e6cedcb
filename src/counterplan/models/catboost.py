"""CatBoost: columns, categories and content of `CatBoostClassifier` and `CatBoost`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from counterplan.errors import ModelError
from counterplan.models.casting import as_numeric
from counterplan.models.package import Package
from counterplan.problem.values import text_of

_DECISIVE = ("class_params", "binclass_probability_threshold")
"""Metadata that affect the outputs; the others are the time and the settings of the training run."""


def _columns(model: Any) -> list[str] | None:
    names = model.feature_names_
    return None if names == [str(i) for i in range(len(names))] else names


def _categorical(model: Any) -> list[str]:
    return [model.feature_names_[index] for index in model.get_cat_feature_indices()]


def _prepare(people: pd.DataFrame, name: str, model: Any) -> pd.DataFrame:
    """Categories as CatBoost takes them: it compares integers, booleans and texts by their text, and refuses floats."""
    changed: dict[str, Any] = {}
    for column in _categorical(model):
        if people[column].isna().any():
            raise ModelError(
                f"{name}: column '{column}' has a missing value; CatBoost takes a missing category as a text. Fill the "
                f"table with the text used in training, and list it among the values of '{column}' in the problem"
            )
        values = people[column].tolist()
        if any(isinstance(value, float) for value in values):
            changed[column] = [text_of(value) if isinstance(value, float) else value for value in values]
    texts = {*_categorical(model), *(model.feature_names_[index] for index in model.get_text_feature_indices())}
    numbers = [column for column in people.columns if column not in texts]
    return people.assign(**changed, **as_numeric(people[numbers], name))


def _content(model: Any) -> object:
    """The serialized model, without what another run of the same training changes."""
    copy = model.copy()
    metadata = copy.get_metadata()
    for key in list(metadata.keys()):
        if key not in _DECISIVE:
            del metadata[key]
    return copy._serialize_model()


PACKAGE = Package("catboost", columns=_columns, content=_content, prepare=_prepare)
