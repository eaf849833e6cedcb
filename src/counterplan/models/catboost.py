"""CatBoost: columns, categories and content of `CatBoostClassifier` and `CatBoost`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from counterplan.errors import ModelError
from counterplan.models.casting import without_texts
from counterplan.models.package import Package

_DECISIVE = ("class_params", "binclass_probability_threshold")
"""Metadata that affect the outputs; the others are the time and the settings of the training run."""


def _columns(model: Any) -> list[str] | None:
    names = model.feature_names_
    return None if names == [str(i) for i in range(len(names))] else names


def _categorical(model: Any) -> list[str]:
    return [model.feature_names_[index] for index in model.get_cat_feature_indices()]


def _dtypes(model: Any) -> Mapping[str, Any] | None:
    """Texts for the categorical columns: CatBoost compares categories by their text, and does not list them."""
    return dict.fromkeys(_categorical(model), object)


def _prepare(people: pd.DataFrame, name: str, model: Any) -> pd.DataFrame:
    for column in _categorical(model):
        if column in people.columns and people[column].isna().any():
            raise ModelError(
                f"{name}: column '{column}' has a missing value; CatBoost takes a missing category as a text. Fill the "
                f"table with the text used in training, and list it among the values of '{column}' in the problem"
            )
    texts = {*_categorical(model), *(model.feature_names_[index] for index in model.get_text_feature_indices())}
    numbers = [column for column in people.columns if column not in texts]
    return people.assign(**without_texts(people[numbers], name))


def _content(model: Any) -> object:
    """The serialized model, without what another run of the same training changes."""
    copy = model.copy()
    metadata = copy.get_metadata()
    for key in list(metadata.keys()):
        if key not in _DECISIVE:
            del metadata[key]
    return copy._serialize_model()


PACKAGE = Package("catboost", columns=_columns, dtypes=_dtypes, content=_content, prepare=_prepare)
