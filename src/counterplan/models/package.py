"""The interface of a package of models: what `adapt` needs to know about the objects of one Python package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from counterplan.models.protocol import Model


def fitted_columns(estimator: Any) -> list[str] | None:
    """The columns that an estimator with scikit-learn's interface was fitted on, or None."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _none(*_: Any) -> None:
    return None


def _itself(estimator: Any) -> Any:
    return estimator


def _unchanged(people: pd.DataFrame, name: str, estimator: Any) -> pd.DataFrame:
    return people


@dataclass(frozen=True)
class Package:
    """How the models of one package are queried. Functions get the object; they never import the package.

    Attributes
    ----------
    name : str
        The package's top-level module: an object belongs to it if a class that it inherits from does.
    model : callable
        (object, name or None) -> a `Model` for an object without scikit-learn's interface, otherwise None.
    columns : callable
        The columns that an estimator was trained on, or None.
    dtypes : callable
        The types that an estimator was trained on by column, or None.
    inner : callable
        The estimator that an estimator passes its table to unchanged, or None.
    scorer : callable
        The object with the `predict_proba` and `classes_` of an estimator; default: the estimator itself.
    content : callable
        Data that determine the outputs of an object, for its identity, or None for all its attributes.
    prepare : callable
        (people as trained, name in messages, estimator) -> the table for `predict`; a ModelError if it cannot be used.
    closed : bool
        Whether values that are not among the categories of a column are errors.
    argmax : bool
        Whether the label is always the class with the largest probability, so that labels need no second call.
    """

    name: str
    model: Callable[[Any, str | None], Model | None] = _none
    columns: Callable[[Any], list[str] | None] = fitted_columns
    dtypes: Callable[[Any], Mapping[str, Any] | None] = _none
    inner: Callable[[Any], Any] = _none
    scorer: Callable[[Any], Any] = _itself
    content: Callable[[Any], object] = _none
    prepare: Callable[[pd.DataFrame, str, Any], pd.DataFrame] = _unchanged
    closed: bool = True
    argmax: bool = False


ANY = Package("")
"""Objects of any other package, used by scikit-learn's interface."""
