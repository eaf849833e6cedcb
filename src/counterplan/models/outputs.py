"""Convert the outputs of models to arrays with one label or score per person, and their exceptions to ModelError."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Sized
from contextlib import contextmanager
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from counterplan.errors import ModelError
from counterplan.problem.values import cut, did_you_mean, is_missing, listed

Array: TypeAlias = npt.NDArray[Any]
MAX_ERROR_LENGTH = 2_000


@contextmanager
def model_errors(name: str, people: Sized) -> Iterator[None]:
    """Convert any exception of a model to a `ModelError`; KeyboardInterrupt passes."""
    try:
        yield
    except (Exception, SystemExit) as error:
        rows = "1 row" if len(people) == 1 else f"{len(people)} rows"
        raise ModelError(f"{name} failed on {rows}: {describe_error(error)}") from error


def describe_error(error: BaseException) -> str:
    """The type and the message of a foreign exception, at most `MAX_ERROR_LENGTH` characters."""
    try:
        message = str(error)
    except Exception:  # foreign code
        message = "(its message cannot be read)"
    return cut(f"{type(error).__name__}: {message}", MAX_ERROR_LENGTH)


def as_labels(output: object, name: str) -> Array:
    """Convert a model's output to an array [B]; a column [B, 1] is flattened, other shapes are refused.

    A list becomes an array of objects, since NumPy would convert `["yes", True]` to two texts.
    """
    try:
        array = np.array(output, dtype=object) if isinstance(output, (list, tuple)) else as_array(output, name)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(
            f"{name} gave a '{type(output).__name__}' that is not one answer per person: {describe_error(error)}"
        ) from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 0:
        raise ModelError(f"{name} must give one answer per person, but gave one '{type(output).__name__}'")
    if array.ndim > 1:
        raise ModelError(f"{name} must give one answer per person, but gave an array of shape {array.shape}")
    if array.dtype == object:
        for value in array:
            if isinstance(value, (list, tuple, dict, set, np.ndarray)):
                raise ModelError(f"{name} must give one answer per person, but gave a '{type(value).__name__}' for one")
    return array


def as_array(output: object, name: str) -> Array:
    """Convert an output to an array; masked arrays, which NumPy would silently unmask, are refused."""
    if isinstance(output, np.ma.MaskedArray):
        raise ModelError(f"{name} gave a masked array; fill in the masked values")
    return np.asarray(output)


def as_scores(labels: Array, name: str) -> Array:
    """Convert labels [B] to scores [B]; missing values become NaN. Texts and booleans are not scores."""
    if labels.dtype.kind in "iuf":
        return labels.astype(float)
    for value in labels:
        if not is_missing(value) and (isinstance(value, bool) or not isinstance(value, Real)):
            shown = repr(value.item() if isinstance(value, np.generic) else value)
            raise ModelError(f"{name} gives labels (such as {cut(shown)}), not numbers, so it has no scores")
    return np.array([np.nan if is_missing(value) else float(value) for value in labels], dtype=float)


def numbers_or_none(labels: Array, name: str) -> Array | None:
    """The labels [B] as scores if they are numbers, otherwise None."""
    try:
        return as_scores(labels, name)
    except ModelError:
        return None


def favourable_probability(
    probabilities: Array, classes: Sequence[str], favourable: Collection[str], name: str
) -> Array:
    """The probability [B] of the favourable labels, from `probabilities` [B, C] of the C `classes`."""
    for label in sorted(favourable):
        if label not in classes:
            hint = did_you_mean(label, classes)
            raise ModelError(f"{name} never gives the label '{label}', only {listed(classes)}{hint}")
    if probabilities.ndim != 2 or probabilities.shape[1] != len(classes):
        raise ModelError(f"{name} gave probabilities of shape {probabilities.shape} for {len(classes)} classes")
    columns = [label in favourable for label in classes]
    total: Array = probabilities[:, columns].astype(float).sum(axis=1)
    return total
