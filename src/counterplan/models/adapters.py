"""The `Model` protocol, and `adapt`, which wraps estimators, functions, ONNX files and HTTP services in it."""

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
from counterplan.models.outputs import (
    Array,
    as_array,
    as_labels,
    as_scores,
    describe_error,
    favourable_probability,
    model_errors,
)
from counterplan.problem.values import did_you_mean, text_of

ACCEPTED = (
    "a model is an estimator with 'predict', a function of a DataFrame, an object with 'labels' and 'scores', "
    "an http(s):// address, the path of an .onnx file, or MODULE:ATTR for something in Python code"
)


class Model(Protocol):
    """A classifier or scorer of people. `adapt` wraps most objects; one with these members is used unchanged.

    Attributes
    ----------
    name : str
        The model's name in messages.
    batch : int
        The largest number of rows per call.
    classes : tuple of str or None
        The labels that it can return, if known.
    identity : str, optional
        A text that changes whenever the outputs may change. Without it, a digest of the object's content is computed.
    """

    name: str
    batch: int
    classes: tuple[str, ...] | None

    def labels(self, people: pd.DataFrame) -> Array:
        """The label of each person [B], as the model returned it."""

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The probability (or score) of the favourable labels, float [B]."""


class EstimatorModel:
    """A model with scikit-learn's interface: `predict`, and `predict_proba` and `classes_` for scores.

    Parameters
    ----------
    estimator : object
        A fitted estimator.
    name : str, optional
        Its name in messages; default: its class.
    batch : int, default=10_000
        The largest number of rows per call.
    """

    def __init__(self, estimator: Any, *, name: str | None = None, batch: int = 10_000) -> None:
        self.estimator = estimator
        self.name = name or f"model '{type(estimator).__name__}'"
        self.batch = batch
        self.classes = _classes_of(estimator)

    @property
    def identity(self) -> str:
        """A digest of the fitted state."""
        return identity_of(self.estimator)

    @property
    def columns(self) -> list[str] | None:
        """The columns that it was fitted on, if known; other columns do not affect its outputs."""
        names = getattr(self.estimator, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def labels(self, people: pd.DataFrame) -> Array:
        """The output [B] of `predict`."""
        table = self._as_trained(people)
        with model_errors(self.name, people):
            labels = self.estimator.predict(table)
        return as_labels(labels, self.name)

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
        with model_errors(self.name, people):
            probabilities = as_array(self.estimator.predict_proba(table), self.name)
        return favourable_probability(probabilities, self.classes, favourable, self.name)

    def _as_trained(self, people: pd.DataFrame) -> pd.DataFrame | Array:
        """The table as in `fit`: the same columns in the same order, or an array."""
        columns = getattr(self.estimator, "feature_names_in_", None)
        if columns is None:
            # An estimator fitted on an array has n_features_in_ but no feature_names_in_.
            return people.to_numpy(copy=True) if hasattr(self.estimator, "n_features_in_") else people.copy()
        for column in columns:
            if column not in people.columns:
                hint = did_you_mean(str(column), map(str, people.columns))
                raise ModelError(f"{self.name} was trained on column '{column}', which the people lack{hint}")
        return people[list(columns)]


class FunctionModel:
    """A function from a DataFrame [B, F] to B labels or B numbers; only numbers serve as scores.

    Parameters
    ----------
    function : callable
        Takes a DataFrame with one row per person.
    name : str, optional
        Its name in messages; default: the function's name.
    batch : int, default=10_000
        The largest number of rows per call.
    """

    def __init__(self, function: Callable[[pd.DataFrame], Any], *, name: str | None = None, batch: int = 10_000):
        self.function = function
        self.name = name or f"model '{getattr(function, '__name__', type(function).__name__)}'"
        self.batch = batch
        self.classes: tuple[str, ...] | None = None

    @property
    def identity(self) -> str:
        """A digest of the function's code and of the objects it refers to."""
        return identity_of(self.function)

    def labels(self, people: pd.DataFrame) -> Array:
        """The output [B] of the function."""
        with model_errors(self.name, people):
            labels = self.function(people.copy())  # a function that adds a column must not change the caller's table
        return as_labels(labels, self.name)

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The output of the function as floats [B]; `favourable` is ignored."""
        return as_scores(self.labels(people), self.name)


def adapt(model: object) -> Model:
    """Wrap anything that can be queried as a `Model`.

    Parameters
    ----------
    model : object
        A fitted estimator with ``predict``, a function of a DataFrame, a `Model`, or a text: the ``http(s)://``
        address of a service, the path of an ``.onnx`` file, or ``MODULE:ATTR`` for an object in Python code.

    Returns
    -------
    Model

    Raises
    ------
    ModelError
        If `model` is none of these, or cannot be loaded.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterplan.models import adapt
    >>> def decide(people):
    ...     return people["income"] > 1000
    >>> adapt(decide).labels(pd.DataFrame({"income": [500, 2000]}))
    array([False,  True])
    """
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
        title = name or f"'{model.__name__}'"
        raise ModelError(f"{title} is a class, not a model; make an instance of it and use that")
    if callable(getattr(model, "labels", None)) and callable(getattr(model, "scores", None)):
        if lacking := [part for part in ("name", "batch", "classes") if not hasattr(model, part)]:
            title = name or f"model '{type(model).__name__}'"
            raise ModelError(f"{title} has 'labels' and 'scores' but lacks {', '.join(map(repr, lacking))}")
        adapted: Model = model
        return adapted
    if hasattr(model, "predict"):
        return EstimatorModel(model, name=name)
    if not callable(model):
        raise ModelError(f"{name or 'this'} is of type '{type(model).__name__}', not a model; {ACCEPTED}")
    function = FunctionModel(model, name=name)
    if mismatch := _signature_mismatch(model):
        raise ModelError(f"{function.name} is {mismatch}, not a model; if it returns one, call it and use the result")
    return function


def _signature_mismatch(function: Callable[..., Any]) -> str:
    """Why `function` cannot be called with one DataFrame; empty if it can, or if its signature is unknown."""
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
    """Import `module` (also from the current directory) and get the dotted `attribute` of it."""
    directory = os.getcwd()
    if directory not in sys.path:
        # It remains there, so that the model can import neighbouring modules when it is called.
        sys.path.insert(0, directory)
    importlib.invalidate_caches()
    try:
        value: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise ModelError(f"cannot import module '{module}': {describe_error(error)}") from error
    path = f"module '{module}'"
    for part in attribute.split("."):
        try:
            value = getattr(value, part)
        except AttributeError as error:
            raise ModelError(f"{path} has no attribute '{part}'{did_you_mean(part, dir(value))}") from error
        path = f"'{part}' in {path}"
    return value


def _classes_of(estimator: Any) -> tuple[str, ...] | None:
    classes = getattr(estimator, "classes_", None)
    if classes is None or any(np.ndim(label) for label in classes):  # one list per output of a multi-output estimator
        return None
    return tuple(text_of(label) for label in classes)
