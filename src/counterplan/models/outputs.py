"""What a model gives back, brought into one form: an array with one answer per person."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.errors import ModelError
from counterplan.problem.values import did_you_mean, is_missing, listed

Array: TypeAlias = npt.NDArray[Any]


@contextmanager
def asking(name: str, people: pd.DataFrame) -> Iterator[None]:
    """Turn whatever someone else's model raises into a `ModelError`; Ctrl-C still passes."""
    try:
        yield
    except (Exception, SystemExit) as error:
        rows = "1 row" if len(people) == 1 else f"{len(people)} rows"
        raise ModelError(f"{name} failed on {rows}: {type(error).__name__}: {error}") from error


def one_per_person(answer: object, name: str) -> Array:
    """The answers as an array [B]; a column [B, 1] is flattened, every other shape is refused.

    A list is kept as it is, since NumPy would turn `["yes", True]` into two texts.
    """
    if isinstance(answer, np.ma.MaskedArray):
        raise ModelError(f"{name} returned a masked array; fill it, so that there is one answer per person")
    try:
        array: Array = np.array(answer, dtype=object) if isinstance(answer, (list, tuple)) else np.asarray(answer)
    except Exception as error:
        raise ModelError(
            f"{name} gave a '{type(answer).__name__}' that is not one answer per person: {error}"
        ) from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 0:
        raise ModelError(f"{name} must give one answer per person, but gave one '{type(answer).__name__}'")
    if array.ndim > 1:
        raise ModelError(f"{name} must give one answer per person, but gave an array of shape {array.shape}")
    if array.dtype == object:
        for value in array:
            if isinstance(value, (list, tuple, dict, set, np.ndarray)):
                raise ModelError(f"{name} must give one answer per person, but gave a '{type(value).__name__}' for one")
    return array


def as_scores(answers: Array, name: str) -> Array:
    """Answers [B] as floats [B]; a missing answer becomes NaN. Texts and true/false are labels, not scores."""
    if answers.dtype.kind in "iuf":
        return answers.astype(float)
    for value in answers:
        if not is_missing(value) and (isinstance(value, bool) or not isinstance(value, Real)):
            raise ModelError(f"{name} gives labels (such as {value!r}), not numbers, so it has no scores")
    return np.array([np.nan if is_missing(value) else float(value) for value in answers], dtype=float)


def favourable_share(shares: Array, classes: Sequence[str], favourable: Collection[str], name: str) -> Array:
    """The probability [B] of any favourable label, from `shares` [B, C] of the C `classes`."""
    for label in sorted(favourable):
        if label not in classes:
            hint = did_you_mean(label, classes)
            raise ModelError(f"{name} never gives the label '{label}', only {listed(classes)}{hint}")
    if isinstance(shares, np.ma.MaskedArray):
        raise ModelError(f"{name} returned a masked array of probabilities; fill it")
    if shares.ndim != 2 or shares.shape[1] != len(classes):
        raise ModelError(f"{name} gave probabilities of shape {shares.shape} for {len(classes)} classes")
    wanted = [label in favourable for label in classes]
    total: Array = shares[:, wanted].astype(float).sum(axis=1)
    return total
