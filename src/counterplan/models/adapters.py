"""Adapters that let anything act as the black box: estimators, functions, ONNX files, HTTP services."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from counterplan.errors import ModelError
from counterplan.models.http import HttpModel
from counterplan.models.identity import identity_of
from counterplan.models.onnx import OnnxModel
from counterplan.models.outputs import Array, as_scores, asking, favourable_share, one_per_person
from counterplan.problem.values import did_you_mean, text_of

ACCEPTED = (
    "a model is an estimator with 'predict', a function of a DataFrame, an object with 'labels' and 'scores', "
    "an http(s):// address, the path of an .onnx file, or MODULE:ATTR for something in Python code"
)


class Model(Protocol):
    """Anything that answers about people.

    `name` is what messages call it, `batch` the most rows to ask about in one call, and `classes` the labels
    it can give (as `text_of` texts), if it knows them. It may have an `identity`, a text that changes when its answers
    do; else that is a digest of what it holds.
    """

    name: str
    batch: int
    classes: tuple[str, ...] | None

    def labels(self, people: pd.DataFrame) -> Array:
        """The label of each person [B], just as the model returned it."""

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The probability (or score) of the favourable labels for each person, float [B]."""


class EstimatorModel:
    """An object in scikit-learn's manner: `predict`, and for scores `predict_proba` and `classes_`."""

    def __init__(self, estimator: Any, *, name: str | None = None, batch: int = 10_000) -> None:
        self.estimator = estimator
        self.name = name or f"model '{type(estimator).__name__}'"
        self.batch = batch
        self.classes = _classes_of(estimator)

    @property
    def identity(self) -> str:
        """A digest of all that was learned."""
        return identity_of(self.estimator)

    @property
    def columns(self) -> list[str] | None:
        """The columns it was trained on, if it knows them: no other column can matter."""
        names = getattr(self.estimator, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def labels(self, people: pd.DataFrame) -> Array:
        """What `predict` returns [B]."""
        table = self._as_trained(people)
        with asking(self.name, people):
            answer = self.estimator.predict(table)
        return one_per_person(answer, self.name)

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The sum of `predict_proba` over the favourable classes [B]."""
        if not hasattr(self.estimator, "predict_proba"):
            raise ModelError(
                f"{self.name} has no predict_proba, so it has no scores; "
                "to take the numbers of its predict as scores, use that method itself as the model"
            )
        self.classes = _classes_of(self.estimator)  # it may have been fitted since
        if self.classes is None:
            raise ModelError(f"{self.name} has no classes_, so it is not known which label a probability is of")
        table = self._as_trained(people)
        with asking(self.name, people):
            shares = self.estimator.predict_proba(table)
            shares = shares if isinstance(shares, np.ma.MaskedArray) else np.asarray(shares)
        return favourable_share(shares, self.classes, favourable, self.name)

    def _as_trained(self, people: pd.DataFrame) -> pd.DataFrame | Array:
        """The table in the form the estimator was fitted on: its columns in its order, or a bare array."""
        columns = getattr(self.estimator, "feature_names_in_", None)
        if columns is None:
            # scikit-learn counts the features of every table but names only those of a DataFrame.
            return people.to_numpy(copy=True) if hasattr(self.estimator, "n_features_in_") else people.copy()
        for column in columns:
            if column not in people.columns:
                hint = did_you_mean(str(column), map(str, people.columns))
                raise ModelError(f"{self.name} was trained on column '{column}', which the people lack{hint}")
        return people[list(columns)]


class FunctionModel:
    """A function from a DataFrame [B, F] to B labels or B numbers; only numbers serve as scores."""

    def __init__(self, function: Callable[[pd.DataFrame], Any], *, name: str | None = None, batch: int = 10_000):
        self.function = function
        self.name = name or f"model '{getattr(function, '__name__', type(function).__name__)}'"
        self.batch = batch
        self.classes: tuple[str, ...] | None = None

    @property
    def identity(self) -> str:
        """A digest of its code, and of what it refers to."""
        return identity_of(self.function)

    def labels(self, people: pd.DataFrame) -> Array:
        """What the function returns [B]."""
        with asking(self.name, people):
            answer = self.function(people.copy())  # a function that adds a column must not change the caller's table
        return one_per_person(answer, self.name)

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """What the function returns, as floats [B]; it is the function's own affair what is favourable."""
        return as_scores(self.labels(people), self.name)


def adapt(model: object) -> Model:
    """A `Model` made of an estimator, a function, an address, a file name or MODULE:ATTR; a `Model` stays as it is."""
    if not isinstance(model, (str, Path)):
        return _adapt_object(model, None)
    text = str(model)
    if re.match(r"https?://", text, re.IGNORECASE):
        return HttpModel(text)
    if text.lower().endswith(".onnx"):
        return OnnxModel(text)
    if match := re.fullmatch(r"([^\W\d][\w.]*):([^\W\d][\w.]*)", text):
        return _adapt_object(import_attribute(match[1], match[2]), f"model '{text}'")
    raise ModelError(f"'{text}' is not a model; {ACCEPTED}")


def _adapt_object(model: Any, name: str | None) -> Model:
    if isinstance(model, type):
        what = name or f"'{model.__name__}'"
        raise ModelError(f"{what} is a class, not a model; make an instance of it and use that")
    if callable(getattr(model, "labels", None)) and callable(getattr(model, "scores", None)):
        if lacking := [part for part in ("name", "batch", "classes") if not hasattr(model, part)]:
            what = name or f"model '{type(model).__name__}'"
            raise ModelError(f"{what} has 'labels' and 'scores' but lacks {', '.join(map(repr, lacking))}")
        adapted: Model = model
        return adapted
    if hasattr(model, "predict"):
        return EstimatorModel(model, name=name)
    if not callable(model):
        raise ModelError(f"{name or 'this'} is of type '{type(model).__name__}', not a model; {ACCEPTED}")
    function = FunctionModel(model, name=name)
    if problem := _cannot_take_people(model):
        raise ModelError(
            f"{function.name} is {problem}, not a model; if it makes one, keep what it returns and use that"
        )
    return function


def _cannot_take_people(function: Callable[..., Any]) -> str:
    """Why `function` cannot be called with one DataFrame, or nothing if it can (or Python cannot tell)."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(None)
    except TypeError as error:
        if not signature.parameters:
            return "a function without arguments"
        return f"a function that cannot be called with one DataFrame ({error})"
    return ""


def import_attribute(module: str, attribute: str) -> Any:
    """Import `module` (the current directory counts) and follow the dotted `attribute` in it."""
    here = os.getcwd()
    if here not in sys.path:
        # It stays there, so that the model can still import its neighbours when it is asked.
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise ModelError(f"cannot import module '{module}': {type(error).__name__}: {error}") from error
    path = f"module '{module}'"
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise ModelError(f"{path} has no attribute '{part}'{did_you_mean(part, dir(found))}") from error
        path = f"'{part}' in {path}"
    return found


def _classes_of(estimator: Any) -> tuple[str, ...] | None:
    classes = getattr(estimator, "classes_", None)
    if classes is None or any(np.ndim(label) for label in classes):  # several outputs have a list of classes each
        return None
    return tuple(text_of(label) for label in classes)
