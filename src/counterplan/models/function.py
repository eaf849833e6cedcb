"""Models that are functions of a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pandas as pd

from counterplan.models.identity import identity_of
from counterplan.models.outputs import Array, as_labels, as_scores, model_errors, numbers_or_none


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

    def labels_and_scores(self, people: pd.DataFrame, favourable: Collection[str]) -> tuple[Array, Array | None]:
        """The output [B] of the function, and the same as floats if it is numeric."""
        labels = self.labels(people)
        return labels, numbers_or_none(labels, self.name)
