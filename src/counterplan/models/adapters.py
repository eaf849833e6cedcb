"""`adapt`, which wraps estimators, functions, ONNX files and HTTP services as a `Model`."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterplan.errors import ModelError
from counterplan.models.estimator import EstimatorModel
from counterplan.models.function import FunctionModel
from counterplan.models.http import HttpModel
from counterplan.models.mlflow import is_mlflow, load
from counterplan.models.onnx import OnnxModel
from counterplan.models.outputs import describe_error
from counterplan.models.protocol import Model
from counterplan.models.registry import package_of
from counterplan.problem.values import did_you_mean

ACCEPTED = (
    "a model is an estimator with 'predict', a function of a DataFrame, an object with 'labels' and 'scores', "
    "an http(s):// address, the path of an .onnx file or of an MLflow folder, an MLflow URI (models:/, runs:/), or "
    "MODULE:ATTR for something in Python code"
)

_REFERENCE = re.compile(r"([^\W\d][\w.]*):([^\W\d][\w.]*)")


def adapt(model: object) -> Model:
    """Wrap anything that can be queried as a `Model`.

    Parameters
    ----------
    model : object
        A fitted estimator with ``predict``, a function of a DataFrame, a `Model`, or a text: the ``http(s)://``
        address of a service, the path of an ``.onnx`` file or of a folder with an MLflow model, an MLflow URI
        (``models:/…``, ``runs:/…``), or ``MODULE:ATTR`` for an object in Python code.

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
    if is_mlflow(text):
        return _adapt_object(load(text), f"model '{text}'")
    if _REFERENCE.fullmatch(text):
        return _adapt_object(referenced(text), f"model '{text}'")
    raise ModelError(f"'{text}' is not a model; {ACCEPTED}")


def referenced(text: str) -> Any:
    """The object that ``MODULE:ATTR`` refers to; None if `text` has another form."""
    match = _REFERENCE.fullmatch(text)
    return None if match is None else import_attribute(match[1], match[2])


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
    if (own := package_of(model).model(model, name)) is not None:
        return own
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
