"""MLflow: columns, types and content of `pyfunc` models, and loading them by URI."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import ModelError
from counterplan.models.outputs import describe_error
from counterplan.models.package import Package, fitted_columns

_SCHEMES = ("models:/", "runs:/", "mlflow-artifacts:/")


def is_mlflow(text: str) -> bool:
    """Whether a text is the URI of an MLflow model, or the path of a folder with one."""
    return text.startswith(_SCHEMES) or (Path(text) / "MLmodel").is_file()


def load(uri: str) -> Any:
    """The `pyfunc` model of a URI or folder. Like importing a module, this may run code of the model's author."""
    try:
        from mlflow import pyfunc
    except ImportError as error:
        raise ModelError(f"{uri} needs MLflow: pip install mlflow-skinny") from error
    try:
        return pyfunc.load_model(uri)
    except Exception as error:
        raise ModelError(f"{uri}: not a usable MLflow model: {describe_error(error)}") from error


def _schema(model: Any) -> Any:
    """The signature's schema of named columns, or None."""
    signature = model.metadata.signature
    schema = None if signature is None else signature.inputs
    return None if schema is None or not schema.has_input_names() or schema.is_tensor_spec() else schema


def _raw(model: Any) -> Any:
    """The model that MLflow wraps; None if it is not an object of a known flavour."""
    try:
        return model.get_raw_model()
    except Exception:
        return None


def _inner(model: Any) -> Any:
    """Without a signature the wrapped model gets the table unchanged; with one, MLflow checks its types."""
    return None if _schema(model) is not None else _raw(model)


def _columns(model: Any) -> list[str] | None:
    schema = _schema(model)
    return fitted_columns(_raw(model)) if schema is None else list(schema.input_names())


def _dtypes(model: Any) -> Mapping[str, Any]:
    schema = _schema(model)
    columns = [] if schema is None else zip(schema.input_names(), schema.pandas_types(), strict=True)
    known = {str(name): np.dtype(dtype) for name, dtype in columns if dtype is not np.bytes_}
    return {name: pd.StringDtype() if dtype.kind == "O" else dtype for name, dtype in known.items()}


def _prepare(people: pd.DataFrame, name: str, model: Any) -> pd.DataFrame:
    """Texts as objects, None where they are missing, as in the tables that signatures describe."""
    texts = [column for column, dtype in _dtypes(model).items() if dtype == pd.StringDtype()]
    return people.assign(**{text: people[text].astype(object).where(people[text].notna(), None) for text in texts})


def _scorer(model: Any) -> Any:
    raw = _raw(model)
    return raw if hasattr(raw, "predict_proba") else model


def _content(model: Any) -> object:
    """The wrapped model, and which of its methods MLflow calls."""
    raw = _raw(model)
    wrapped = model.unwrap_python_model() if raw is None else raw
    return [wrapped, model.metadata.flavors.get("python_function", {}).get("predict_fn")]


PACKAGE = Package(
    "mlflow",
    columns=_columns,
    dtypes=_dtypes,
    inner=_inner,
    scorer=_scorer,
    content=_content,
    prepare=_prepare,
    closed=False,
)
